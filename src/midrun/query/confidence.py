r"""The paper's rules: pay when the choice is not clearly the best mode.

Both compare :math:`x_t` with its rivals, the other local optima of the acquisition (the remark in
section 4.3: neighbours within one mode are always hard to tell apart and need not be).

**The trap.** A surface with a single mode has no rivals, and a rule with only local optima to
look at would then never query again, however much the belief fades. So a lone mode is compared
with the rest of the domain: all points whose prior correlation with :math:`x_t` is at most
``ELSEWHERE``, which an answer at :math:`x_t` says little about. Where there are rivals the guard
changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr as Phi  # noqa: N812

from midrun.belief.kernels import Array
from midrun.belief.posterior import Point, Points, Posterior, contrast
from midrun.checks import number
from midrun.query.rule import Situation, Verdict, know_nothing

ELSEWHERE = 0.5


def without(points: Points, point: Point) -> Points:
    """All points but one; a copy of it at rounding distance goes too."""
    same = points == point if points.ndim == 1 else np.all(points == point, axis=1)
    return points[~same]


def rivals_of(situation: Situation) -> tuple[Points, bool]:
    """Points to compare the choice with, and whether they are the rest of the domain.

    Returns:
        The other modes; or, if there is none, the points elsewhere and True.
    """
    x_t = situation.optima.point
    modes = without(situation.optima.modes, x_t)
    if len(modes):
        return modes, False
    rest = without(situation.cover, x_t)
    if not len(rest):
        return rest, True
    alike = situation.posterior.correlation(rest, x_t)
    far = alike <= ELSEWHERE
    return (rest[far] if far.any() else rest[alike == alike.min()]), True


def probability_best(posterior: Posterior, x_t: Point, rivals: Points, *, joint: bool) -> Array:
    r""":math:`P(\hat y(x_t) > \hat y(x))` for each rival, (n,).

    In closed form :math:`\Phi((\mu(x_t) - \mu(x)) / s)`. The paper takes
    :math:`s^2 = \sigma^2(x_t) + \sigma^2(x)`; ``joint`` subtracts twice their covariance.
    """
    if joint:
        difference, s = contrast(posterior, rivals, x_t)
        difference = -difference
    else:
        mean_t, std_t = posterior.marginal(np.asarray(x_t)[None])
        mean, std = posterior.marginal(rivals)
        difference, s = mean_t - mean, np.hypot(std_t, std)
    # Two certain values (s = 0): the larger wins, equal ones tie.
    probability: Array = Phi(difference / np.maximum(s, 1e-200))
    return probability


@dataclass(frozen=True)
class Confidence:
    r"""Algorithm 1, line 4: query iff :math:`P(\hat y(x_t) > \hat y(x)) < \kappa` for some rival.

    Args:
        kappa: The confidence asked for; 0.9 keeps the paper's regret at some 40 % fewer queries.
        joint: Use the posterior covariance of the two points, which the paper leaves out; some
            10 % fewer queries at equal regret.

    Example:
        >>> Confidence(1.0)
        Traceback (most recent call last):
        ...
        ValueError: `kappa` must lie in (0, 1), but got 1.0. It is the confidence asked for.
    """

    kappa: float = 0.9
    joint: bool = False

    def __post_init__(self) -> None:
        number("kappa", self.kappa, "the confidence asked for", above=0.0, below=1.0)

    def pressure(self, verdict: Verdict) -> float:
        """Log odds of the confidence asked for, minus those of the choice being the best."""
        p = min(max(verdict.statistic or 0.0, 1e-300), 1.0 - 1e-16)
        return math.log(self.kappa / (1.0 - self.kappa)) - math.log(p / (1.0 - p))

    def decide(self, situation: Situation) -> Verdict:
        """Query if some rival may be better."""
        nothing = know_nothing(situation)
        if nothing is not None:
            return nothing
        rivals, elsewhere = rivals_of(situation)
        if not len(rivals):
            return Verdict(False, "no rival")
        x_t = situation.optima.point
        probability = probability_best(situation.posterior, x_t, rivals, joint=self.joint)
        worst = int(np.argmin(probability))
        statistic = float(probability[worst])
        kind = "single mode" if elsewhere else "confidence"
        return Verdict(statistic < self.kappa, kind, statistic, self.kappa, rivals[worst])


@dataclass(frozen=True)
class NoOverlap:
    r"""The paper's LCB-UCB rule (@*): query unless every rival's ucb lies below the choice's lcb.

    Lemma 1: then playing :math:`x_t` has no regret with probability :math:`1 - \delta`. Where the
    two standard deviations are equal it is ``Confidence`` at
    :math:`\gamma_t = \Phi(\sqrt{2 \beta_t})` (the paper prints :math:`\sqrt2 \beta_t`).
    """

    def pressure(self, verdict: Verdict) -> float:
        """How far the intervals overlap, in the reward's units."""
        return -(verdict.statistic or 0.0)

    def decide(self, situation: Situation) -> Verdict:
        """Query if some confidence interval overlaps the choice's."""
        if situation.beta is None:
            raise ValueError(
                "`NoOverlap` compares confidence bounds and needs `choice=UCB(beta)`, but the "
                "tuner's choice has no beta. Use `UCB`, or `Confidence(kappa)`."
            )
        nothing = know_nothing(situation)
        if nothing is not None:
            return nothing
        rivals, elsewhere = rivals_of(situation)
        if not len(rivals):
            return Verdict(False, "no rival")
        width = math.sqrt(situation.beta)
        mean_t, std_t = situation.posterior.marginal(np.asarray(situation.optima.point)[None])
        mean, std = situation.posterior.marginal(rivals)
        gap = (mean_t - width * std_t) - (mean + width * std)
        worst = int(np.argmin(gap))
        kind = "single mode overlap" if elsewhere else "overlap"
        return Verdict(bool(gap[worst] < 0.0), kind, float(gap[worst]), 0.0, rivals[worst])
