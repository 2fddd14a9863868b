r"""The exact posterior on a finite set, at a cost per round that never grows.

With the Markov kernel in time, equations 1-2 of the paper are the filter of a linear-Gaussian
state. Write the posterior covariance as :math:`s^2 K - R`; then, with
:math:`\rho^2 = 1 - \epsilon`,

- D rounds without an answer: mean times :math:`\rho^D`, R times :math:`\rho^{2D}`, one scalar;
- an answer at x: :math:`R \leftarrow R + p p^T / S` with :math:`p` the covariance column of x and
  :math:`S = p_x + \sigma^2`; a rank-one update.

The rank-one updates are gathered as rows of V, :math:`R = g (R_0 + V^T V)`, and folded into the
dense :math:`R_0` by one matrix product per ``BLOCK`` answers.

Names and shapes: ``m`` candidates, ``mean`` (m,) is the mean minus the prior mean, ``explained``
(m,) the diagonal of R, ``V`` (BLOCK, m), ``R0`` (m, m) or None while no block is full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from midrun.belief.forgetting import Forgetting, forward_lag
from midrun.belief.kernels import Array, Kernel
from midrun.belief.packing import pack, unpack
from midrun.belief.posterior import Point, Points
from midrun.belief.prior import JITTER, Parameters

BLOCK = 128  # answers gathered before they are folded in; flat optimum between 64 and 256
REPLAY = 1000  # up to this many answers a state is the answers themselves: small and exact
TINY = 1e-60  # the lazy scalar g is multiplied out below this


@dataclass(frozen=True)
class GridPosterior:
    """A frozen view of a :class:`Grid`: arrays it shares are never written again."""

    grid: Grid
    fade: float  # rho^D since the last answer
    mean: Array  # (m,) at the last answer
    explained: Array  # (m,) at the last answer
    rows: Array  # (n, m)
    dense: Array | None  # (m, m)
    factor: float

    @property
    def prior_std(self) -> float:
        """Standard deviation of f where nothing is known."""
        return math.sqrt(self.grid.parameters.scale)

    @cached_property
    def remembered(self) -> float:
        """Largest share of the prior variance that the answers still explain."""
        return float(self.fade**2 * self.explained.max() / self.grid.parameters.scale)

    @cached_property
    def _all(self) -> tuple[Array, Array]:
        parameters = self.grid.parameters
        mean = parameters.mean + self.fade * self.mean  # eq. 1
        variance = parameters.scale - self.fade**2 * self.explained  # eq. 2, its diagonal
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def marginal(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation at each index."""
        mean, std = self._all
        return mean.take(points), std.take(points)

    def covariance(self, points: Points, point: Point) -> Array:
        """Posterior covariance of each index with one index."""
        return self.column(int(point))[points]

    def correlation(self, points: Points, point: Point) -> Array:
        """Prior correlation in space of each index with one index."""
        X = self.grid.features
        row: Array = self.grid.kernel(X[int(point)][None], X[points])[0]
        return row

    def column(self, index: int) -> Array:
        """Column of the posterior covariance, eq. 2, (m,)."""
        grid = self.grid
        prior = grid.parameters.scale * grid.kernel(grid.features[index][None], grid.features)[0]
        known = self.rows[:, index] @ self.rows
        if self.dense is not None:
            known += self.dense[index]
        column: Array = prior - (self.fade**2 * self.factor) * known
        return column


class Grid:
    """Filter of a drifting function on ``m`` candidates; see the module's text.

    Args:
        features: What the kernel sees of each candidate, (m, d).
        kernel: Correlation in space.
        forgetting: Markov correlation in time.
        parameters: Output scale, noise and mean.

    Example:
        >>> from midrun.belief.forgetting import Markov
        >>> kernel = Kernel("se", np.array([0.3]), np.array([False]))
        >>> fixed = Parameters(scale=1.0, noise=0.25, mean=0.0)
        >>> grid = Grid(np.array([[0.0], [1.0]]), kernel, Markov(0.5), fixed)
        >>> grid.observe(0, 2.0, round=1)
        >>> mean, std = grid.posterior(1).marginal(np.array([0]))
        >>> mean.round(3), (std**2).round(3)  # y / (1 + noise), noise / (1 + noise)
        (array([1.6]), array([0.2]))
        >>> mean, std = grid.posterior(3).marginal(np.array([0]))  # two rounds later: half of it
        >>> mean.round(3), (std**2).round(3)
        (array([0.8]), array([0.8]))
    """

    def __init__(
        self, features: Array, kernel: Kernel, forgetting: Forgetting, parameters: Parameters
    ) -> None:
        self.features = features
        self.kernel = kernel
        self.forgetting = forgetting
        self.parameters = parameters
        self._clear()

    def _clear(self) -> None:
        m = len(self.features)
        self._mean: Array = np.zeros(m)
        self._explained: Array = np.zeros(m)
        self._V: Array = np.empty((min(BLOCK, m), m))
        self._used = 0
        self._R0: Array | None = None
        self._g = 1.0
        self._round: float | None = None  # of the last answer
        self._answers: list[tuple[int, float, float]] | None = []

    def posterior(self, round: float) -> GridPosterior:
        """The belief at a round not before the last answer; O(1), read in O(m)."""
        return GridPosterior(
            grid=self,
            fade=float(self.forgetting(forward_lag(round, self._round))),
            mean=self._mean,
            explained=self._explained,
            rows=self._V[: self._used],
            dense=self._R0,
            factor=self._g,
        )

    def observe(self, point: Point, value: float, round: float) -> None:
        """Condition on an answer: a rank-one update, O(m) and a share of a matrix product."""
        index = int(point)
        now = self.posterior(round)
        p = now.column(index)
        S = max(p[index], 0.0) + max(self.parameters.noise, JITTER * self.parameters.scale)
        surprise = value - self.parameters.mean - now.fade * self._mean[index]
        self._mean = now.fade * self._mean + p * (surprise / S)
        self._explained = now.fade**2 * self._explained + p * p / S
        self._scale_factor(now.fade**2)
        self._V[self._used] = p / np.sqrt(S * self._g)
        self._used += 1
        if self._used == len(self._V):
            self._fold()
        self._round = float(round)
        if self._answers is not None:
            self._answers.append((index, float(value), self._round))
            if len(self._answers) > REPLAY:
                self._answers = None

    def observe_all(self, points: Points, values: Array, rounds: Array) -> None:
        """Condition on several answers, one by one."""
        for point, value, round in zip(points, values, rounds, strict=True):
            self.observe(point, float(value), float(round))

    def _scale_factor(self, by: float) -> None:
        self._g *= by
        if self._g < TINY:
            self._V = self._V * np.sqrt(self._g)
            if self._R0 is not None:
                self._R0 = self._R0 * self._g
            self._g = 1.0

    def _fold(self) -> None:
        """R0 += V'V; new arrays, so that posteriors handed out stay as they were."""
        R0 = self._V.T @ self._V  # NumPy sees the transpose: half the work, exactly symmetric
        if self._R0 is not None:
            R0 += self._R0
        self._R0 = R0
        self._V = np.empty_like(self._V)
        self._used = 0

    def state_dict(self) -> dict[str, Any]:
        """The answers while they are few, else the arrays in base64."""
        if self._answers is not None:
            return {"answers": [list(answer) for answer in self._answers]}
        m = len(self.features)
        R0 = np.zeros((m, m)) if self._R0 is None else self._R0
        return {
            "round": self._round,
            "g": self._g,
            "mean": pack(self._mean),
            "explained": pack(self._explained),
            "rows": self._used,
            "V": pack(self._V[: self._used]),
            "R0": pack(R0[np.tril_indices(m)]),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of :meth:`state_dict`, bit for bit."""
        self._clear()
        if "answers" in state:
            for index, value, round in state["answers"]:
                self.observe(index, value, round)
            return
        m = len(self.features)
        lower = np.tril_indices(m)
        self._answers = None
        self._round, self._g = float(state["round"]), float(state["g"])
        self._mean = unpack(state["mean"], (m,))
        self._explained = unpack(state["explained"], (m,))
        self._used = int(state["rows"])
        self._V[: self._used] = unpack(state["V"], (self._used, m))
        self._R0 = np.zeros((m, m))
        self._R0[lower] = unpack(state["R0"], (m * (m + 1) // 2,))
        self._R0.T[lower] = self._R0[lower]
