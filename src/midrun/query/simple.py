"""Rules that do not look at the belief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from midrun.checks import number, whole
from midrun.query.rule import Situation, Verdict


@dataclass(frozen=True)
class Always:
    """Observe every round: with UCB and ``on_skip="explore"`` this is TV-GP-UCB."""

    reads_belief: ClassVar[bool] = False

    def decide(self, situation: Situation) -> Verdict:
        """Query."""
        return Verdict(True, "always")


@dataclass(frozen=True)
class Every:
    """Observe every k-th round, the first one included.

    Example:
        >>> Every(0)
        Traceback (most recent call last):
        ...
        ValueError: `k` must be at least 1, but got 0. It is the gap between two looks, in rounds.
    """

    reads_belief: ClassVar[bool] = False

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "k", whole("k", self.k, "the gap between two looks, in rounds", low=1)
        )

    def decide(self, situation: Situation) -> Verdict:
        """Query in rounds 1, 1 + k, 1 + 2k, ..."""
        since = (situation.t - 1) % self.k
        return Verdict(since == 0, "schedule", float(since), float(self.k))


@dataclass(frozen=True)
class Bernoulli:
    """Observe with probability p, the paper's Ber(B / T); the first round always.

    Example:
        >>> Bernoulli(1.5)
        Traceback (most recent call last):
        ...
        ValueError: `p` must lie in [0, 1], but got 1.5. It is the probability of a query.
    """

    reads_belief: ClassVar[bool] = False

    p: float

    def __post_init__(self) -> None:
        number("p", self.p, "the probability of a query", low=0.0, high=1.0)

    def decide(self, situation: Situation) -> Verdict:
        """Toss the tuner's own coin."""
        coin = float(situation.rng.random())
        if situation.t == 1:
            return Verdict(True, "first", coin, self.p)
        return Verdict(coin < self.p, "coin", coin, self.p)
