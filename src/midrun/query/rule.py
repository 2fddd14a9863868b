"""Whether to pay: the protocol of a query rule and the reason it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from midrun.belief.posterior import Optima, Point, Points, Posterior

FORGOTTEN = 1e-3  # a belief that explains less of the prior variance than this knows nothing


@dataclass(frozen=True)
class Situation:
    """All that a rule may look at."""

    t: int  # rounds begun, this one included
    posterior: Posterior
    optima: Optima  # of the acquisition; x_t is optima.point
    cover: Points  # points that stand for the whole domain
    beta: float | None  # of the acquisition, if it is a confidence bound
    rng: np.random.Generator
    incumbent: Callable[[], Point]  # the argmax of the posterior mean
    search: Callable[[Any], Optima]  # optima of any surface on this domain
    memory: dict[str, Any] = field(default_factory=dict)  # the rule's own, kept from round to round
    account: Any = None  # what was spent, ``midrun.account.Account``


@dataclass(frozen=True)
class Verdict:
    """A rule's answer, in points."""

    query: bool
    kind: str  # a key of WORDS, or any short text of a user's own rule
    statistic: float | None = None
    threshold: float | None = None
    rival: Point | None = None


class QueryRule(Protocol):
    """Decides whether this round's reward is worth paying for."""

    def decide(self, situation: Situation) -> Verdict:
        """The verdict on one round."""
        ...


WORDS = {
    "first": "nothing is known yet",
    "forgotten": "what was known has faded",
    "always": "every round is observed",
    "schedule": "{statistic:g} rounds since the schedule's last look, {threshold:g} between looks",
    "coin": "the coin showed {statistic:.3g}, heads below {threshold:g}",
    "confidence": "P(best) = {statistic:.3f} against the closest mode, {threshold:g} is sure",
    "single mode": "P(best) = {statistic:.3f} against all else, {threshold:g} is sure",
    "regret": "expected regret of the best known {statistic:.3g}, an answer costs {threshold:.3g}",
    "budget": "the need is {statistic:.3g}; the bar is where the budget meets it",
    "budget: spent": "the budget is spent",
    "budget: to spend": "the budget covers all rounds that are left",
    "overhead": "the need is {statistic:.3g}; the bar is where the time allowed meets it",
    "overhead: spent": "the time allowed for validation is spent",
    "guard: first": "round {statistic:g} of the first {threshold:g}, which are all observed",
    "guard: silence": "{statistic:g} rounds unobserved, {threshold:g} are the most",
    "no rival": "there is nothing else to choose",
    "overlap": "lcb of the choice minus ucb of the closest mode = {statistic:.3g}",
    "single mode overlap": "lcb of the choice minus ucb of all else = {statistic:.3g}",
}


@dataclass(frozen=True)
class Reason:
    """Why a round is, or is not, observed; enough to explain and to plot the decision.

    Attributes:
        query: The verdict.
        kind: Short key of the argument.
        statistic: What the rule computed, if anything.
        threshold: What it compared the statistic with.
        rival: Parameters of the setting it compared the choice with.
        mean: Posterior mean of the setting played, in the user's units.
        std: Its posterior standard deviation.
        score: Acquisition value of the setting the acquisition chose.
    """

    query: bool
    kind: str
    statistic: float | None
    threshold: float | None
    rival: dict[str, Any] | None
    mean: float
    std: float
    score: float

    @property
    def words(self) -> str:
        """The argument as a sentence."""
        text = WORDS.get(self.kind, self.kind)
        if self.statistic is not None and self.threshold is not None:
            text = text.format(statistic=self.statistic, threshold=self.threshold)
        return f"{'query' if self.query else 'skip'}: {text}"

    def __str__(self) -> str:
        """The argument as a sentence."""
        return self.words


def know_nothing(situation: Situation) -> Verdict | None:
    """A belief that knows nothing is always worth a query: at the start, or after a long silence.

    Returns:
        The verdict, or None if something is known.
    """
    if situation.t == 1:
        return Verdict(True, "first")
    if situation.posterior.remembered < FORGOTTEN:
        return Verdict(True, "forgotten")
    return None
