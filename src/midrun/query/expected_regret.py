r"""Pay when playing the best known setting is expected to cost more than an answer.

Let g be the argmax of the posterior mean, the setting that is played when nobody looks. Against
another x its expected regret is, with the joint posterior,

.. math:: E[(f(x) - f(g))^+] = s \, (z \Phi(z) + \varphi(z)), \qquad
          s^2 = \mathrm{var}(f(x) - f(g)), \quad z = (\mu(x) - \mu(g)) / s .

Neighbours of g share its error, so they cost nothing and no local optima are needed; s grows as
the belief fades, so the rule cannot get stuck.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr as Phi  # noqa: N812

from midrun.belief.kernels import Array
from midrun.belief.posterior import Point, Points, contrast
from midrun.checks import number
from midrun.normal import LOG_SQRT_2PI, log_expected_improvement
from midrun.query.rule import Situation, Verdict, know_nothing


@dataclass(frozen=True)
class RegretSurface:
    """Expected regret of playing g, against each x."""

    posterior: Any  # with gradients on a continuous space
    g: Point

    def __call__(self, points: Points) -> Array:
        """Values, (n,)."""
        difference, s = contrast(self.posterior, points, self.g)
        s = np.maximum(s, 1e-150)
        return s * np.exp(log_expected_improvement(difference / s))

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        r"""Values (n,) and gradients (n, d): :math:`\Phi(z)\,d\mu + \varphi(z)\,ds`."""
        mean, std, dmean, dstd = self.posterior.with_gradient(X)
        covariance, dcovariance = self.posterior.covariance_with_gradient(X, self.g)
        mean_g, std_g, _, _ = self.posterior.with_gradient(np.asarray(self.g)[None])
        variance = std**2 + std_g**2 - 2.0 * covariance
        s = np.sqrt(np.maximum(variance, 1e-12 * self.posterior.prior_std**2))
        z = (mean - mean_g) / s
        ds = (std[:, None] * dstd - dcovariance) / s[:, None]
        phi = np.exp(-0.5 * z * z - LOG_SQRT_2PI)
        gradient = Phi(z)[:, None] * dmean + phi[:, None] * ds
        return s * np.exp(log_expected_improvement(z)), gradient


@dataclass(frozen=True)
class ExpectedRegret:
    """Query iff the largest expected regret of playing the best known setting exceeds a price.

    Args:
        price: What an answer is worth: in units of the reward's standard deviation over settings
            (the belief's, given or learned), or in the reward's own units.
        relative: Which of the two; True is the reward's standard deviation.

    Example:
        >>> ExpectedRegret(0.0)
        Traceback (most recent call last):
        ...
        ValueError: `price` must lie in (0, inf), but got 0.0. It is what an answer is worth.
    """

    price: float = 0.03
    relative: bool = True

    def __post_init__(self) -> None:
        number("price", self.price, "what an answer is worth", above=0.0)

    def pressure(self, verdict: Verdict) -> float:
        """Log of the expected regret over the price."""
        statistic, threshold = verdict.statistic or 0.0, verdict.threshold or 1.0
        return math.log(max(statistic, 1e-300) / threshold)

    def decide(self, situation: Situation) -> Verdict:
        """Query if some setting may be better by more than the price."""
        nothing = know_nothing(situation)
        if nothing is not None:
            return nothing
        surface = RegretSurface(situation.posterior, situation.incumbent())
        worst = situation.search(surface)
        price = self.price * (situation.posterior.prior_std if self.relative else 1.0)
        return Verdict(worst.value > price, "regret", worst.value, price, worst.point)
