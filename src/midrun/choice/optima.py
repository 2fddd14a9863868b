"""All local optima of an acquisition surface on a continuous or mixed space.

The paper's way: many random starts (and the last round's optima), L-BFGS from each, and close end
points merged by mean shift. Integers, ordinals and categories are moved one at a time, in turn
with the continuous ones; few categories are enumerated by the starts.

Shapes: ``X`` (s, d) rows of the unit cube, always at values that exist (``space.snap``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from midrun.belief.kernels import Array
from midrun.choice.lbfgs import maximize
from midrun.space import Space

STARTS = 50
BANDWIDTH = 0.2
COVER = 256  # points that stand for the whole cube
MOVED = 20  # rows that are climbed again after a discrete move
BEST = 8  # starts of a search for the best point alone
TURNS = 100  # most evaluations of a climb
SWEEPS = 8  # most turns of discrete moves
CHUNK = 4096  # rows evaluated at once


class SmoothSurface(Protocol):
    """A surface with gradients."""

    def __call__(self, X: Array) -> Array:
        """Values at rows, (n,)."""
        ...

    def with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Values (n,) and gradients (n, d); zero along what is not continuous."""
        ...


@dataclass(frozen=True)
class BoxOptima:
    """The optima found: one per mode, the best first."""

    modes: Array  # (k, d)
    values: Array  # (k,)

    @property
    def point(self) -> Array:
        """The best point found, (d,)."""
        return self.modes[0]

    @property
    def value(self) -> float:
        """Its value."""
        return float(self.values[0])


class Box:
    """The unit cube of a space, some of whose coordinates take only certain values.

    Args:
        space: Which coordinates are continuous, stepped or categorical.
        starts: Random starts of a search.
        bandwidth: End points closer than this are one mode.

    Example:
        >>> space = Space({"x": (0.0, 1.0), "n": (0, 4)})
        >>> class Bump:
        ...     def __call__(self, X):
        ...         return -((X - [0.3, 0.5]) ** 2).sum(axis=1)
        ...
        ...     def with_gradient(self, X):
        ...         return self(X), -2 * (X - [0.3, 0.5]) * [1, 0]
        >>> found = Box(space).search(Bump(), np.random.default_rng(0))
        >>> found.point.round(4)
        array([0.3, 0.5])
    """

    size = None

    def __init__(self, space: Space, starts: int = STARTS, bandwidth: float = BANDWIDTH) -> None:
        self._space = space
        self._starts = starts
        self._bandwidth = bandwidth
        self._stepped = space.levels > 0
        fixed = np.random.default_rng(0)  # the cover is the same for every tuner
        self.cover: Array = np.unique(space.snap(latin(COVER, space.d, fixed)), axis=0)

    def search(
        self,
        surface: SmoothSurface,
        rng: np.random.Generator,
        *,
        warm: Any = None,
        within: Any = None,
        best_only: bool = False,
    ) -> BoxOptima:
        """Climb from all starts and keep one point per mode.

        Args:
            surface: What to maximise.
            rng: For the random starts.
            warm: More starts, (w, d): the last round's optima.
            within: Lower and upper corner of a smaller box, (d,) each; categories stay free.
            best_only: Climb only from the best few of the starts and of the cover.
        """
        low, high = (np.zeros(self._space.d), np.ones(self._space.d)) if within is None else within
        X = self._random_starts(self._starts, rng)
        if best_only:
            X = np.concatenate([X, self.cover])
        if within is not None:
            X = low + X * (high - low)
        if warm is not None and len(warm):
            X = np.concatenate([np.clip(warm, low, high), X])
        X = self._inside(self._space.snap(X), low, high)
        values = surface(X)
        if best_only:
            best = np.argsort(-values, kind="stable")[:BEST]
            X, values = X[best], np.append(values[best], values.min())
        spread = max(float(np.ptp(values)), 1e-9 * float(np.abs(values).max()), 1e-300)
        on: npt.NDArray[Any] = np.arange(len(X))  # rows that may still get better
        for _ in range(SWEEPS):
            if not self._stepped.all():
                # What is stepped stays where it is: its bounds are its value.
                floor = np.where(self._stepped, X[on], low)
                ceiling = np.where(self._stepped, X[on], high)
                X[on], _ = maximize(
                    surface.with_gradient,
                    X[on],
                    floor,
                    ceiling,
                    spread=spread,
                    turns=TURNS // 4 if best_only else TURNS,
                )
            if not self._stepped.any():
                break
            X[on], scores, moved = self._sweep(surface, X[on], low, high)
            # Only the best of what moved is climbed again: a mode is as good as its best member.
            best = np.argsort(-scores[moved], kind="stable")[:MOVED]
            on = on[moved][best]
            if not len(on):
                break
        values = surface(X)  # as any other point is valued, not through the precision
        kept = mean_shift(X, values, self._bandwidth, self._space.categorical)
        return BoxOptima(X[kept], values[kept])

    def _random_starts(self, n: int, rng: np.random.Generator) -> Array:
        """A Latin hypercube; all combinations of categories in turn if they are few."""
        X = latin(n, self._space.d, rng)
        columns = np.flatnonzero(self._space.categorical)
        counts = self._space.levels[columns]
        combinations = float(np.prod(counts.astype(float)))
        if len(columns) and combinations <= n / 2:
            turn = rng.permutation(np.arange(n) % int(combinations))
            codes = np.stack(np.unravel_index(turn, tuple(counts)), axis=1)
            X[:, columns] = codes / (counts - 1.0)
        return X

    def _inside(self, X: Array, low: Array, high: Array) -> Array:
        """Step back into the box where rounding to a level has left it."""
        X = X.copy()
        for sign, out in ((-1.0, high < X), (1.0, low > X)):
            position = self._space.positions(X)
            move = out & self._stepped & ~self._space.categorical
            X = np.where(move, self._space.units(position + sign * move), X)
        return X

    def _sweep(
        self, surface: SmoothSurface, X: Array, low: Array, high: Array
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """The best single move of a stepped coordinate for every row: rows, values, who moved."""
        position = self._space.positions(X)
        rows, trials = [], []
        for j in np.flatnonzero(self._stepped):
            for level in self._levels_to_try(int(j), position[:, j]):
                trial = position.copy()
                trial[:, j] = level
                unit = self._space.units(trial)
                allowed = (level != position[:, j]) & (unit[:, j] >= low[j] - 1e-12)
                allowed &= unit[:, j] <= high[j] + 1e-12
                rows.append(np.flatnonzero(allowed))
                trials.append(unit[allowed])
        row, trial = np.concatenate([np.arange(len(X)), *rows]), np.concatenate([X, *trials])
        scores = np.concatenate(
            [surface(trial[i : i + CHUNK]) for i in range(0, len(trial), CHUNK)]
        )
        values = scores[: len(X)]
        order = np.lexsort((-scores, row))  # the best move of each row first
        first = order[np.unique(row[order], return_index=True)[1]]
        better = first[scores[first] > values[row[first]] + 1e-12 * np.ptp(values)]
        X, values, moved = X.copy(), values.copy(), np.zeros(len(X), dtype=bool)
        X[row[better]], values[row[better]] = trial[better], scores[better]
        moved[row[better]] = True
        return X, values, moved

    def _levels_to_try(self, j: int, position: Array) -> list[Array]:
        """Levels of coordinate j for each row: all if they are few, else steps of 1, 2, 4, ..."""
        count = int(self._space.levels[j])
        if self._space.categorical[j] or count <= 16:
            return [np.full_like(position, level) for level in range(count)]
        steps = 2.0 ** np.arange(0, np.log2(count))
        return [np.clip(position + s, 0, count - 1) for s in (*steps, *-steps)]


def latin(n: int, d: int, rng: np.random.Generator) -> Array:
    """A Latin hypercube: n rows in [0, 1]^d, each n-th of every axis hit once."""
    strata = np.stack([rng.permutation(n) for _ in range(d)], axis=1)
    sample: Array = (strata + rng.random((n, d))) / n
    return sample


def mean_shift(
    points: Array,
    values: Array,
    bandwidth: float,
    categorical: npt.NDArray[np.bool_] | None = None,
) -> npt.NDArray[np.intp]:
    """Merge close points: each drifts to the mean of its neighbours until it rests (flat kernel).

    Points that come to rest together are one mode, and its best member stands for it. Points that
    differ in a category are never neighbours.

    Returns:
        Indices of the representatives, the best first.

    Example:
        >>> points = np.array([[0.1], [0.12], [0.5], [0.55]])
        >>> mean_shift(points, np.array([1.0, 2.0, 4.0, 3.0]), bandwidth=0.2)
        array([2, 1])
    """
    if categorical is not None and categorical.any():
        unequal = points[:, None, categorical] != points[None, :, categorical]
        same = ~unequal.any(axis=2)
        numeric = points[:, ~categorical]
    else:
        same, numeric = np.ones((len(points), len(points)), dtype=bool), points
    centre, before = numeric, np.zeros_like(same)
    for _ in range(100):
        near = same & (_squared_distances(centre, numeric) <= bandwidth**2)
        near[np.diag_indices(len(points))] = True
        if np.array_equal(near, before):  # the same neighbours have the same mean
            break
        centre, before = (near @ numeric) / near.sum(axis=1)[:, None], near
    together = same & (_squared_distances(centre, centre) <= bandwidth**2)
    kept: list[int] = []
    for i in np.argsort(-values, kind="stable"):
        if not together[i, kept].any():
            kept.append(int(i))
    return np.array(kept, dtype=np.intp)


def _squared_distances(A: Array, B: Array) -> Array:
    return np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1) - 2.0 * A @ B.T
