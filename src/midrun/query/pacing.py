r"""Rules that steer another rule so that its spend meets a budget, or a share of the time.

A rule with a threshold says how much it wants to look: its *pressure* is positive where it would
query, and grows with the need. A pace is kept by moving the bar that the pressure must clear: the
bar is the quantile of the last ``WINDOW`` pressures that would have spent what may be spent per
round. So the price rises when the spend is ahead and falls when it is behind, and answers still go
where they matter most. In the first rounds the rule decides by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from midrun.checks import number, protocol, whole
from midrun.query.expected_regret import ExpectedRegret
from midrun.query.rule import QueryRule, Situation, Verdict

WINDOW = 50  # rounds whose pressures set the bar
CATCH_UP = 10  # rounds over which a surplus is spent
FIRST = 10  # rounds before the bar is moved
UTMOST = 1e9  # pressure of a verdict without a statistic: a belief that knows nothing


class Steerable(QueryRule, Protocol):
    """A rule whose threshold can be moved."""

    def pressure(self, verdict: Verdict) -> float:
        """How much the rule wants to look: positive iff it queries, larger for a greater need."""
        ...


def steer(rule: Steerable, situation: Situation, rate: float, kind: str) -> Verdict:
    """The rule's verdict with its bar at what a share ``rate`` of the last pressures clears."""
    verdict = rule.decide(situation)
    if verdict.statistic is None:
        pressure = UTMOST if verdict.query else -UTMOST
    else:
        pressure = rule.pressure(verdict)
    past: list[float] = situation.memory.setdefault("pressures", [])
    if len(past) >= FIRST:
        bar = float(np.quantile(past, 1.0 - rate, method="higher"))
        verdict = replace(verdict, query=pressure > bar or rate >= 1.0, kind=kind)
    past.append(pressure)
    del past[:-WINDOW]
    return verdict


@dataclass(frozen=True)
class Budget:
    """So many queries and no more, spent where they matter.

    With a horizon the run ends at the budget, never above it. Without one the rate is held over a
    sliding window of 50 rounds, or of as many as hold ten queries.

    Args:
        amount: A share of the rounds, a float in (0, 1]; or a count, an int (needs ``horizon``).
        horizon: Rounds of the whole run.
        rule: The rule that is steered; ``ExpectedRegret()`` by default.

    Example:
        >>> Budget(50)
        Traceback (most recent call last):
        ...
        ValueError: a `Budget` of 50 queries needs the `horizon`, the rounds of the whole run.
    """

    reads_belief: ClassVar[bool] = False  # the budget is the user's word: no guard overrules it

    amount: float
    horizon: int | None = None
    rule: Steerable = field(default_factory=ExpectedRegret)

    def __post_init__(self) -> None:
        protocol("rule", self.rule, "pressure")
        if self.horizon is not None:
            whole("horizon", self.horizon, "the rounds of the whole run", low=1)
        if not isinstance(self.amount, int) or isinstance(self.amount, bool):
            number("amount", self.amount, "a share of the rounds", above=0.0, high=1.0)
            return
        whole("amount", self.amount, "a number of queries", low=1)
        if self.horizon is None:
            raise ValueError(
                f"a `Budget` of {self.amount} queries needs the `horizon`, the rounds of the "
                "whole run."
            )

    def decide(self, situation: Situation) -> Verdict:
        """Query if the need clears the bar and the budget allows."""
        spent: list[int] = situation.memory.setdefault("spent", [0])
        left, rounds = self._left(situation, spent)
        rate = min(max(left / rounds, 0.0), 1.0)
        verdict = steer(self.rule, situation, rate, "budget")
        if left < 1.0:
            verdict = replace(verdict, query=False, kind="budget: spent")
        elif left >= rounds:
            verdict = replace(verdict, query=True, kind="budget: to spend")
        if self.horizon is not None:
            spent[0] += verdict.query
        else:
            spent.append(int(verdict.query))
            del spent[: -self._span]
        return verdict

    @property
    def _span(self) -> int:
        return max(WINDOW, math.ceil(10 / self.amount))

    def _left(self, situation: Situation, spent: list[int]) -> tuple[float, float]:
        """Queries left, and the rounds they are left for, this one included."""
        if self.horizon is None:
            recent = sum(spent[-(self._span - 1) :])
            room = self.amount * self._span - recent
            # The rate itself, and what the last rounds left unspent.
            surplus = room - self.amount * (self._span - len(spent) + 1)
            rate = self.amount + max(surplus, 0.0) / CATCH_UP
            return (room, max(room / rate, 1.0)) if room >= 1.0 else (0.0, 1.0)
        counted = isinstance(self.amount, int)
        total = self.amount if counted else math.floor(self.amount * self.horizon + 1e-9)
        return max(total, 1) - spent[0], max(self.horizon - situation.t + 1, 1)


@dataclass(frozen=True)
class Overhead:
    """Validation takes at most a share of the training time, both measured.

    Needs the seconds of an evaluation: ``tell(..., seconds=...)``, or
    ``with tuner.evaluating(decision): ...`` around it. At any time the seconds spent exceed the
    share by no more than one evaluation.

    Args:
        share: Validation seconds per training second.
        rule: The rule that is steered; ``ExpectedRegret()`` by default.
    """

    reads_belief: ClassVar[bool] = False

    share: float
    rule: Steerable = field(default_factory=ExpectedRegret)

    def __post_init__(self) -> None:
        protocol("rule", self.rule, "pressure")
        number("share", self.share, "validation seconds per training second", above=0.0)

    def decide(self, situation: Situation) -> Verdict:
        """Query if the need clears the bar and the time allows."""
        account: Any = situation.account
        if account.recent_cost is None:  # nothing was timed yet
            return steer(self.rule, situation, 1.0, "overhead")
        per_round = account.training / max(account.rounds, 1)
        room = self.share * account.training - account.validation
        allowed = self.share * per_round + room / CATCH_UP  # seconds of validation per round
        rate = min(max(allowed / max(account.recent_cost, 1e-9), 0.0), 1.0)
        verdict = steer(self.rule, situation, rate, "overhead")
        if room <= 0.0:
            verdict = replace(verdict, query=False, kind="overhead: spent")
        return verdict
