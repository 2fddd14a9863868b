"""Who is next to whom on a finite set, and which points are local optima there.

The query rule compares modes, not neighbours within a mode (the paper's remark in section 4.3).
Neighbours are the next candidates on a line, one step along an axis or a diagonal on a full
d-dimensional grid, and the nearest candidates when they lie scattered. Independent arms have no
neighbours: every arm is its own mode.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from midrun.belief.kernels import Array

Edges = npt.NDArray[np.intp]  # (e, 2), each pair once

FLAT = 1e-12  # values closer than this, relative to the surface's range, are one plateau
NEAREST = 2  # nearest neighbours of a scattered candidate, per dimension, plus one


def edges_of(features: Array, categorical: npt.NDArray[np.bool_]) -> Edges:
    """Pairs of neighbours among the rows of ``features`` (m, d).

    Example:
        >>> edges_of(np.array([[0.0], [1.0], [0.4]]), np.array([False])).tolist()
        [[0, 2], [2, 1]]
    """
    m, d = features.shape
    if m < 2:
        return np.empty((0, 2), dtype=np.intp)
    if d == 1 and not categorical[0]:
        order = np.argsort(features[:, 0], kind="stable")
        return np.stack([order[:-1], order[1:]], axis=1)
    levels = [np.unique(column, return_inverse=True) for column in features.T]
    shape = tuple(len(values) for values, _ in levels)
    if np.prod([float(n) for n in shape]) == m:
        codes = np.stack([code for _, code in levels], axis=1)
        return _grid_edges(codes, shape, categorical)
    return _scattered_edges(features, categorical)


def _grid_edges(
    codes: npt.NDArray[np.intp], shape: tuple[int, ...], categorical: npt.NDArray[np.bool_]
) -> Edges:
    """Neighbours on a full grid: at most one step in every axis, any change of a category."""
    flat = np.ravel_multi_index(tuple(codes.T), shape)
    where = np.empty(len(flat), dtype=np.intp)
    where[flat] = np.arange(len(flat))
    reach: list[Sequence[int]] = [
        range(1 - n, n) if unordered else (-1, 0, 1)
        for n, unordered in zip(shape, categorical, strict=True)
    ]
    # Diagonals matter (a ridge would break into false modes), but 3^d of them do not scale.
    diagonals = float(np.prod([float(len(r)) for r in reach])) <= 3.0**4
    found = []
    for step in itertools.product(*reach) if diagonals else _axis_steps(reach):
        if step <= (0,) * len(shape):  # each pair once
            continue
        moved = codes + np.array(step)
        inside = np.all((moved >= 0) & (moved < shape), axis=1)
        there = where[np.ravel_multi_index(tuple(moved[inside].T), shape)]
        found.append(np.stack([np.flatnonzero(inside), there], axis=1))
    return np.concatenate(found) if found else np.empty((0, 2), dtype=np.intp)


def _axis_steps(reach: list[Sequence[int]]) -> list[tuple[int, ...]]:
    zero = [0] * len(reach)
    return [(*zero[:j], step, *zero[j + 1 :]) for j, steps in enumerate(reach) for step in steps]


def _scattered_edges(features: Array, categorical: npt.NDArray[np.bool_]) -> Edges:
    """Mutual or one-sided nearest neighbours, in units of each column's range."""
    m, d = features.shape
    spread = np.ptp(features, axis=0)
    scaled = (features - features.min(axis=0)) / np.where(spread > 0, spread, 1.0)
    columns = [
        (column[:, None] == np.unique(column)) / np.sqrt(2.0) if unordered else column[:, None]
        for column, unordered in zip(scaled.T, categorical, strict=True)
    ]
    near = cKDTree(np.concatenate(columns, axis=1)).query(
        np.concatenate(columns, axis=1), k=min(m, NEAREST * d + 2)
    )[1]
    pairs = np.stack([np.repeat(np.arange(m), near.shape[1]), near.ravel()], axis=1)
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    unique: Edges = np.unique(pairs, axis=0)
    return unique


def local_optima(values: Array, edges: Edges) -> npt.NDArray[np.intp]:
    """Indices of the local maxima of a surface, one per plateau, (k,).

    Args:
        values: The surface, (m,).
        edges: Pairs of neighbours, (e, 2).

    Example:
        >>> line = edges_of(np.arange(6.0)[:, None], np.array([False]))
        >>> local_optima(np.array([1.0, 0.0, 2.0, 2.0, 0.0, 3.0]), line)
        array([0, 2, 5])
    """
    m = len(values)
    a, b = edges[:, 0], edges[:, 1]
    rise = values.take(b) - values.take(a)
    least = FLAT * (values.max() - values.min())
    up, down = rise > least, rise < -least
    beaten = np.zeros(m, dtype=bool)
    beaten[a[up]] = True
    beaten[b[down]] = True
    flat = np.flatnonzero(~(up | down))
    if (beaten[a[flat]] & beaten[b[flat]]).all():
        return np.flatnonzero(~beaten)
    # A plateau is one mode unless some point of it has a higher neighbour.
    links = coo_array((np.ones(len(flat)), (a[flat], b[flat])), shape=(m, m))
    count, label = connected_components(links, directed=False)
    plateau_beaten = np.zeros(count, dtype=bool)
    plateau_beaten[label[beaten]] = True
    _, first = np.unique(label, return_index=True)  # label order
    return np.sort(first[~plateau_beaten])
