r"""How alike two rounds are: the temporal kernels :math:`k(t, t')`.

Both are parametrised by the forgetting rate :math:`\epsilon`, and agree at a lag of one round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from midrun.belief.kernels import Array


class Forgetting(Protocol):
    """A stationary correlation over time."""

    @property
    def epsilon(self) -> float:
        """The share forgotten per round."""
        ...

    def __call__(self, lag: Array | float) -> Array:
        """Correlation of ``f_t(x)`` and ``f_{t + lag}(x)``; real lags of either sign."""
        ...


@dataclass(frozen=True)
class Markov:
    r""":math:`(1 - \epsilon)^{|t - t'| / 2}`, the paper's (and Bogunovic's) kernel in time.

    The process is :math:`f_{t+1} = \sqrt{1-\epsilon} f_t + \sqrt\epsilon g_{t+1}`: what is known
    fades by one factor per round, so nothing has to be recomputed because time passed.

    Example:
        >>> round(float(Markov(0.1)(10)), 2)
        0.59
    """

    epsilon: float

    def __call__(self, lag: Array | float) -> Array:
        """Correlation at a lag."""
        # log1p keeps tiny rates exact; 0 * inf cannot occur because epsilon < 1.
        return np.exp(0.5 * math.log1p(-self.epsilon) * np.abs(lag))


@dataclass(frozen=True)
class SquaredExponential:
    r""":math:`(1 - \epsilon)^{(t - t')^2 / 2} = \exp(-(t-t')^2 / 2 \ell^2)`: smooth drift.

    Its lengthscale is :math:`\ell = (-\ln(1 - \epsilon))^{-1/2}` rounds. It has no finite
    recursion: the posterior is kept by a window of answers (``process.py``).

    Example:
        >>> se = SquaredExponential(0.001)
        >>> round(se.lengthscale, 1), float(se(1)) == float(Markov(0.001)(1))
        (31.6, True)
    """

    epsilon: float

    @property
    def lengthscale(self) -> float:
        """The lag, in rounds, at which the correlation is exp(-1/2)."""
        rate = -math.log1p(-self.epsilon)
        return math.inf if rate == 0 else rate**-0.5

    def __call__(self, lag: Array | float) -> Array:
        """Correlation at a lag."""
        return np.exp(0.5 * math.log1p(-self.epsilon) * np.square(lag))


TIMES: dict[str, type[Markov] | type[SquaredExponential]] = {
    "markov": Markov,
    "se": SquaredExponential,
}


def forward_lag(round: float, last: float | None) -> float:
    """Rounds since the last answer; a belief looks forward only."""
    lag = 0.0 if last is None else round - last
    if lag < 0:
        raise ValueError(
            f"`round` must not lie before the last answer, but got {round=} and the last answer "
            f"is of round {last}: the belief looks forward only."
        )
    return lag
