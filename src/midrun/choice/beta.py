r"""How much optimism: the schedules :math:`\beta_t` of the upper confidence bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from midrun.checks import number


class Beta(Protocol):
    """A schedule; ``t`` counts rounds from 1, ``size`` is the number of candidates if finite."""

    def __call__(self, t: int, size: int | None) -> float:
        """Weight of the variance in round t."""
        ...


@dataclass(frozen=True)
class ConstantBeta:
    """The same weight in every round."""

    value: float

    def __post_init__(self) -> None:
        number("beta", self.value, "the exploration weight of UCB", low=0.0)

    def __call__(self, t: int, size: int | None) -> float:
        """Weight of the variance in round t."""
        return float(self.value)


@dataclass(frozen=True)
class LogBeta:
    r""":math:`\beta_t = c_1 \ln(c_2 t)`; (0.8, 4) is Bogunovic et al. (2016), as in the paper.

    Example:
        >>> round(LogBeta(0.8, 4)(500, None), 2)
        6.08
    """

    c1: float = 0.8
    c2: float = 4.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c1", number("c1", self.c1, "the factor of LogBeta", low=0.0))
        object.__setattr__(
            self,
            "c2",
            number("c2", self.c2, "LogBeta's c2; ln(c2 t) must not be negative", low=1.0),
        )

    def __call__(self, t: int, size: int | None) -> float:
        """Weight of the variance in round t."""
        return self.c1 * math.log(self.c2 * t)


@dataclass(frozen=True)
class TheoryBeta:
    r""":math:`\beta_t = 2 \ln(|D| \pi^2 t^2 / 6 \delta)`: bounds that all hold w.p. 1 - delta.

    Srinivas et al. (2010), theorem 1, and Bogunovic et al. (2016) for a finite set D.

    Example:
        >>> round(TheoryBeta(0.1)(1, 1000), 2)
        19.42
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        meaning = "the probability that some bound fails"
        object.__setattr__(
            self, "delta", number("delta", self.delta, meaning, above=0.0, below=1.0)
        )

    def __call__(self, t: int, size: int | None) -> float:
        """Weight of the variance in round t."""
        if size is None:
            raise ValueError(
                "`TheoryBeta` is proven for a finite set, but the space is continuous. Give "
                "`candidates`, or use `LogBeta` or a number."
            )
        return 2.0 * math.log(size * math.pi**2 * t**2 / (6.0 * self.delta))
