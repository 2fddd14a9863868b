"""An acquisition as a function of points: what a domain searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from midrun.belief.kernels import Array
from midrun.belief.posterior import Points
from midrun.choice.acquisition import Acquisition, Mean, Setting


@dataclass(frozen=True)
class Surface:
    """The score of any point under a posterior.

    Attributes:
        posterior: With gradients (``SmoothPosterior``) on a continuous space.
    """

    posterior: Any
    choice: Acquisition
    setting: Setting

    def __call__(self, points: Points) -> Array:
        """Scores, (n,)."""
        mean, std = self.posterior.marginal(points)
        return self.choice.score(mean, std, self.setting)

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Scores (n,) and their gradients by the rows (n, d)."""
        if isinstance(self.choice, Mean):
            value, gradient = self.posterior.mean_with_gradient(X)
            return value, gradient
        mean, std, dmean, dstd = self.posterior.with_gradient(X)
        by_mean, by_std = self.choice.slopes(mean, std, self.setting)
        gradient = by_mean[:, None] * dmean + by_std[:, None] * dstd
        return self.choice.score(mean, std, self.setting), gradient
