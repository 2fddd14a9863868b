r"""L-BFGS-B over many starts at once: each evaluation is one vectorised call for all of them.

BFGS within bounds (Byrd et al. 1995; the projected path and the held variables are Bertsekas
1982). Every start has its own curvature, line search and end. In each turn all of them try one
step; those whose step is accepted get a new direction, the others a shorter step, and nobody waits
for anybody's line search. A space of hyperparameters has few variables, so the memory of each start
is kept as the inverse Hessian itself, which is cheaper here than a list of pairs.

Shapes: ``s`` starts, ``d`` variables: ``X`` and ``G`` (s, d), ``F`` (s,), ``H`` (s, d, d).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from midrun.belief.kernels import Array

Objective: TypeAlias = Callable[[Array], tuple[Array, Array]]  # (s, d) -> values (s,), grads (s, d)
Mask: TypeAlias = npt.NDArray[np.bool_]

ARMIJO = 1e-4
LAG = 0.03
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
    H: Array  # (s, d, d), inverse Hessian
    fresh: Mask  # (s,) whether H is still a first guess

    def keep(self, on: Mask) -> None:
        """Let the others go."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)[on])


def maximize(
    objective: Objective,
    X: Array,
    low: Array,
    high: Array,
    *,
    turns: int = 100,
    patience: int = 12,
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
        patience: After so many turns only starts within LAG of the spread of the best one
            go on; the others stay where they are.
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
        H=gamma[:, None, None] * np.eye(d),
        fresh=np.ones(s, dtype=bool),
    )
    ends, best = X.copy(), -value
    everyone = np.ones(s, dtype=bool)
    arrived = _turn(now, everyone, flat * spread)
    for turn in range(1, turns + 1):
        if turn % 5 == 0:
            arrived |= _followers(now, merge)
        if turn > patience:  # stragglers are near their peak: only what may be the best goes on
            arrived |= best.min() + LAG * spread < now.F
        if arrived.any():
            now.keep(~arrived)
            if not len(now.row):
                break
        trial = np.clip(now.X + now.length[:, None] * now.direction, now.low, now.high)
        value, gradient = objective(trial)
        F, G, moved = -value, -gradient, trial - now.X
        expected = np.minimum((now.G * moved).sum(axis=1), 0.0)
        gained = now.F - F
        ok = gained >= -ARMIJO * expected
        if not ok.all():
            # Refused: go to the minimum of the parabola through both values and the slope.
            excess = -gained - expected
            shrink = np.divide(-0.5 * expected, excess, out=np.full(len(F), 0.5), where=excess > 0)
            now.length *= np.where(ok, 1.0, np.clip(shrink, 0.1, 0.5))
        arrived = now.length < SHORTEST
        _remember(now, ok, moved, G - now.G)
        now.X[ok], now.F[ok], now.G[ok], now.length[ok] = trial[ok], F[ok], G[ok], 1.0
        ends[now.row[ok]], best[now.row[ok]] = trial[ok], F[ok]
        arrived |= ok & (gained <= gain * spread)
        arrived |= _turn(now, ok, flat * spread)
    return ends, -best


def _remember(now: _Climbers, ok: Mask, moved: Array, turned: Array) -> None:
    """The BFGS update of H for accepted steps; one without curvature teaches nothing."""
    turned = np.where(moved == 0.0, 0.0, turned)  # of a variable that was held, nothing is learnt
    curvature = (moved * turned).sum(axis=1)
    norm = (turned * turned).sum(axis=1)
    good = ok & (curvature > 1e-12 * np.sqrt(norm * (moved * moved).sum(axis=1)))
    new = good & now.fresh
    if new.any():  # the first pair gives the scale of the guess
        now.H[new] = (curvature[new] / norm[new])[:, None, None] * np.eye(moved.shape[1])
        now.fresh[new] = False
    p, y, sy = moved[good], turned[good], curvature[good, None]
    H = now.H[good]
    Hy = (H @ y[:, :, None])[:, :, 0] / sy
    p_scaled = p * (0.5 * (1.0 + (y * Hy).sum(axis=1, keepdims=True)) / sy) - Hy
    H += p_scaled[:, :, None] * p[:, None, :]
    H += p[:, :, None] * p_scaled[:, None, :]
    now.H[good] = H


def _turn(now: _Climbers, ok: Mask, flat: float) -> Mask:
    """New directions where ``ok``; True where the free gradient is flat, (s,)."""
    held = ((now.low >= now.X) & (now.G > 0)) | ((now.high <= now.X) & (now.G < 0))
    free = np.where(held, 0.0, now.G)
    newton = np.where(held, 0.0, -(now.H @ free[:, :, None])[:, :, 0])
    uphill = (newton * free).sum(axis=1) >= 0.0
    if uphill.any():
        slope = np.maximum(np.linalg.norm(free, axis=1), 1e-300)
        newton = np.where(uphill[:, None], -0.1 * free / slope[:, None], newton)
    now.direction = np.where(ok[:, None], newton, now.direction)
    return ok & (np.abs(free).max(axis=1) <= flat)


def _followers(now: _Climbers, merge: float) -> Mask:
    """True for starts that have come close to a better one, (s,)."""
    close = np.square(now.X[:, None, :] - now.X[None, :, :]).sum(axis=2) < merge**2
    worse = (now.F[:, None] > now.F[None, :]) | (
        (now.F[:, None] == now.F[None, :]) & (now.row[:, None] > now.row[None, :])
    )
    follows: Mask = (close & worse).any(axis=1)
    return follows
