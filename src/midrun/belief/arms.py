r"""The exact posterior on independent arms: a scalar filter each, O(K) per round.

The case :math:`k_{space} = I` of ``grid.py``: R is diagonal, so nothing else is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from midrun.belief.forgetting import Forgetting, forward_lag
from midrun.belief.kernels import Array
from midrun.belief.packing import pack, unpack
from midrun.belief.posterior import Point, Points
from midrun.belief.prior import JITTER, Parameters


@dataclass(frozen=True)
class ArmsPosterior:
    """A frozen view of :class:`Arms`."""

    parameters: Parameters
    fade: float
    mean: Array  # (K,) at the last answer
    explained: Array  # (K,) at the last answer

    @property
    def prior_std(self) -> float:
        """Standard deviation of f where nothing is known."""
        return float(np.sqrt(self.parameters.scale))

    @property
    def remembered(self) -> float:
        """Largest share of the prior variance that the answers still explain."""
        return float(self.fade**2 * self.explained.max() / self.parameters.scale)

    def marginal(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation at each arm."""
        variance = self.parameters.scale - self.fade**2 * self.explained[points]
        mean = self.parameters.mean + self.fade * self.mean[points]
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def covariance(self, points: Points, point: Point) -> Array:
        """Variance where an arm meets itself, zero elsewhere."""
        return np.where(points == point, self.marginal(points)[1] ** 2, 0.0)

    def correlation(self, points: Points, point: Point) -> Array:
        """One where an arm meets itself, zero elsewhere."""
        return (points == point).astype(np.float64)


class Arms:
    """Filter of K independent drifting values.

    Example:
        >>> from midrun.belief.forgetting import Markov
        >>> arms = Arms(3, Markov(0.0), Parameters(scale=1.0, noise=1.0, mean=0.0))
        >>> arms.observe(1, 4.0, round=1)
        >>> arms.posterior(2).marginal(np.arange(3))[0]
        array([0., 2., 0.])
    """

    def __init__(self, count: int, forgetting: Forgetting, parameters: Parameters) -> None:
        self.forgetting = forgetting
        self.parameters = parameters
        self._mean: Array = np.zeros(count)
        self._explained: Array = np.zeros(count)
        self._round: float | None = None

    def posterior(self, round: float) -> ArmsPosterior:
        """The belief at a round not before the last answer."""
        fade = float(self.forgetting(forward_lag(round, self._round)))
        return ArmsPosterior(self.parameters, fade, self._mean, self._explained)

    def observe(self, point: Point, value: float, round: float) -> None:
        """Condition on an answer of one arm."""
        arm, now = int(point), self.posterior(round)
        self._mean = now.fade * self._mean
        self._explained = now.fade**2 * self._explained
        variance = max(self.parameters.scale - self._explained[arm], 0.0)
        gain = variance / (variance + max(self.parameters.noise, JITTER * self.parameters.scale))
        self._mean[arm] += gain * (value - self.parameters.mean - self._mean[arm])
        self._explained[arm] += gain * variance
        self._round = float(round)

    def observe_all(self, points: Points, values: Array, rounds: Array) -> None:
        """Condition on several answers, one by one."""
        for point, value, round in zip(points, values, rounds, strict=True):
            self.observe(point, float(value), float(round))

    def state_dict(self) -> dict[str, Any]:
        """Two numbers an arm."""
        return {
            "round": self._round,
            "mean": pack(self._mean),
            "explained": pack(self._explained),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state, bit for bit."""
        self._round = None if state["round"] is None else float(state["round"])
        self._mean = unpack(state["mean"], self._mean.shape)
        self._explained = unpack(state["explained"], self._explained.shape)
