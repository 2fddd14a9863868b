from __future__ import annotations

import numpy as np
import pytest

from midrun.choice.domain import Finite
from midrun.choice.neighbours import edges_of, local_optima


def brute_force_grid_optima(values):
    """Cells of a grid that no cell within one step in every axis beats."""
    padded = np.pad(values, 1, constant_values=-np.inf)
    best = np.full(values.shape, -np.inf)
    for shift in np.ndindex(*(3,) * values.ndim):
        if shift != (1,) * values.ndim:
            window = tuple(slice(s, s + n) for s, n in zip(shift, values.shape, strict=True))
            best = np.maximum(best, padded[window])
    return np.flatnonzero((values > best).ravel())


@pytest.mark.parametrize("shape", [(30,), (12, 9), (5, 6, 7)])
def test_optima_on_a_grid_are_those_of_brute_force_in_any_order_of_the_candidates(shape):
    rng = np.random.default_rng(len(shape))
    axes = [np.sort(rng.random(n)) for n in shape]  # unevenly spaced
    X = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    values = rng.normal(size=len(X))
    expected = brute_force_grid_optima(values.reshape(shape))
    none = np.zeros(len(shape), bool)
    np.testing.assert_array_equal(local_optima(values, edges_of(X, none)), expected)
    order = rng.permutation(len(X))
    shuffled = local_optima(values[order], edges_of(X[order], none))
    np.testing.assert_array_equal(np.sort(order[shuffled]), expected)


def test_a_plateau_is_one_mode_and_a_shoulder_is_none():
    edges = edges_of(np.arange(9.0)[:, None], np.array([False]))
    top = local_optima(np.array([0, 1, 1, 2, 0, 3, 3, 3, 1.0]), edges)
    assert top.tolist() == [3, 5]
    assert local_optima(np.ones(9), edges).tolist() == [0]


def test_rounding_noise_on_a_plateau_makes_no_modes():
    rng = np.random.default_rng(0)
    values = 1.0 + 1e-16 * rng.normal(size=500)
    values[250:] += np.exp(-((np.arange(250) - 100) ** 2) / 50)
    edges = edges_of(np.arange(500.0)[:, None], np.array([False]))
    modes = local_optima(values, edges)
    assert modes.tolist() == [350]


def test_scattered_candidates_show_the_modes_of_a_smooth_surface():
    X = np.random.default_rng(1).random((800, 2))
    centres = np.array([[0.2, 0.2], [0.8, 0.7]])
    values = sum(np.exp(-((X - c) ** 2).sum(axis=1) / 0.02) for c in centres)
    modes = X[local_optima(values, edges_of(X, np.zeros(2, bool)))]
    high = modes[[np.abs(modes - c).max(axis=1).argmin() for c in centres]]
    assert np.abs(high - centres).max() < 0.08
    assert len(modes) < 20


def test_categories_are_all_neighbours_of_each_other():
    X = np.array([[c, x] for c in (0.0, 1.0, 2.0) for x in np.linspace(0, 1, 5)])
    values = np.array([0, 1, 2, 1, 0, 0, 1, 3, 1, 0, 0, 0, 0, 0, 5.0])
    modes = local_optima(values, edges_of(X, np.array([True, False])))
    assert modes.tolist() == [7, 14]


def test_every_independent_arm_is_a_mode_and_one_candidate_is_its_own():
    rng = np.random.default_rng(0)
    arms = Finite(np.arange(4.0)[:, None], np.array([False]), independent=True)
    assert arms.search(lambda i: np.zeros(len(i)), rng).modes.tolist() == [0, 1, 2, 3]
    one = Finite(np.zeros((1, 1)), np.array([False]))
    assert one.search(lambda i: np.zeros(len(i)), rng).modes.tolist() == [0]


def test_ties_are_broken_by_the_generator_and_by_nothing_else():
    domain = Finite(np.arange(50.0)[:, None], np.array([False]))
    flat = lambda i: np.zeros(len(i))  # noqa: E731
    drawn = [domain.search(flat, np.random.default_rng(s)).point for s in range(200)]
    assert len(set(drawn)) > 40
    assert domain.search(flat, np.random.default_rng(7)).point == drawn[7]
