from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import midrun
from midrun.belief.forgetting import Markov
from midrun.belief.kernels import Kernel
from midrun.belief.prior import Parameters
from midrun.belief.process import Process
from midrun.choice.acquisition import EI, PI, UCB, Mean, Setting
from midrun.choice.lbfgs import maximize
from midrun.choice.optima import Box, latin, mean_shift
from midrun.choice.surface import Surface
from midrun.space import Space


def process_in(d, n, seed, categorical=None, kernel="matern52"):
    rng = np.random.default_rng(seed)
    categorical = np.zeros(d, bool) if categorical is None else categorical
    process = Process(
        Kernel(kernel, rng.uniform(0.2, 0.6, d), categorical),
        Markov(0.01),
        Parameters(1.3, 0.05, 0.2),
    )
    direction = rng.normal(size=d)
    for t in range(n):
        x = rng.random(d)
        x[categorical] = np.round(x[categorical])
        process.observe(x, float(np.sin(4 * x @ direction) + 0.1 * rng.normal()), t + 1)
    return process.posterior(n + 1)


def surface_on(posterior, choice):
    return Surface(posterior, choice, Setting(9, None, 1.14, lambda: 0.5))


@pytest.mark.parametrize("choice", [UCB(2.0), EI(), PI(), Mean()], ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("kernel", ["se", "matern32", "matern52"])
def test_gradients_are_central_differences(choice, kernel):
    d = 4
    categorical = np.array([False, False, True, False])
    surface = surface_on(process_in(d, 40, 0, categorical, kernel), choice)
    X = np.random.default_rng(1).random((30, d))
    X[:, 2] = np.round(X[:, 2])
    value, gradient = surface.with_gradient(X)
    np.testing.assert_allclose(value, surface(X), rtol=1e-7, atol=1e-9)
    h = 1e-5
    for j in (0, 1, 3):
        step = h * np.eye(d)[j]
        numeric = (surface(X + step) - surface(X - step)) / (2 * h)
        np.testing.assert_allclose(
            gradient[:, j], numeric, rtol=1e-5, atol=1e-5 * np.abs(gradient).max()
        )
    assert (gradient[:, 2] == 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_batch_finds_from_each_start_what_scipys_l_bfgs_b_finds_at_best(seed):
    d = 1 + seed
    surface = surface_on(process_in(d, 60, seed), UCB(2.0))
    starts = latin(30, d, np.random.default_rng(seed))
    ends, values = maximize(surface.with_gradient, starts, np.zeros(d), np.ones(d))
    alone = [
        -minimize(
            lambda x: tuple(-part[0] for part in surface.with_gradient(x[None])),
            x0, jac=True, bounds=[(0, 1)] * d, method="L-BFGS-B",
        ).fun
        for x0 in starts
    ]  # fmt: skip
    spread = np.ptp(surface(starts))
    assert values.max() >= max(alone) - 1e-6 * spread
    assert ((ends >= 0) & (ends <= 1)).all()
    np.testing.assert_allclose(values, surface(ends), atol=1e-6)
    assert (values >= surface(starts) - 1e-9).all()


def test_a_start_does_not_depend_on_its_company():
    surface = surface_on(process_in(3, 40, 0), UCB(2.0))
    starts = latin(12, 3, np.random.default_rng(0))
    # the spread scales the first step, so keep the extremes in both batches; no merging
    together, _ = maximize(surface.with_gradient, starts, np.zeros(3), np.ones(3), merge=0.0)
    values = surface(starts)
    some = np.unique([values.argmin(), values.argmax(), 3, 7])
    apart, _ = maximize(surface.with_gradient, starts[some], np.zeros(3), np.ones(3), merge=0.0)
    np.testing.assert_allclose(apart, together[some], atol=1e-6)


@settings(max_examples=50)
@given(st.integers(1, 6), st.integers(0, 10_000))
def test_bounds_hold_for_each_start_and_held_variables_do_not_move(d, seed):
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(d, d)), rng.normal(size=d)

    def bowl(X):
        R = X @ A.T - b
        return -np.square(R).sum(axis=1), -2 * R @ A

    low = rng.random((7, d)) * 0.5
    high = low + rng.choice([0.0, 0.5], size=(7, d))
    ends, values = maximize(bowl, rng.random((7, d)), low, high)
    assert (ends >= low).all()
    assert (ends <= high).all()
    for i in range(7):
        best = minimize(
            lambda x: tuple(-part[0] for part in bowl(x[None])), ends[i], jac=True,
            bounds=list(zip(low[i], high[i], strict=True)), method="L-BFGS-B",
        )  # fmt: skip
        assert values[i] >= -best.fun - 1e-3 * max(1.0, np.ptp(values))


def test_mean_shift_merges_what_is_close_and_keeps_the_best_of_each():
    rng = np.random.default_rng(0)
    centres = np.array([[0.2, 0.2], [0.8, 0.3], [0.5, 0.9]])
    points = np.concatenate([c + 0.03 * rng.normal(size=(20, 2)) for c in centres])
    values = rng.random(60)
    kept = mean_shift(points, values, 0.2)
    assert len(kept) == 3
    assert sorted(kept // 20) == [0, 1, 2]
    for i in kept:
        same = slice(20 * (i // 20), 20 * (i // 20) + 20)
        assert values[i] == values[same].max()
    assert (np.diff(values[kept]) < 0).all()


def test_points_of_different_categories_are_different_modes():
    points = np.array([[0.5, 0.0], [0.5, 1.0], [0.52, 0.0]])
    kept = mean_shift(points, np.array([1.0, 2.0, 3.0]), 0.2, np.array([False, True]))
    assert kept.tolist() == [2, 1]


def test_all_modes_of_a_surface_are_found():
    class Hills:
        centres = np.array([[0.15, 0.2], [0.8, 0.25], [0.45, 0.8], [1.0, 1.0]])
        height = np.array([1.0, 0.9, 0.8, 0.7])

        def __call__(self, X):
            return self.with_gradient(X)[0]

        def with_gradient(self, X):
            away = X[:, None, :] - self.centres
            bump = self.height * np.exp(-np.square(away).sum(axis=2) / 0.02)
            return bump.sum(axis=1), (-100 * bump[:, :, None] * away).sum(axis=1)

    found = Box(Space({"a": (0.0, 1.0), "b": (0.0, 1.0)})).search(Hills(), np.random.default_rng(0))
    for centre in Hills.centres:
        assert np.abs(found.modes - centre).max(axis=1).min() < 0.02
    np.testing.assert_allclose(found.point, Hills.centres[0], atol=1e-3)


def mixed_space():
    return Space(
        {
            "x": (-5.0, 10.0),
            "lr": midrun.Float(1e-5, 1e-1, log=True),
            "layers": (1, 6),
            "width": midrun.Integer(8, 4096, log=True),
            "size": midrun.Ordinal(["xs", "s", "m", "l", "xl"]),
            "optim": ["sgd", "adam", "rmsprop"],
            "amp": bool,
        }
    )


@pytest.mark.parametrize("seed", range(5))
def test_log_integer_ordinal_and_categorical_optima_are_found(seed):
    space = mixed_space()
    rng = np.random.default_rng(seed)
    target = space.snap(rng.random(space.d))

    class Distance:
        def __call__(self, X):
            return self.with_gradient(X)[0]

        def with_gradient(self, X):
            away = X - target
            away[:, space.categorical] = 0.7 * (away[:, space.categorical] != 0)
            return -np.square(away).sum(axis=1), np.where(space.levels > 0, 0.0, -2 * away)

    found = Box(space).search(Distance(), np.random.default_rng(seed))
    best, wanted = space.decode(found.point), space.decode(target)
    for name in ("layers", "width", "size", "optim", "amp"):
        assert best[name] == wanted[name]
    assert best["x"] == pytest.approx(wanted["x"], abs=0.02)
    assert best["lr"] == pytest.approx(wanted["lr"], rel=0.02)


def test_many_categories_are_searched_in_turns():
    space = Space({f"c{i}": list("abcdefgh") for i in range(5)})  # 32,768 combinations
    target = space.encode({f"c{i}": "dfbha"[i] for i in range(5)})

    class Agree:
        def __call__(self, X):
            return (target == X).sum(axis=1).astype(float)

        def with_gradient(self, X):
            return self(X), np.zeros_like(X)

    found = Box(space).search(Agree(), np.random.default_rng(0))
    assert space.decode(found.point) == space.decode(target)


def test_a_search_stays_within_a_smaller_box():
    space = mixed_space()
    surface = surface_on(process_in(space.d, 50, 3, space.categorical), UCB(2.0))
    rng = np.random.default_rng(0)
    for seed in range(5):
        centre = space.snap(rng.random(space.d))
        low, high = np.clip(centre - 0.15, 0, 1), np.clip(centre + 0.15, 0, 1)
        low[space.categorical], high[space.categorical] = 0.0, 1.0
        found = Box(space).search(surface, np.random.default_rng(seed), within=(low, high))
        assert (found.modes >= low - 1e-9).all()
        assert (found.modes <= high + 1e-9).all()
        np.testing.assert_allclose(found.modes, space.snap(found.modes), atol=1e-12)
