"""What a belief must offer: the seam between mathematics and decisions.

The tuner, the acquisitions and the query rules see only these two protocols. A *point* is an
index on a finite set and a row of the unit cube on a continuous space; nobody above cares.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from midrun.belief.kernels import Array

Points: TypeAlias = npt.NDArray[Any]  # (n,) indices of a finite set, or (n, d) rows
Point: TypeAlias = Any  # one entry of Points: an index or a row (d,)


class Optima(Protocol):
    """What a search over a surface found."""

    @property
    def point(self) -> Point:
        """The global maximum."""
        ...

    @property
    def value(self) -> float:
        """Its value."""
        ...

    @property
    def modes(self) -> Points:
        """All local maxima, the global one among them."""
        ...


class Posterior(Protocol):
    r"""The belief about :math:`f_t` at one round, frozen: later answers do not change it."""

    @property
    def prior_std(self) -> float:
        """Standard deviation of f where nothing is known."""
        ...

    @property
    def remembered(self) -> float:
        """Largest share of the prior variance that the answers still explain, in [0, 1]."""
        ...

    def marginal(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation (not variance) of f at each point, each (n,)."""
        ...

    def covariance(self, points: Points, point: Point) -> Array:
        """Posterior covariance of f at each point with f at one point, (n,)."""
        ...

    def correlation(self, points: Points, point: Point) -> Array:
        """Prior correlation in space of each point with one point, (n,)."""
        ...


class Model(Protocol):
    """A belief that takes answers."""

    def posterior(self, round: float) -> Posterior:
        """The belief at a round not before the last answer."""
        ...

    def observe(self, point: Point, value: float, round: float) -> None:
        """Condition on ``value = f_round(point) + noise``."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that later posteriors depend on, as plain JSON types."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state; posteriors are then equal to the last bit."""
        ...


class Member(Model, Protocol):
    """A model of fixed parameters, which a bank may build anew."""

    def observe_all(self, points: Points, values: Array, rounds: Array) -> None:
        """Condition on several answers, in the order of their rounds."""
        ...


def contrast(posterior: Posterior, points: Points, point: Point) -> tuple[Array, Array]:
    """Mean and standard deviation of ``f(x) - f(point)`` for each x, from the joint posterior.

    Near neighbours share their error, so their contrast is certain where each value is not.

    Returns:
        Two arrays (n,).
    """
    mean, std = posterior.marginal(points)
    one = np.asarray(point)[None]
    mean_0, std_0 = posterior.marginal(one)
    variance = std**2 + std_0**2 - 2.0 * posterior.covariance(points, point)
    return mean - mean_0, np.sqrt(np.maximum(variance, 0.0))
