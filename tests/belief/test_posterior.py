"""The posteriors of grid, arms and process against a dense solve and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from midrun.belief.arms import Arms
from midrun.belief.build import finite_model
from midrun.belief.forgetting import Markov, SquaredExponential
from midrun.belief.grid import BLOCK, Grid
from midrun.belief.kernels import KERNELS, Kernel
from midrun.belief.posterior import contrast
from midrun.belief.prior import Belief, Parameters
from midrun.belief.process import Process
from tests import oracle

EPSILONS = (0.0, 1e-4, 0.03, 0.9)


def random_problem(seed):
    """Candidates in 1-5 dimensions, sparse and repeated answers, gaps up to 10,000 rounds."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    kernel = KERNELS[seed % len(KERNELS)]
    epsilon = EPSILONS[(seed // len(KERNELS)) % len(EPSILONS)]
    m, n = int(rng.integers(2, 40)), int(rng.integers(1, 60))
    X = rng.random((m, d))
    spec = {
        "kernel": kernel,
        "lengthscale": rng.uniform(0.1, 2.0, d),
        "epsilon": epsilon,
        "noise": float(10 ** rng.uniform(-3, 0)),
        "scale": float(10 ** rng.uniform(-1, 1)),
        "mean": float(rng.normal()),
    }
    gaps = rng.choice(
        [1.0, 1.0, 2.0, 0.37, 100.0, 10_000.0], size=n, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]
    )
    index = rng.integers(0, max(2, m // 2), size=n)  # repeats are frequent
    return X, index, np.cumsum(gaps), rng.normal(size=n), float(rng.choice([0, 1, 7.5])), spec


def belief_of(spec, time="markov"):
    return Belief(
        spec["kernel"],
        lengthscale=spec["lengthscale"],
        forgetting=spec["epsilon"],
        noise=spec["noise"],
        scale=spec["scale"],
        mean=spec["mean"],
        time=time,
    )


def assert_equals_dense_solve(model, X, index, times, y, lag, spec, time="markov"):
    for i, t, value in zip(index, times, y, strict=True):
        model.observe(i, value, t)
    when = times[-1] + lag
    mean, cov = oracle.posterior(X, when, X[index], times, y, **spec, time=time)
    view = model.posterior(when)
    everywhere = np.arange(len(X))
    got_mean, got_std = view.marginal(everywhere)
    np.testing.assert_allclose(got_mean, mean, atol=1e-8)
    np.testing.assert_allclose(got_std, np.sqrt(np.diag(cov).clip(0)), atol=1e-8)
    np.testing.assert_allclose(view.covariance(everywhere, 1), cov[:, 1], atol=1e-8)
    difference, spread = contrast(view, everywhere, 0)
    np.testing.assert_allclose(difference, mean - mean[0], atol=1e-8)
    variance = np.diag(cov) + cov[0, 0] - 2 * cov[:, 0]
    np.testing.assert_allclose(spread**2, variance.clip(0), atol=1e-8)


@pytest.mark.parametrize("seed", range(200))
def test_finite_posterior_equals_a_dense_solve(seed):
    X, index, times, y, lag, spec = random_problem(seed)
    model = finite_model(belief_of(spec), X, np.zeros(X.shape[1], bool))
    assert isinstance(model, Arms if spec["kernel"] == "independent" else Grid)
    assert_equals_dense_solve(model, X, index, times, y, lag, spec)


@pytest.mark.parametrize("time", ["markov", "se"])
@pytest.mark.parametrize("seed", range(40))
def test_process_posterior_equals_a_dense_solve(seed, time):
    X, index, times, y, lag, spec = random_problem(seed)
    categorical = np.zeros(X.shape[1], bool)
    kernel = Kernel(spec["kernel"], spec["lengthscale"], categorical)
    forgetting = (Markov if time == "markov" else SquaredExponential)(spec["epsilon"])
    parameters = Parameters(spec["scale"], spec["noise"], spec["mean"])
    process = Process(kernel, forgetting, parameters, X)
    assert_equals_dense_solve(process, X, index, times, y, lag, spec, time)


def test_squared_exponential_time_is_kept_by_a_process():
    model = finite_model(
        Belief("independent", forgetting=1e-3, noise=0.1, scale=1.0, mean=0.0, time="se"),
        np.eye(3),
        np.zeros(3, bool),
    )
    assert isinstance(model, Process)


@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_grid_stays_exact_after_many_folded_blocks(epsilon):
    rng = np.random.default_rng(3)
    X = np.linspace(0, 1, 150)[:, None]
    n = 5 * BLOCK + 17
    index, times, y = rng.integers(0, 150, n), np.arange(1.0, n + 1), rng.normal(size=n)
    spec = {"kernel": "matern32", "lengthscale": np.array([0.2]), "epsilon": epsilon, "noise": 0.01,
            "scale": 1.0, "mean": 0.0}  # fmt: skip
    assert_equals_dense_solve(
        finite_model(belief_of(spec), X, np.zeros(1, bool)), X, index, times, y, 1.0, spec
    )


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_without_forgetting_the_posterior_is_scikit_learns(nu):
    rng = np.random.default_rng(0)
    X, n = rng.random((60, 3)), 30
    index, y = rng.integers(0, 60, n), rng.normal(size=n)
    lengthscale = np.array([0.3, 0.7, 1.1])
    sklearn = GaussianProcessRegressor(Matern(lengthscale, nu=nu), alpha=0.1, optimizer=None)
    mean, std = sklearn.fit(X[index], y).predict(X, return_std=True)
    belief = Belief(f"matern{int(2 * nu)}2", lengthscale=lengthscale, forgetting=0.0, noise=0.1,
                    scale=1.0, mean=0.0)  # fmt: skip
    model = finite_model(belief, X, np.zeros(3, bool))
    for t, (i, value) in enumerate(zip(index, y, strict=True)):
        model.observe(i, value, t + 1)
    got_mean, got_std = model.posterior(1e6).marginal(np.arange(60))
    np.testing.assert_allclose(got_mean, mean, atol=1e-8)
    np.testing.assert_allclose(got_std, std, atol=1e-8)


def test_a_skipped_round_decays_the_mean_and_the_explained_variance():
    X = np.linspace(0, 1, 20)[:, None]
    model = finite_model(Belief("se", lengthscale=0.2, forgetting=0.1, noise=0.01, scale=2.0, mean=0.0), X,
                         np.zeros(1, bool))  # fmt: skip
    model.observe(7, 1.3, 1)
    now, later = (model.posterior(t).marginal(np.arange(20)) for t in (1, 2))
    np.testing.assert_allclose(later[0], now[0] * np.sqrt(0.9), rtol=1e-12)
    np.testing.assert_allclose(2.0 - later[1] ** 2, (2.0 - now[1] ** 2) * 0.9, atol=1e-14)


def test_independent_arms_equal_the_grid_with_an_identity_kernel():
    rng = np.random.default_rng(5)
    features, none = np.eye(4), np.zeros(4, bool)
    parameters = Parameters(scale=1.5, noise=0.2, mean=0.3)
    arms = Arms(4, Markov(0.05), parameters)
    grid = Grid(features, Kernel("independent", np.ones(4), none), Markov(0.05), parameters)
    for t in range(1, 60):
        i, y = int(rng.integers(4)), float(rng.normal())
        for model in (arms, grid):
            model.observe(i, y, 1.5 * t)
    for a, b in zip(
        arms.posterior(99).marginal(np.arange(4)),
        grid.posterior(99).marginal(np.arange(4)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_posterior_handed_out_is_not_changed_by_later_answers():
    rng = np.random.default_rng(0)
    X = np.linspace(0, 1, 30)[:, None]
    given = {"lengthscale": 0.2, "forgetting": 0.01, "noise": 0.1, "scale": 1.0, "mean": 0.0}
    for kernel, options in (
        ("se", given),
        ("se", {**given, "time": "se"}),
        ("independent", given),
        ("se", {}),
    ):
        model = finite_model(Belief(kernel, **options), X, np.zeros(1, bool))
        for t in range(1, 30):
            model.observe(int(rng.integers(30)), rng.normal(), t)
        view = model.posterior(40)
        before = (*view.marginal(np.arange(30)), view.covariance(np.arange(30), 3))
        for t in range(41, 41 + 3 * BLOCK):
            model.observe(int(rng.integers(30)), rng.normal(), t)
        fresh = (*view.marginal(np.arange(30)), view.covariance(np.arange(30), 3))
        for a, b in zip(before, fresh, strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_past_cannot_be_asked_for():
    model = finite_model(Belief(), np.linspace(0, 1, 3)[:, None], np.zeros(1, bool))
    model.observe(0, 1.0, 10)
    with pytest.raises(ValueError, match=r"round=9.*round 10"):
        model.posterior(9)


def test_a_full_window_drops_the_oldest_and_says_what_it_cost():
    rng = np.random.default_rng(1)
    X = np.linspace(0, 1, 50)[:, None]
    kernel = Kernel("matern52", np.array([0.3]), np.zeros(1, bool))
    make = lambda cap: Process(kernel, Markov(0.05), Parameters(1.0, 0.1, 0.0), X, cap)  # noqa: E731
    small, large = make(64), make(1000)
    for t in range(1, 400):
        i, y = int(rng.integers(50)), float(rng.normal())
        small.observe(i, y, t)
        large.observe(i, y, t)
    assert len(small) <= 64
    assert small.dropped.count > 300
    assert large.dropped.count == 0
    for a, b, seen in zip(
        small.posterior(400).marginal(np.arange(50)), large.posterior(400).marginal(np.arange(50)),
        (small.dropped.mean, small.dropped.std), strict=True,
    ):  # fmt: skip
        assert 0 < seen < 0.1
        assert np.abs(a - b).max() < 2 * seen


def test_faded_answers_are_dropped_before_the_window_is_full():
    kernel = Kernel("se", np.array([0.3]), np.zeros(1, bool))
    process = Process(kernel, Markov(0.9), Parameters(1.0, 0.1, 0.0), np.linspace(0, 1, 5)[:, None])
    for t in range(1, 200):
        process.observe(t % 5, 1.0, t)
    assert len(process) < 100
    assert process.dropped.mean < 1e-10
