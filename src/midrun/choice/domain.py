"""Where a surface is searched: its best point, with ties broken by chance, and its other modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from midrun.belief.kernels import Array
from midrun.belief.posterior import Optima, Points
from midrun.choice.neighbours import Edges, edges_of, local_optima


class Domain(Protocol):
    """A set of points with a search over it."""

    @property
    def size(self) -> int | None:
        """Number of points, None if it is not finite."""
        ...

    @property
    def cover(self) -> Points:
        """Points that stand for the whole domain: all of a finite set."""
        ...

    def search(
        self,
        surface: Any,
        rng: np.random.Generator,
        *,
        warm: Any = None,
        within: Any = None,
        best_only: bool = False,
    ) -> Optima:
        """Optima of a surface, a function of points.

        Args:
            surface: What to maximise; with gradients where the domain is continuous.
            rng: Breaks ties, and places random starts.
            warm: The modes of an earlier search, to start from as well.
            within: Where to stay, as the arena's ``near`` gives it.
            best_only: The other modes are not of interest; a cheaper search will do.
        """
        ...


@dataclass(frozen=True)
class FiniteOptima:
    """Optima among candidates; the modes are looked for when first asked for."""

    point: int
    value: float
    values: Array  # (m,)
    edges: Edges | None
    within: npt.NDArray[np.bool_] | None = None  # (m,)

    @cached_property
    def modes(self) -> Points:
        """Candidates that no neighbour beats; every arm when arms have no neighbours."""
        if self.edges is None:
            found: Points = np.arange(len(self.values))
        else:
            found = local_optima(self.values, self.edges)
        return found if self.within is None else found[self.within[found]]


class Finite:
    """Candidates, by index.

    Args:
        features: One row per candidate, (m, d).
        categorical: Which columns are unordered, (d,).
        independent: Arms without neighbours: each is a mode of its own.

    Example:
        >>> domain = Finite(np.linspace(0, 1, 5)[:, None], np.array([False]))
        >>> surface = lambda index: np.array([3.0, 1.0, 2.0, 0.0, 1.0])[index]
        >>> found = domain.search(surface, np.random.default_rng(0))
        >>> found.point, found.value, found.modes
        (0, 3.0, array([0, 2, 4]))
    """

    def __init__(
        self, features: Array, categorical: npt.NDArray[np.bool_], *, independent: bool = False
    ) -> None:
        self.cover: npt.NDArray[np.intp] = np.arange(len(features))
        self.size = len(features)
        # By columns: each round gathers the values at one end of all edges, then at the other.
        self._edges: Edges | None = (
            None if independent else np.asfortranarray(edges_of(features, categorical))
        )

    def search(
        self,
        surface: Any,
        rng: np.random.Generator,
        *,
        warm: Any = None,
        within: Any = None,
        best_only: bool = False,
    ) -> FiniteOptima:
        """The best candidate and, if asked for, the other modes; all are looked at."""
        values = surface(self.cover)
        if within is not None:
            values = np.where(within, values, values.min())
        best = np.flatnonzero(values == values.max())
        if within is not None:
            best = best[within[best]]
        point = int(best[0] if len(best) == 1 else rng.choice(best))
        return FiniteOptima(point, float(values[point]), values, self._edges, within)
