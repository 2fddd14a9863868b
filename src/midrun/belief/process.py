r"""The exact posterior from the answers themselves: a growing, windowed Cholesky factor.

Equations 1-2 in the space of answers. The Gram matrix of kept answers,
:math:`\tilde K_{ij} = s^2 k(x_i, x_j) k(t_i, t_j)`, does not change because time passes, so an
answer appends one row to the factor, O(n^2), and a skipped round costs nothing. Serves every
space, and every kernel in time.

Kept are :math:`W = L^{-1}`, where :math:`L L^T = \tilde K + \sigma^2 I`, and the precision
:math:`P = W^T W`: then a posterior is matrix products and no solve. Names and shapes: ``X`` (n, d),
``times`` (n,), ``W`` (n, n) lower, ``P`` (n, n), ``z`` (n,) is :math:`L^{-1}(y - m)`, a
cross-covariance ``k`` is (q, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from midrun.belief.forgetting import Forgetting, forward_lag
from midrun.belief.kernels import Array, Kernel
from midrun.belief.packing import pack, unpack
from midrun.belief.posterior import Point, Points
from midrun.belief.prior import JITTER, Parameters

CAP = 512  # most answers kept; the oldest quarter goes when it is reached
FADED = 1e-12  # answers whose correlation with now is below this are dropped
BATCH = 32  # faded answers dropped at once: a drop costs a new factor


@dataclass
class Dropped:
    """What the window cost: change of the posterior at the kept points, measured at each drop.

    It only fades afterwards. ``mean`` and ``std`` are the largest changes seen, in reward units.
    """

    count: int = 0
    mean: float = 0.0
    std: float = 0.0


@dataclass(frozen=True)
class ProcessPosterior:
    """A frozen view of one :class:`Process` at one round, or of a bank of b on the same answers.

    For a bank every array but ``X`` has a leading axis of length b, and so has every result.
    """

    kernel: Kernel
    scale: Array  # ()
    mean: Array  # ()
    fade: Array  # (n,) correlation in time of each answer with the round
    X: Array  # (n, d)
    W: Array  # (n, n)
    P: Array  # (n, n)
    z: Array  # (n,)
    features: Array | None  # (m, d) of a finite set

    @classmethod
    def stack(cls, views: Sequence[ProcessPosterior]) -> ProcessPosterior:
        """A bank of views that were told the same."""
        first = views[0]
        lengthscale = np.array([view.kernel.lengthscale for view in views])
        kernel = Kernel(first.kernel.name, lengthscale, first.kernel.categorical)
        names = ("scale", "mean", "fade", "W", "P", "z")
        arrays = {name: np.array([getattr(view, name) for view in views]) for name in names}
        return cls(kernel=kernel, X=first.X, features=first.features, **arrays)

    @property
    def prior_std(self) -> float:
        """Standard deviation of f where nothing is known."""
        return float(np.sqrt(self.scale))

    @cached_property
    def remembered(self) -> float:
        """Largest share of the prior variance that the answers still explain, where asked last."""
        if not len(self.X):
            return 0.0
        v = self._cross(self.X[-8:]) @ self.W.swapaxes(-1, -2)
        return float(np.square(v).sum(axis=-1).max() / self.scale)

    def _rows(self, points: Points) -> Array:
        return points if self.features is None else self.features[points]

    @cached_property
    def _weight(self) -> Array:
        """What turns a correlation into a covariance with each answer, (1, n)."""
        weight: Array = (self.scale[..., None] * self.fade)[..., None, :]
        return weight

    def _cross(self, X: Array) -> Array:
        k: Array = self.kernel(X, self.X)  # (q, n)
        k *= self._weight
        return k

    @cached_property
    def _scaled(self) -> tuple[Array, Array]:
        return self.kernel.scaled(self.X)

    @cached_property
    def alpha(self) -> Array:
        """Weights of the mean, K^-1 (y - m), (n,)."""
        weights: Array = (self.z[..., None, :] @ self.W)[..., 0, :]
        return weights

    def marginal(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation at each point."""
        return self.marginal_of_rows(self._rows(points))

    def marginal_of_rows(self, X: Array) -> tuple[Array, Array]:
        """The same for rows as the kernel sees them, (q, d)."""
        v = self._cross(X) @ self.W.swapaxes(-1, -2)  # (q, n)
        mean = self.mean[..., None] + (v @ self.z[..., None])[..., 0]  # eq. 1
        variance = self.scale[..., None] - np.square(v).sum(axis=-1)  # eq. 2
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Mean and std at rows (q, d), and their gradients by the row, each (q, d).

        Through the precision: half the work of :meth:`marginal`, and a few digits fewer.
        """
        scale = self.scale[..., None]
        k, slope = self.kernel.with_slope(X, self.X, self._scaled)  # (q, n)
        k *= self._weight
        slope *= 2.0 * self._weight
        w = k @ self.P  # (q, n)
        mean = self.mean[..., None] + (k @ self.alpha[..., None])[..., 0]
        # The floor keeps rounding from making the slope of a root infinite.
        std = np.sqrt(np.maximum(scale - (k * w).sum(axis=-1), 1e-12 * scale))
        dmean = self._pull(X, slope * self.alpha[..., None, :])
        dstd = self._pull(X, slope * w) / -std[..., None]
        return mean, std, dmean, dstd

    def mean_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """The mean alone, O(n) a row: (q,) and (q, d)."""
        k, slope = self.kernel.with_slope(X, self.X, self._scaled)
        weight = self._weight * self.alpha[..., None, :]
        mean = self.mean[..., None] + (k * weight).sum(axis=-1)
        return mean, self._pull(X, 2.0 * slope * weight)

    def _pull(self, X: Array, weight: Array) -> Array:
        """What the slopes of the answers' correlations, so weighted, do at each row, (q, d)."""
        return self._pull_to(self.X, X, weight)

    def _pull_to(self, Z: Array, X: Array, weight: Array) -> Array:
        """sum_i weight_qi (x_qj - Z_ij) / l_j^2, zero for categories, (q, d)."""
        pull = weight.sum(axis=-1)[..., None] * X - weight @ Z
        pull /= np.square(self.kernel.lengthscale)[..., None, :]
        pull[..., self.kernel.categorical] = 0.0
        return pull

    def covariance(self, points: Points, point: Point) -> Array:
        """Posterior covariance of each point with one point, eq. 2."""
        rows, one = self._rows(points), self._rows(np.asarray(point)[None])
        prior = self.scale[..., None] * self.kernel(rows, one)[..., 0]
        v, v_one = (self._cross(X) @ self.W.swapaxes(-1, -2) for X in (rows, one))
        return prior - (v @ v_one.swapaxes(-1, -2))[..., 0]

    def covariance_with_gradient(self, X: Array, point: Point) -> tuple[Array, Array]:
        """Posterior covariance of rows with one row (q,), and its gradient by the rows (q, d)."""
        one = np.asarray(point)[None]
        scale = self.scale[..., None, None]
        weight = (self._cross(one) @ self.P) * self._weight  # (1, n)
        k, slope = self.kernel.with_slope(X, self.X, self._scaled)
        k_one, slope_one = self.kernel.with_slope(X, one)  # (q, 1)
        covariance = (scale * k_one)[..., 0] - (k * weight).sum(axis=-1)
        slope *= -2.0 * weight
        return covariance, self._pull(X, slope) + self._pull_to(one, X, 2.0 * scale * slope_one)

    def correlation(self, points: Points, point: Point) -> Array:
        """Prior correlation in space of each point with one point."""
        rows, one = self._rows(points), self._rows(np.asarray(point)[None])
        return self.kernel(rows, one)[..., 0]


class Process:
    """Posterior of a drifting function from a window of answers; see the module's text.

    Args:
        kernel: Correlation in space.
        forgetting: Correlation in time.
        parameters: Output scale, noise and mean.
        features: Given for a finite set: what the kernel sees of each candidate, (m, d); points
            are then indices. Else points are rows.
        cap: Most answers kept.

    Example:
        >>> from midrun.belief.forgetting import Markov
        >>> kernel = Kernel("se", np.array([0.3]), np.array([False]))
        >>> process = Process(kernel, Markov(0.5), Parameters(scale=1.0, noise=0.25, mean=0.0))
        >>> process.observe(np.array([0.0]), 2.0, round=1)
        >>> mean, std = process.posterior(3).marginal(np.array([[0.0]]))
        >>> mean.round(3), (std**2).round(3)
        (array([0.8]), array([0.8]))
    """

    def __init__(
        self,
        kernel: Kernel,
        forgetting: Forgetting,
        parameters: Parameters,
        features: Array | None = None,
        cap: int = CAP,
    ) -> None:
        self.kernel = kernel
        self.forgetting = forgetting
        self.parameters = parameters
        self.features = features
        self.cap = cap
        self.dropped = Dropped()
        d = len(kernel.lengthscale)
        self._X = np.empty((cap, d))
        self._times = np.empty(cap)
        self._y = np.empty(cap)
        self._z = np.empty(cap)
        self._W = np.zeros((cap, cap))
        self._P: Array = np.zeros((0, 0))
        self._n = 0
        self._base = 0  # answers in the window when the factor was last made anew

    def __len__(self) -> int:
        """Answers kept."""
        return self._n

    def rows(self, points: Points) -> Array:
        """What the kernel sees of some points, (q, d)."""
        return points if self.features is None else self.features[points]

    @property
    def _last(self) -> float | None:
        return float(self._times[self._n - 1]) if self._n else None

    def posterior(self, round: float) -> ProcessPosterior:
        """The belief at a round not before the last answer."""
        forward_lag(round, self._last)
        n = self._n
        # Appending writes beyond these views, dropping makes new arrays: a posterior stays valid.
        fade = self.forgetting(round - self._times[:n])
        return ProcessPosterior(
            kernel=self.kernel,
            scale=np.array(self.parameters.scale),
            mean=np.array(self.parameters.mean),
            fade=fade,
            X=self._X[:n],
            W=self._W[:n, :n],
            P=self._P,
            z=self._z[:n],
            features=self.features,
        )

    def observe(self, point: Point, value: float, round: float) -> None:
        """Condition on an answer: one row of W, O(n^2)."""
        now = self.posterior(round)
        self._make_room(now, round)
        self._append(self.rows(np.asarray(point)[None])[0], float(value), float(round))

    def observe_all(self, points: Points, values: Array, rounds: Array) -> None:
        """Condition on several answers; at once, through one factor, if there were none before."""
        if self._n == 0 and len(values):
            self._refactor(self.rows(points), rounds, values)
            return
        for point, value, round in zip(points, values, rounds, strict=True):
            self.observe(point, float(value), float(round))

    @property
    def _noise(self) -> float:
        return max(self.parameters.noise, JITTER * self.parameters.scale)

    def _append(self, x: Array, value: float, round: float) -> None:
        n = self._n
        W = self._W[:n, :n]
        k = self.kernel(x[None], self._X[:n])[0] * self.forgetting(round - self._times[:n])
        k *= self.parameters.scale
        row = W @ k  # the new row of L, left of its diagonal
        pivot = self.parameters.scale + self._noise - row @ row
        # Exact arithmetic keeps the pivot at or above the noise; rounding must not undercut it.
        pivot = np.sqrt(max(pivot, self._noise))
        self._W[n, :n] = -(row @ W) / pivot
        self._W[n, n] = 1.0 / pivot
        new = self._W[n, : n + 1]
        P = new[:, None] * new
        P[:n, :n] += self._P
        self._P = P
        self._z[n] = (value - self.parameters.mean - row @ self._z[:n]) / pivot
        self._X[n], self._times[n], self._y[n] = x, round, value
        self._n += 1

    def _make_room(self, now: ProcessPosterior, round: float) -> None:
        """Drop answers that have faded, and the oldest quarter when the window is full."""
        n = self._n
        gone = int(np.count_nonzero(now.fade < FADED))  # times increase: these are the first
        if n == self.cap:
            gone = max(gone, n // 4)
        elif gone < BATCH:
            return
        X, times, y = self._X[gone:n], self._times[gone:n], self._y[gone:n]
        before = now.marginal_of_rows(X)
        self._refactor(X, times, y)
        after = self.posterior(round).marginal_of_rows(X)
        self.dropped.count += gone
        if len(X):
            self.dropped.mean = max(self.dropped.mean, float(np.abs(after[0] - before[0]).max()))
            self.dropped.std = max(self.dropped.std, float(np.abs(after[1] - before[1]).max()))

    def _refactor(self, X: Array, times: Array, y: Array) -> None:
        n = len(X)
        gram = self.parameters.scale * self.kernel(X, X)
        gram *= self.forgetting(times[:, None] - times[None, :])
        gram[np.diag_indices(n)] += self._noise
        try:
            L = cholesky(gram, lower=True)
        except LinAlgError as error:
            raise LinAlgError(
                f"the Gram matrix of {n} answers is not positive definite with "
                f"noise={self.parameters.noise:g}. Answers at (nearly) the same point and round "
                "need noise: give the belief a larger `noise`, or leave it out to have it learned."
            ) from error
        for name in ("_X", "_times", "_y", "_z", "_W"):
            setattr(self, name, np.zeros_like(getattr(self, name)))
        self._W[:n, :n] = solve_triangular(L, np.eye(n), lower=True)
        self._P = self._W[:n, :n].T @ self._W[:n, :n]
        self._z[:n] = self._W[:n, :n] @ (y - self.parameters.mean)
        self._X[:n], self._times[:n], self._y[:n] = X, times, y
        self._n = self._base = n

    def state_dict(self) -> dict[str, Any]:
        """The answers kept; the factor follows from them by the same steps, bit for bit."""
        n = self._n
        return {
            "n": n,
            "base": self._base,
            "X": pack(self._X[:n]),
            "times": pack(self._times[:n]),
            "y": pack(self._y[:n]),
            "dropped": asdict(self.dropped),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of :meth:`state_dict`."""
        n, base = int(state["n"]), int(state["base"])
        X = unpack(state["X"], (n, self._X.shape[1]))
        times, y = unpack(state["times"], (n,)), unpack(state["y"], (n,))
        self.dropped = Dropped(**state["dropped"])
        self._refactor(X[:base], times[:base], y[:base])
        for i in range(base, n):
            self._append(X[i], y[i], times[i])
