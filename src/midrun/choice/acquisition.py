r"""Which x to play: scores of a point from its posterior mean and standard deviation.

EI and PI are computed as logarithms: the order of points is the same, and it survives in the
tails where the plain values underflow to zero (Ament et al. 2023).

Shapes: ``mean`` and ``std`` are (n,), and so is a score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import log_ndtr

from midrun.belief.kernels import Array
from midrun.choice.beta import Beta, ConstantBeta, LogBeta
from midrun.normal import LOG_SQRT_2PI, log_expected_improvement


@dataclass(frozen=True)
class Setting:
    """What a score may depend on besides mean and std."""

    t: int  # rounds begun, this one included
    size: int | None  # number of candidates, None in a continuous space
    scale: float  # prior standard deviation of f
    incumbent: Callable[[], float]  # largest posterior mean; called only where it is needed


class Acquisition(Protocol):
    """A score to be maximised over x."""

    def score(self, mean: Array, std: Array, setting: Setting) -> Array:
        """Score of each point, (n,)."""
        ...

    def slopes(self, mean: Array, std: Array, setting: Setting) -> tuple[Array, Array]:
        """Derivatives of the score by the mean and by the std, (n,) each."""
        ...


def upper_confidence_bound(mean: Array, std: Array, beta: float) -> Array:
    r"""Optimistic value of each candidate, :math:`\mu_t(x) + \sqrt{\beta_t}\,\sigma_t(x)`.

    Args:
        mean: Posterior mean, shape (n,).
        std: Posterior standard deviation -- not the variance -- shape (n,).
        beta: Exploration weight; its square root is taken here and only here.

    Example:
        >>> upper_confidence_bound(np.array([0.0, 1.0]), np.array([2.0, 0.0]), beta=4.0)
        array([4., 1.])
    """
    return mean + math.sqrt(beta) * std


@dataclass(frozen=True)
class UCB:
    r"""Upper confidence bound; ``beta`` is a number or a schedule.

    Example:
        >>> setting = Setting(t=1, size=2, scale=1.0, incumbent=lambda: 0.0)
        >>> UCB(4.0).score(np.array([0.0, 1.0]), np.array([2.0, 0.0]), setting)
        array([4., 1.])
    """

    beta: Beta = LogBeta(0.8, 4.0)

    def __post_init__(self) -> None:
        """Take a plain number for a constant schedule."""
        if not callable(self.beta):
            object.__setattr__(self, "beta", ConstantBeta(self.beta))

    def score(self, mean: Array, std: Array, setting: Setting) -> Array:
        """Score of each point."""
        return upper_confidence_bound(mean, std, self.beta(setting.t, setting.size))

    def slopes(self, mean: Array, std: Array, setting: Setting) -> tuple[Array, Array]:
        """Derivatives of the score by mean and std."""
        beta = self.beta(setting.t, setting.size)
        return np.ones_like(mean), np.full_like(std, math.sqrt(beta))


@dataclass(frozen=True)
class EI:
    """Log of the expected improvement on the largest posterior mean.

    Example:
        >>> EI().score(np.array([0.0]), np.array([1.0]), Setting(1, 1, 1.0, lambda: 0.0)).round(3)
        array([-0.919])
    """

    def score(self, mean: Array, std: Array, setting: Setting) -> Array:
        """Score of each point."""
        safe = np.maximum(std, 1e-150)
        return log_expected_improvement((mean - setting.incumbent()) / safe) + np.log(safe)

    def slopes(self, mean: Array, std: Array, setting: Setting) -> tuple[Array, Array]:
        r"""Derivatives; by z it is :math:`\Phi(z) / (z \Phi(z) + \varphi(z))`."""
        safe = np.maximum(std, 1e-150)
        z = (mean - setting.incumbent()) / safe
        by_z = np.exp(log_ndtr(z) - log_expected_improvement(z))
        return by_z / safe, (1.0 - z * by_z) / safe


@dataclass(frozen=True)
class PI:
    """Log of the probability of improving on the largest posterior mean by ``margin``.

    With no margin the incumbent itself has probability 1/2 and nothing beats it, so a small one is
    kept: ``margin`` is in units of the prior standard deviation of f.

    Example:
        >>> PI(0.0).score(np.array([0.0]), np.array([1.0]), Setting(1, 1, 1.0, lambda: 0.0)).round(
        ...     3
        ... )
        array([-0.693])
    """

    margin: float = 0.01

    def score(self, mean: Array, std: Array, setting: Setting) -> Array:
        """Score of each point."""
        return log_ndtr(self._z(mean, std, setting))

    def slopes(self, mean: Array, std: Array, setting: Setting) -> tuple[Array, Array]:
        r"""Derivatives; by z it is :math:`\varphi(z) / \Phi(z)`."""
        z = self._z(mean, std, setting)
        by_z = np.exp(-0.5 * z * z - LOG_SQRT_2PI - log_ndtr(z))
        safe = np.maximum(std, 1e-150)
        return by_z / safe, -z * by_z / safe

    def _z(self, mean: Array, std: Array, setting: Setting) -> Array:
        target = setting.incumbent() + self.margin * setting.scale
        return (mean - target) / np.maximum(std, 1e-150)


@dataclass(frozen=True)
class Mean:
    """The posterior mean: pure exploitation.

    Example:
        >>> Mean().score(
        ...     np.array([0.0, 1.0]), np.array([2.0, 0.0]), Setting(1, 2, 1.0, lambda: 1.0)
        ... )
        array([0., 1.])
    """

    def score(self, mean: Array, std: Array, setting: Setting) -> Array:
        """Score of each point."""
        return mean

    def slopes(self, mean: Array, std: Array, setting: Setting) -> tuple[Array, Array]:
        """Derivatives of the score by mean and std."""
        return np.ones_like(mean), np.zeros_like(std)
