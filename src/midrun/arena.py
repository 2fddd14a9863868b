"""The two grounds a tuner plays on, behind one interface: a finite set, or a space.

An arena knows how a user's setting becomes a point and back, where points are searched, and which
model believes something about them. The tuner does not know which one it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from midrun.belief.build import continuous_model, finite_model
from midrun.belief.posterior import Model, Point, Points
from midrun.belief.prior import Belief
from midrun.candidates import Candidates
from midrun.choice.domain import Domain, Finite
from midrun.choice.optima import Box
from midrun.space import Space


class Arena(Protocol):
    """A ground to play on."""

    @property
    def domain(self) -> Domain:
        """Where points are searched."""
        ...

    @property
    def width(self) -> int:
        """Numbers per point: 0 for an index, d for a row."""
        ...

    def model(self) -> Model:
        """A fresh belief."""
        ...

    @property
    def dimensions(self) -> int:
        """Coordinates of a setting."""
        ...

    def decode(self, point: Point) -> dict[str, Any]:
        """The user's parameters of a point."""
        ...

    def encode(self, params: Mapping[str, Any]) -> Point:
        """The point of a user's parameters."""
        ...

    def find(self, params: Any) -> Points:
        """The points of several settings."""
        ...

    def near(self, point: Point, step: float) -> Any:
        """What a search is to stay within, at most ``step`` from a point in each coordinate."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        ...

    def difference(self, state: Mapping[str, Any]) -> str | None:
        """How the arena of a state differs, or None."""
        ...


class FiniteArena:
    """Candidates; a point is an index."""

    width = 0

    def __init__(self, candidates: Candidates, belief: Belief) -> None:
        self.candidates = candidates
        self.belief = belief
        self.domain = Finite(
            candidates.features,
            candidates.categorical,
            independent=belief.kernel == "independent",
        )
        self.dimensions = len(candidates.names)
        self.decode = candidates.decode
        self.encode = candidates.encode
        self.find = candidates.find

    def model(self) -> Model:
        """A fresh belief."""
        return finite_model(self.belief, self.candidates.features, self.candidates.categorical)

    def near(self, point: Point, step: float) -> Any:
        """Which candidates are within a step in units of each column's range, (m,)."""
        X = self.candidates.features
        spread = np.ptp(X, axis=0)
        away = np.abs(X - X[point]) / np.where(spread > 0, spread, 1.0)
        away[:, self.candidates.categorical] = 0.0
        return away.max(axis=1) <= step + 1e-12

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"candidates": self.candidates.to_dict()}

    def difference(self, state: Mapping[str, Any]) -> str | None:
        """How the candidates of a state differ, or None."""
        if "candidates" not in state:
            return "it has a space, not candidates"
        return self.candidates.difference(Candidates.from_dict(state["candidates"]))


class BoxArena:
    """A space; a point is a row of its unit cube."""

    def __init__(self, space: Space, belief: Belief) -> None:
        self.space = space
        self.belief = belief
        self.domain = Box(space)
        self.width = self.dimensions = space.d
        self.decode = space.decode
        self.encode = space.encode

    def model(self) -> Model:
        """A fresh belief."""
        return continuous_model(self.belief, self.space.categorical)

    def find(self, params: Any) -> Points:
        """Rows of several settings, given as dicts or as rows of the unit cube."""
        if isinstance(params, Mapping):
            params = [params]
        if isinstance(params, Sequence) and all(isinstance(p, Mapping) for p in params):
            return np.array([self.encode(p) for p in params])
        rows = np.asarray(params, dtype=np.float64)
        if rows.ndim != 2:
            raise TypeError(
                f"settings must be dicts, or rows of the unit cube of shape (n, {self.space.d}), "
                f"but got shape {rows.shape}."
            )
        return self.space.snap(rows)

    def near(self, point: Point, step: float) -> Any:
        """Corners of the box around a point; one level either way is always within reach."""
        position = self.space.positions(point)
        stepped = self.space.levels > 0
        last = np.where(stepped, self.space.levels - 1.0, 1.0)
        down, up = (
            self.space.units(np.clip(position + sign * stepped, 0.0, last)) for sign in (-1.0, 1.0)
        )
        low = np.minimum(np.where(stepped, down, point), point - step)
        high = np.maximum(np.where(stepped, up, point), point + step)
        low[self.space.categorical], high[self.space.categorical] = 0.0, 1.0
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"space": self.space.to_dict()}

    def difference(self, state: Mapping[str, Any]) -> str | None:
        """How the space of a state differs, or None."""
        if "space" not in state:
            return "it has candidates, not a space"
        return self.space.difference(Space.from_dict(state["space"]))


def arena_of(space: Any, candidates: Any, belief: Belief) -> Arena:
    """The arena of what the user gave: a space or candidates."""
    if (space is None) == (candidates is None):
        got = "neither" if space is None else "both"
        raise TypeError(
            f"give either a `space` or `candidates`, but got {got}. A space is a dict such as "
            '{"crop": (0.5, 1.0), "optim": ["sgd", "adam"]}.'
        )
    if space is not None:
        return BoxArena(Space.of(space), belief)
    given = candidates if isinstance(candidates, Candidates) else Candidates(candidates)
    return FiniteArena(given, belief)
