r"""L-BFGS-B over many starts at once: each evaluation is one vectorised call for all of them.

Limited-memory BFGS within bounds (Byrd et al. 1995; the projected path and the held variables are
Bertsekas 1982). Every start has its own memory, line search and end. In each turn all of them try
one step; those whose step is accepted get a new direction, the others a shorter step, and nobody
waits for anybody's line search.

Shapes: ``s`` starts, ``d`` variables, ``m`` pairs of memory, the newest first: ``X`` (s, d), ``S``
and ``Y`` (m, s, d), ``rho`` (m, s); a pair with ``rho = 0`` is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from midrun.belief.kernels import Array

Objective: TypeAlias = Callable[[Array], tuple[Array, Array]]  # (s, d) -> values (s,), grads (s, d)

MEMORY = 6
ARMIJO = 1e-4
SHORTEST = 1e-8  # a step shorter than this share of the first trial ends a start


@dataclass
class _Climbers:
    """The starts that are still on their way; row i of each array belongs to one of them."""

    row: npt.NDArray[np.intp]  # (s,) place in the result
    X: Array  # (s, d)
    F: Array  # (s,) value, minimised
    G: Array  # (s, d)
    low: Array  # (s, d)
    high: Array  # (s, d)
    direction: Array  # (s, d)
    length: Array  # (s,)
    gamma: Array  # (s,) scale of the first guess of the inverse Hessian
    S: Array  # (m, s, d)
    Y: Array  # (m, s, d)
    rho: Array  # (m, s)

    def keep(self, on: npt.NDArray[np.bool_]) -> None:
        """Let the others go."""
        for field in fields(self):
            array = getattr(self, field.name)
            on_axis_1 = field.name in ("S", "Y", "rho")
            setattr(self, field.name, array[:, on] if on_axis_1 else array[on])


def maximize(
    objective: Objective,
    X: Array,
    low: Array,
    high: Array,
    *,
    turns: int = 100,
    flat: float = 1e-3,
    gain: float = 1e-8,
    merge: float = 0.01,
    spread: float | None = None,
) -> tuple[Array, Array]:
    """Climb from every start to a local maximum within [low, high].

    Args:
        objective: Values and gradients of a batch of points.
        X: The starts, (s, d).
        low: Lower bounds, (d,) or (s, d).
        high: Upper bounds, (d,) or (s, d).
        turns: Most evaluations of any start.
        flat: A start has arrived when its free gradient is below this, per unit of the box, in
            units of the spread of values over the starts. (Where a peak is a tenth of the box
            wide, 1e-3 leaves some 1e-8 of the spread to gain.)
        gain: It has also arrived when a step gains less than this, in the same units.
        merge: A start this close to a better one follows it and is given up.
        spread: The unit of values; by default their range over the starts.

    Returns:
        End points (s, d) and their values (s,).

    Example:
        >>> bowl = lambda X: (-((X - 0.3) ** 2).sum(axis=1), -2 * (X - 0.3))
        >>> ends, _ = maximize(bowl, np.array([[0.9, 0.1], [0.0, 1.0]]), np.zeros(2), np.ones(2))
        >>> ends.round(6).tolist()
        [[0.3, 0.3], [0.3, 0.3]]
    """
    s, d = X.shape
    X = np.clip(X, low, high)
    value, gradient = objective(X)
    if spread is None:
        spread = max(float(np.ptp(value)), 1e-9 * float(np.abs(value).max()), 1e-300)
    # First step: a tenth of the box at most, and no more than a unit of the spread in value.
    gamma = np.minimum(0.1, spread) / np.maximum(np.linalg.norm(gradient, axis=1), 1e-300)
    now = _Climbers(
        row=np.arange(s),
        X=X,
        F=-value,
        G=-gradient,
        low=np.broadcast_to(low, (s, d)),
        high=np.broadcast_to(high, (s, d)),
        direction=np.zeros((s, d)),
        length=np.ones(s),
        gamma=gamma,
        S=np.zeros((MEMORY, s, d)),
        Y=np.zeros((MEMORY, s, d)),
        rho=np.zeros((MEMORY, s)),
    )
    ends, best = X.copy(), -value
    arrived = _turn(now, np.arange(s), flat * spread, pairs=0)
    for turn in range(1, turns + 1):
        if turn % 5 == 0:
            arrived |= _followers(now, merge)
        now.keep(~arrived)
        if not len(now.row):
            break
        trial = np.clip(now.X + now.length[:, None] * now.direction, now.low, now.high)
        value, gradient = objective(trial)
        F, G = -value, -gradient
        expected = np.minimum(np.einsum("sd,sd->s", now.G, trial - now.X), 0.0)
        accepted = now.F + ARMIJO * expected >= F
        gained = now.F - F
        # Refused: go to the minimum of the parabola through both values and the slope.
        excess = F - now.F - expected
        shrink = np.divide(-0.5 * expected, excess, out=np.full(len(F), 0.5), where=excess > 0)
        now.length *= np.where(accepted, 1.0, np.clip(shrink, 0.1, 0.5))
        arrived = now.length < SHORTEST
        ok = np.flatnonzero(accepted)
        _remember(now, ok, trial[ok] - now.X[ok], G[ok] - now.G[ok])
        now.X[ok], now.F[ok], now.G[ok], now.length[ok] = trial[ok], F[ok], G[ok], 1.0
        ends[now.row[ok]], best[now.row[ok]] = trial[ok], F[ok]
        arrived[ok] = gained[ok] <= gain * spread
        arrived |= _turn(now, ok, flat * spread, pairs=min(turn, MEMORY))
    return ends, -best


def _remember(now: _Climbers, ok: npt.NDArray[np.intp], moved: Array, turned: Array) -> None:
    """Push a pair for each accepted step; one without curvature counts for nothing."""
    curvature = np.einsum("sd,sd->s", moved, turned)
    norm = np.einsum("sd,sd->s", turned, turned)
    length = np.einsum("sd,sd->s", moved, moved)
    good = curvature > 1e-12 * np.sqrt(norm * length)
    for memory, new in ((now.S, moved), (now.Y, turned)):
        memory[1:, ok] = memory[:-1, ok]
        memory[0, ok] = new
    now.rho[1:, ok] = now.rho[:-1, ok]
    now.rho[0, ok] = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=good)
    now.gamma[ok[good]] = curvature[good] / norm[good]


def _turn(
    now: _Climbers, ok: npt.NDArray[np.intp], flat: float, pairs: int
) -> npt.NDArray[np.bool_]:
    """New directions for some starts; True where the free gradient is flat, (s,)."""
    X, G = now.X[ok], now.G[ok]
    held = ((now.low[ok] >= X) & (G > 0)) | ((now.high[ok] <= X) & (G < 0))
    free = np.where(held, 0.0, G)
    S, Y, rho, gamma = now.S[:, ok], now.Y[:, ok], now.rho[:, ok], now.gamma[ok, None]
    # The inverse Hessian of memory times the gradient, in two loops (Nocedal 1980).
    q = free.copy()
    alpha = np.zeros_like(rho)
    for i in range(pairs):
        alpha[i] = rho[i] * np.einsum("sd,sd->s", S[i], q)
        q -= alpha[i][:, None] * Y[i]
    q *= gamma
    for i in reversed(range(pairs)):
        q += (alpha[i] - rho[i] * np.einsum("sd,sd->s", Y[i], q))[:, None] * S[i]
    direction = np.where(held, 0.0, -q)
    uphill = np.einsum("sd,sd->s", direction, free) >= 0.0
    now.direction[ok] = np.where(uphill[:, None], -gamma * free, direction)
    arrived = np.zeros(len(now.row), dtype=bool)
    arrived[ok] = np.abs(free).max(axis=1) <= flat
    return arrived


def _followers(now: _Climbers, merge: float) -> npt.NDArray[np.bool_]:
    """True for starts that have come close to a better one, (s,)."""
    close = np.square(now.X[:, None, :] - now.X[None, :, :]).sum(axis=2) < merge**2
    worse = (now.F[:, None] > now.F[None, :]) | (
        (now.F[:, None] == now.F[None, :]) & (now.row[:, None] > now.row[None, :])
    )
    follows: npt.NDArray[np.bool_] = (close & worse).any(axis=1)
    return follows
