"""BoTorch against midrun: one posterior, one verdict; and CE-GP-UCB run inside BoTorch."""

from __future__ import annotations

import importlib
import math
import pickle
import runpy
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qUpperConfidenceBound,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP, SingleTaskVariationalGP
from botorch.models.kernels.categorical import CategoricalKernel
from botorch.models.map_saas import EnsembleMapSaasSingleTaskGP
from botorch.models.transforms.input import Normalize
from botorch.models.transforms.outcome import Log
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior

import midrun
from midrun.belief.forgetting import TIMES, Markov
from midrun.belief.grid import Grid
from midrun.belief.kernels import KERNELS, Kernel
from midrun.belief.prior import Parameters
from midrun.belief.process import Process
from midrun.integrations.botorch import (
    ForgettingKernel,
    HammingKernel,
    ModelPosterior,
    TimeVaryingGP,
    append_round,
    at_round,
    decide,
)
from midrun.query.rule import Situation

pytestmark = pytest.mark.torch

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "botorch_ce_gp_ucb.py"
UNIT = torch.tensor([[0.0], [1.0]], dtype=torch.float64)


def tensor(values):
    return torch.as_tensor(np.asarray(values), dtype=torch.float64)


def numpy(values):
    return values.detach().numpy()


# --- the kernels -----------------------------------------------------------------------------


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 1e-4, 0.03, 0.9, 0.999])
def test_the_forgetting_kernel_is_midruns(time, epsilon):
    rng = np.random.default_rng(0)
    s, t = 1e6 + rng.uniform(0, 40, 7), 1e6 + rng.uniform(0, 40, 5)
    kernel = ForgettingKernel(epsilon, time=time)
    expected = TIMES[time](epsilon)(s[:, None] - t[None, :])
    got = kernel(tensor(s)[:, None], tensor(t)[:, None]).to_dense()
    np.testing.assert_allclose(numpy(got), expected, rtol=1e-12, atol=1e-15)
    diagonal = kernel(tensor(s[:5])[:, None], tensor(t)[:, None], diag=True)
    np.testing.assert_allclose(numpy(diagonal), np.diag(expected), rtol=1e-12, atol=1e-15)


def test_the_forgetting_kernel_takes_batches_of_rounds_and_of_epsilons():
    rounds = tensor(np.random.default_rng(1).uniform(0, 30, (3, 2, 6, 1)))
    kernel = ForgettingKernel(batch_shape=torch.Size([2]))
    kernel.epsilon = tensor([0.01, 0.3]).reshape(2, 1, 1)
    together = numpy(kernel(rounds).to_dense())
    assert together.shape == (3, 2, 6, 6)
    assert numpy(kernel(rounds, diag=True)).shape == (3, 2, 6)
    for i, epsilon in enumerate([0.01, 0.3]):
        alone = ForgettingKernel(epsilon)(rounds[:, i]).to_dense()
        np.testing.assert_allclose(together[:, i], numpy(alone), rtol=1e-14)


def test_an_epsilon_given_is_fixed_and_one_left_out_is_learned():
    assert not ForgettingKernel(0.1).raw_epsilon.requires_grad
    learned = ForgettingKernel(epsilon_prior=LogNormalPrior(math.log(0.01), 1.2))
    assert learned.raw_epsilon.requires_grad
    assert learned.epsilon.item() == pytest.approx(0.01, rel=1e-14)
    (row,) = learned.named_priors()
    assert row[0] == "epsilon_prior"
    lags = tensor([[0.0], [3.0], [200.0]])
    for raw in (-800.0, -5.0, 0.0, 800.0):  # epsilon from exactly 0 to exactly 1
        learned.raw_epsilon.data.fill_(raw)
        value = learned(lags).to_dense()
        (slope,) = torch.autograd.grad(value.sum(), learned.raw_epsilon)
        assert value.isfinite().all(), raw
        assert slope.isfinite().all(), raw


def test_the_hamming_kernel_is_botorchs_categorical_kernel_with_the_sum_for_the_mean():
    rng = np.random.default_rng(2)
    A, B = tensor(rng.integers(0, 3, (6, 4))), tensor(rng.integers(0, 3, (5, 4)))
    lengthscale = tensor(rng.uniform(0.3, 3, 4))
    ours, theirs = (
        HammingKernel(ard_num_dims=4).double(),
        CategoricalKernel(ard_num_dims=4).double(),
    )
    ours.lengthscale, theirs.lengthscale = lengthscale, lengthscale / 4
    a, b = ours(A, B).to_dense(), theirs(A, B).to_dense()
    np.testing.assert_allclose(numpy(a), numpy(b), rtol=1e-12)
    np.testing.assert_allclose(numpy(ours(A[:5], B, diag=True)), np.diag(numpy(a)[:5]), rtol=1e-12)


# --- the posterior ---------------------------------------------------------------------------


def random_problem(seed):
    """1-5 columns, a third of the problems mixed; repeats, gaps up to 10,000 rounds."""
    rng = np.random.default_rng(seed)
    d, m, n = int(rng.integers(1, 6)), int(rng.integers(2, 30)), int(rng.integers(1, 50))
    X = rng.random((m, d))
    categorical = []
    if seed % 3 == 0:
        categorical = sorted(rng.choice(d, size=max(1, d // 2), replace=False).tolist())
        X[:, categorical] = rng.integers(0, 3, (m, len(categorical)))
    belief = midrun.Belief(
        KERNELS[seed % len(KERNELS)],
        lengthscale=rng.uniform(0.1, 2.0, d),
        forgetting=(0.0, 1e-4, 0.03, 0.9)[seed // 10 % 4],
        noise=float(10 ** rng.uniform(-3, 0)),
        scale=float(10 ** rng.uniform(-1, 1)),
        mean=float(rng.normal()),
        time=("markov", "se")[seed // 5 % 2],
    )
    gaps = rng.choice([1.0, 2.0, 0.37, 100.0, 1e4], size=n, p=[0.7, 0.1, 0.1, 0.05, 0.05])
    index = rng.integers(0, max(2, m // 2), n)
    times, y = np.cumsum(gaps), rng.normal(size=n)
    return X, categorical, index, times, y, times[-1] + rng.choice([0.0, 1.0, 7.5]), belief


def parts_of(belief, d, categorical):
    kernel = Kernel(belief.kernel, belief.lengthscales(d), np.isin(np.arange(d), categorical))
    forgetting = TIMES[belief.time](belief.forgetting)
    return kernel, forgetting, Parameters(belief.scale, belief.noise, belief.mean)


def exact_distance(x1, x2, x1_eq_x2=False):
    """GPyTorch's distance, by differences in place of an expanded square."""
    return torch.cdist(x1, x2, compute_mode="donot_use_mm_for_euclid_dist")


@pytest.mark.parametrize("seed", range(60))
def test_the_posterior_equals_that_of_process_and_of_grid(seed, monkeypatch):
    if KERNELS[seed % len(KERNELS)] == "matern12":
        # exp(-r) feels the 1e-8 that GPyTorch's expanded square leaves of r at a setting played
        # twice: its own rounding, up to 4e-6 here, and not the matter of this test.
        monkeypatch.setattr("gpytorch.kernels.kernel.dist", exact_distance)
    X, categorical, index, times, y, now, belief = random_problem(seed)
    kernel, forgetting, parameters = parts_of(belief, X.shape[1], categorical)
    process = Process(kernel, forgetting, parameters)
    model = TimeVaryingGP(
        tensor(np.column_stack([X[index], times])),
        tensor(y)[:, None],
        categorical=categorical,
        **asdict(belief),
    )
    for i, t, value in zip(index, times, y, strict=True):
        process.observe(X[i], value, t)
    ours, theirs = process.posterior(now), ModelPosterior(model, now)

    def assert_same(view, points, rows, point, row):
        pairs = [
            *zip(view.marginal(points), theirs.marginal(rows), strict=True),
            (view.covariance(points, point), theirs.covariance(rows, row)),
            (view.correlation(points, point), theirs.correlation(rows, row)),
            (view.prior_std, theirs.prior_std),
        ]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, atol=1e-8)

    assert_same(ours, X, X, X[0], X[0])
    assert theirs.remembered >= ours.remembered - 1e-8  # Process looks at its last answers only
    if isinstance(forgetting, Markov):
        grid = Grid(X, kernel, forgetting, parameters)
        for i, t, value in zip(index, times, y, strict=True):
            grid.observe(i, value, t)
        everywhere = np.arange(len(X))
        assert_same(grid.posterior(now), everywhere, X, 0, X[0])
        assert theirs.remembered <= grid.posterior(now).remembered + 1e-8


def test_without_answers_the_model_is_the_prior():
    none = torch.empty(0, 3, dtype=torch.float64), torch.empty(0, 1, dtype=torch.float64)
    model = TimeVaryingGP(*none, lengthscale=0.3, forgetting=0.1, noise=0.1, scale=2.0, mean=0.5)
    view = ModelPosterior(model, 1, cover=np.random.default_rng(0).random((9, 2)))
    mean, std = view.marginal(np.random.default_rng(1).random((4, 2)))
    np.testing.assert_allclose(mean, 0.5)
    np.testing.assert_allclose(std, math.sqrt(2.0))
    assert view.prior_std == pytest.approx(math.sqrt(2.0))
    assert view.remembered == 0.0


FIXED = {"lengthscale": 0.3, "forgetting": 0.05, "noise": 0.01, "scale": 1.0, "mean": 0.0}


def some_answers(n=12, d=2, seed=0):
    rng = np.random.default_rng(seed)
    XT = np.column_stack([rng.random((n, d)), np.arange(1.0, n + 1)])
    return tensor(XT), tensor(np.sin(5 * XT[:, :1]) + 0.1 * rng.normal(size=(n, 1)))


def random_inputs(n, t, d=2, seed=9):
    return append_round(tensor(np.random.default_rng(seed).random((n, d))), t)


def test_a_batch_of_models_equals_the_models_one_by_one():
    both = [some_answers(seed=seed) for seed in (0, 1)]
    XT, Y = (torch.stack(parts) for parts in zip(*both, strict=True))
    test = random_inputs(10, 14.0).reshape(2, 5, 3)
    together = TimeVaryingGP(XT, Y, **FIXED).posterior(test)
    for i, (xt, y) in enumerate(both):
        alone = TimeVaryingGP(xt, y, **FIXED).posterior(test[i])
        np.testing.assert_allclose(numpy(together.mean[i]), numpy(alone.mean), atol=1e-10)
        np.testing.assert_allclose(numpy(together.variance[i]), numpy(alone.variance), atol=1e-10)


def test_conditioning_on_an_answer_equals_a_model_built_with_it():
    XT, Y = some_answers()
    test = random_inputs(6, 14.0)
    model = TimeVaryingGP(XT[:-1], Y[:-1], **FIXED)
    model.posterior(test)
    a = model.condition_on_observations(XT[-1:], Y[-1:]).posterior(test)
    b = TimeVaryingGP(XT, Y, **FIXED).posterior(test)
    np.testing.assert_allclose(numpy(a.mean), numpy(b.mean), atol=1e-8)
    np.testing.assert_allclose(numpy(a.variance), numpy(b.variance), atol=1e-8)


def test_a_model_survives_pickling():
    XT, Y = some_answers()
    test = random_inputs(6, 14.0)
    model = TimeVaryingGP(XT, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        numpy(model.posterior(test).mean), numpy(again.posterior(test).mean)
    )


@pytest.mark.parametrize("mean", [None, 3.0], ids=["standardised", "in units of the rewards"])
def test_rewards_may_have_any_unit(mean):
    XT, Y = some_answers()
    views = []
    for unit in (1.0, 1e4, 1e-2):
        model = TimeVaryingGP(XT, unit * (Y + 3), mean=None if mean is None else unit * mean)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        posterior = model.posterior(random_inputs(6, 14.0))
        views.append((numpy(posterior.mean) / unit, numpy(posterior.variance) / unit**2))
    for view in views[1:]:
        for a, b in zip(view, views[0], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6 if mean is None else 1e-4)


# --- learning epsilon ------------------------------------------------------------------------


def drifting_answers(epsilon, seed, n=120):
    """A draw from the time-varying GP itself, one answer a round at random places."""
    rng = np.random.default_rng(seed)
    X, t = rng.random((n, 1)), np.arange(1.0, n + 1)
    K = Kernel("matern52", np.array([0.3]), np.zeros(1, bool))(X, X)
    K *= Markov(epsilon)(t[:, None] - t[None, :])
    y = np.linalg.cholesky(K + 0.01 * np.eye(n)) @ rng.normal(size=n)
    return tensor(np.column_stack([X, t])), tensor(y)[:, None]


@pytest.mark.parametrize("all_learned", [False, True])
@pytest.mark.parametrize("truth", [0.002, 0.1, 0.3])
def test_a_fit_moves_epsilon_towards_the_truth(truth, all_learned):
    errors = []
    for seed in range(3):
        XT, Y = drifting_answers(truth, seed)
        given = {} if all_learned else {**FIXED, "forgetting": None}
        model = TimeVaryingGP(XT, Y, **given)
        assert model.forgetting.item() == pytest.approx(0.01)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        errors.append(abs(math.log(model.forgetting.item() / truth)))
        if not all_learned:
            assert model.likelihood.noise.item() == 0.01
            assert model.covar_module.kernels[0].base_kernel.lengthscale.item() == 0.3
    assert np.mean(errors) < 0.5 * abs(math.log(0.01 / truth)), errors


# --- the rules on a BoTorch posterior --------------------------------------------------------


class Optima:
    def __init__(self, modes, value=0.0):
        self.modes, self.point, self.value = modes, modes[0], value


def best_of(cover):
    def search(surface):
        values = surface(cover)
        return Optima(cover[[values.argmax()]], float(values.max()))

    return search


def known_best(cover, posterior):
    return lambda: best_of(cover)(lambda X: posterior.marginal(X)[0]).point


RULES = [
    midrun.Confidence(0.8),
    midrun.Confidence(0.95, joint=True),
    midrun.NoOverlap(),
    midrun.Every(3),
    midrun.Bernoulli(0.4),
    midrun.ExpectedRegret(0.1),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_verdict_on_a_model_equals_that_on_midruns_own_posterior(rule):
    seen = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        XT, Y = some_answers(d=2, seed=seed)
        kernel, forgetting, parameters = parts_of(midrun.Belief(**FIXED), 2, [])
        process = Process(kernel, forgetting, parameters)
        for row, y in zip(XT.numpy(), Y.numpy(), strict=True):
            process.observe(row[:2], float(y[0]), row[2])
        now = float(rng.choice([13.0, 20.0, 500.0]))  # by then all is forgotten
        cover = rng.random((64, 2))
        modes = cover[: int(rng.integers(1, 4))]  # a single mode is compared with all else
        model = ModelPosterior(TimeVaryingGP(XT, Y, **FIXED), now)
        ours, theirs = (
            rule.decide(
                Situation(t=seed + 1, posterior=posterior, optima=Optima(modes), cover=cover,
                          beta=2.0, rng=np.random.default_rng(seed), search=best_of(cover),
                          incumbent=known_best(cover, posterior))
            )
            for posterior in (process.posterior(now), model)
        )  # fmt: skip
        assert (ours.query, ours.kind) == (theirs.query, theirs.kind)
        assert ours.threshold == pytest.approx(theirs.threshold)
        assert ours.statistic == pytest.approx(theirs.statistic, abs=1e-6)
        np.testing.assert_array_equal(ours.rival, theirs.rival)
        seen.add(ours.kind)
    if isinstance(rule, midrun.Confidence):
        assert seen == {"first", "forgotten", "confidence", "single mode"}


def test_input_transforms_and_static_models_are_read_in_the_users_columns():
    XT, Y = some_answers()
    wide = XT * tensor([10.0, 100.0, 1.0])
    plain = ModelPosterior(TimeVaryingGP(XT, Y, **FIXED), 13)
    bounds = tensor([[0.0, 0.0], [10.0, 100.0]])
    scaled = TimeVaryingGP(
        wide, Y, **FIXED, input_transform=Normalize(3, indices=[0, 1], bounds=bounds)
    )
    view = ModelPosterior(scaled, 13)
    points = np.random.default_rng(3).random((5, 2))
    for a, b in zip(plain.marginal(points), view.marginal(points * [10, 100]), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    assert view.remembered == pytest.approx(plain.remembered, abs=1e-10)
    static = ModelPosterior(SingleTaskGP(XT[:, :2], Y))
    assert static.marginal(points)[0].shape == (5,)
    assert 0.5 < static.remembered <= 1.0


def test_an_ensemble_is_the_moments_of_its_mixture():
    XT, Y = some_answers()
    torch.manual_seed(0)  # its lengthscales start at random
    model = EnsembleMapSaasSingleTaskGP(XT[:, :2], Y, num_taus=3)
    points, point = np.random.default_rng(5).random((4, 2)), np.array([0.5, 0.5])
    view = ModelPosterior(model)
    joint = tensor([[row, point] for row in points])
    posterior = model.posterior(joint)  # (4, 3 members, 2, 1)
    means, covariances = numpy(posterior.mean)[..., 0], numpy(posterior.covariance_matrix)
    mean, std = view.marginal(points)
    np.testing.assert_allclose(mean, means[..., 0].mean(axis=1), atol=1e-10)
    variance = covariances[..., 0, 0].mean(axis=1) + means[..., 0].var(axis=1)
    np.testing.assert_allclose(std**2, variance, atol=1e-10)
    centred = means - means.mean(axis=1, keepdims=True)
    between = (centred[..., 0] * centred[..., 1]).mean(axis=1)
    np.testing.assert_allclose(
        view.covariance(points, point), covariances[..., 0, 1].mean(axis=1) + between, atol=1e-10
    )
    assert 0.5 < view.remembered <= 1.0


def test_a_posterior_that_is_not_gaussian_has_the_covariance_of_its_samples():
    XT, Y = some_answers()
    model = TimeVaryingGP(XT, Y.exp(), **FIXED, outcome_transform=Log())
    plain = ModelPosterior(TimeVaryingGP(XT, Y, **FIXED), 13)
    view = ModelPosterior(model, 13)
    points, point = np.random.default_rng(3).random((6, 2)), np.array([0.4, 0.6])
    mu, s = plain.marginal(points)
    mu_0, s_0 = plain.marginal(point[None])
    mean = np.exp(mu + s**2 / 2)  # of a log-normal, as are the next two
    np.testing.assert_allclose(view.marginal(points)[0], mean, rtol=1e-8)
    np.testing.assert_allclose(view.marginal(points)[1], mean * np.sqrt(np.expm1(s**2)), rtol=1e-8)
    covariance = mean * np.exp(mu_0 + s_0**2 / 2) * np.expm1(plain.covariance(points, point))
    got = view.covariance(points, point)
    np.testing.assert_allclose(got, covariance, atol=0.05 * np.abs(covariance).max())


def test_of_a_model_without_a_prior_the_least_certain_point_stands_for_it():
    rng = np.random.default_rng(0)
    X = tensor(rng.random((30, 1)) / 2)  # nothing is known of the right half
    torch.manual_seed(0)
    y = torch.sin(6 * X)
    model = SingleTaskVariationalGP(X, (y - y.mean()) / y.std(), inducing_points=10)
    cover = np.linspace(0, 1, 41)[:, None]
    view = ModelPosterior(model, cover=cover)
    std = view.marginal(cover)[1]
    assert view.prior_std == std.max()
    assert view.remembered == pytest.approx(1 - (std.min() / std.max()) ** 2)
    alike = view.correlation(cover, cover[0])
    assert alike[0] == pytest.approx(1.0)
    assert np.abs(alike).max() <= 1 + 1e-9
    with pytest.raises(ValueError, match="give `cover`"):
        _ = ModelPosterior(model).remembered


def test_several_outputs_need_a_transform_and_a_weight_of_minus_one_minimises():
    XT, Y = some_answers()
    points = np.random.default_rng(3).random((5, 2))
    two = ModelListGP(TimeVaryingGP(XT, Y, **FIXED), TimeVaryingGP(XT, -Y, **FIXED))
    with pytest.raises(ValueError, match="posterior_transform"):
        ModelPosterior(two, 13).marginal(points)
    up = ModelPosterior(TimeVaryingGP(XT, Y, **FIXED), 13)
    for weights in ([1.0, 0.0], [0.0, -1.0]):
        transform = ScalarizedPosteriorTransform(tensor(weights))
        view = ModelPosterior(two, 13, posterior_transform=transform)
        for a, b in zip(up.marginal(points), view.marginal(points), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-10)
        assert view.remembered == pytest.approx(up.remembered)
    batch = TimeVaryingGP(XT.expand(2, -1, -1), Y.expand(2, -1, -1), **FIXED)
    with pytest.raises(ValueError, match="batch of models"):
        ModelPosterior(batch, 13).marginal(points[:2])


# --- acquisitions ----------------------------------------------------------------------------


def test_fixing_the_round_by_at_round_or_by_fixed_features_is_the_same():
    XT, Y = some_answers()
    ucb = UpperConfidenceBound(TimeVaryingGP(XT, Y, **FIXED), beta=2.0)
    XT = random_inputs(7, 13.0)[:, None]
    np.testing.assert_array_equal(numpy(at_round(ucb, 13)(XT[..., :2])), numpy(ucb(XT)))
    square = tensor([[0.0, 0.0], [1.0, 1.0]])
    all_columns = tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 20.0]])
    search = {"q": 1, "num_restarts": 8, "raw_samples": 64, "options": {"seed": 0}}
    x, a = optimize_acqf(at_round(ucb, 13), square, **search)
    xt, b = optimize_acqf(ucb, all_columns, fixed_features={2: 13.0}, **search)
    assert xt[0, 2] == 13.0
    np.testing.assert_allclose(numpy(x), numpy(xt[:, :2]), atol=1e-4)
    assert a.item() == pytest.approx(b.item(), abs=1e-8)


@pytest.mark.filterwarnings("ignore:A not p.d.")  # BoTorch's samples of points that meet
def test_a_batch_of_points_is_optimised_jointly():
    XT, Y = some_answers()
    sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
    acquisition = qUpperConfidenceBound(TimeVaryingGP(XT, Y, **FIXED), beta=2.0, sampler=sampler)
    square = tensor([[0.0, 0.0], [1.0, 1.0]])
    search = {"num_restarts": 4, "raw_samples": 32, "options": {"seed": 0, "maxiter": 50}}
    x, three = optimize_acqf(at_round(acquisition, 13), square, q=3, **search)
    _, one = optimize_acqf(at_round(acquisition, 13), square, q=1, **search)
    assert x.shape == (3, 2)
    assert three > one


# --- decide ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda model: UpperConfidenceBound(model, beta=2.0),
    lambda model: LogExpectedImprovement(model, best_f=0.5),
    lambda model: qUpperConfidenceBound(model, beta=2.0, sampler=SobolQMCNormalSampler(torch.Size([64]), seed=0)),
    PosteriorMean,
], ids=["UCB", "LogEI", "qUCB", "mean"])  # fmt: skip
def test_any_acquisition_is_played_at_its_maximum_and_compared_at_its_local_maxima(make):
    XT, Y = some_answers(d=1, n=8)
    model = TimeVaryingGP(XT, Y, **{**FIXED, "lengthscale": 0.1})
    surface = at_round(make(model), 9)
    line = torch.linspace(0, 1, 2001, dtype=torch.float64)
    heights = numpy(surface(line[:, None, None]))
    padded = np.concatenate([[-np.inf], heights, [-np.inf]])
    peaks = numpy(line)[(padded[1:-1] > padded[:-2]) & (padded[1:-1] > padded[2:])]
    seen = []

    class Look:
        def decide(self, situation):
            seen.append(situation)
            return midrun.Confidence(0.9).decide(situation)

    x, verdict = decide(Look(), model, make(model), UNIT, t=9, round=9, bandwidth=0.02,
                        generator=np.random.default_rng(0))  # fmt: skip
    assert surface(x[None]).item() >= heights.max() - 1e-6 * np.ptp(heights)
    modes = np.sort(seen[0].optima.modes[:, 0])
    assert np.abs(x.numpy() - seen[0].optima.point).max() == 0
    nearest = np.abs(modes[:, None] - peaks[None, :]).argmin(axis=1)
    np.testing.assert_allclose(modes, peaks[nearest], atol=1e-3)
    assert len(set(nearest)) == len(modes) >= len(peaks) - 1  # LogEI has one that nobody climbs
    assert verdict.rival is not None
    assert seen[0].beta == (2.0 if make(model).__class__ is UpperConfidenceBound else None)


def test_a_decision_is_the_same_from_the_same_generator_and_in_other_units():
    XT, Y = some_answers(d=2)
    model = TimeVaryingGP(XT, Y, **FIXED)
    wide = XT * tensor([10.0, 100.0, 1.0])
    stretched = TimeVaryingGP(wide, Y, **{**FIXED, "lengthscale": [3.0, 30.0]})
    state = torch.random.get_rng_state()
    found = [
        decide(midrun.Confidence(0.9), m, UpperConfidenceBound(m, beta=2.0), tensor([[0, 0], upper]),
               t=13, round=13, generator=np.random.default_rng(4))
        for m, upper in ((model, [1, 1]), (model, [1, 1]), (stretched, [10, 100]))
    ]  # fmt: skip
    assert torch.equal(state, torch.random.get_rng_state()), "the global generator was used"
    (x, v), (x_again, v_again), (x_wide, v_wide) = found
    assert torch.equal(x, x_again)
    assert v.statistic == v_again.statistic
    np.testing.assert_allclose(numpy(x_wide) / [10, 100], numpy(x), atol=1e-3)
    assert v_wide.statistic == pytest.approx(v.statistic, abs=1e-3)
    assert (v.query, v.kind) == (v_wide.query, v_wide.kind)


def test_a_model_without_time_is_decided_on_too():
    XT, Y = some_answers(d=1)
    model = SingleTaskGP(XT[:, :1], Y)
    lone = decide(midrun.Confidence(0.9), model, PosteriorMean(model), UNIT, t=None, round=13,
                  bandwidth=2.0, generator=np.random.default_rng(0))  # fmt: skip
    assert lone[1].kind == "single mode"  # all within the bandwidth: compared with the cover
    line = np.linspace(0, 1, 101)[:, None]
    assert (
        ModelPosterior(model).marginal(lone[0].numpy())[0]
        >= ModelPosterior(model).marginal(line)[0].max() - 1e-6
    )


def test_categories_are_enumerated():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(40), rng.integers(0, 3, 40)])
    y = np.where(X[:, 1] == 2, 1.0, 0.0) - 4 * (X[:, 0] - 0.3) ** 2
    model = TimeVaryingGP(
        tensor(np.column_stack([X, np.arange(40.0)])), tensor(y)[:, None],
        **{**FIXED, "forgetting": 0.001}, categorical=[1],
    )  # fmt: skip
    x, verdict = decide(
        midrun.Confidence(0.9), model, PosteriorMean(model), tensor([[0, 0], [1, 2]]),
        t=40, round=41, num_restarts=5, fixed_features_list=[{1: 0.0}, {1: 1.0}, {1: 2.0}],
        generator=rng,
    )  # fmt: skip
    assert x[0, 1] == 2.0
    assert x[0, 0].item() == pytest.approx(0.3, abs=0.05)
    assert not verdict.query
    assert verdict.rival[1] in (0.0, 1.0)


def drifting(x, t):
    return math.exp(-(((x - 0.5 - 0.3 * math.sin(t / 30)) / 0.25) ** 2))


def test_ce_gp_ucb_runs_inside_botorch_and_skips_rounds():
    rng = np.random.default_rng(0)
    XT, Y = torch.empty(0, 2, dtype=torch.float64), torch.empty(0, 1, dtype=torch.float64)
    line = torch.linspace(0, 1, 1001, dtype=torch.float64)[:, None, None]
    queries, regret = [], []
    for t in range(1, 31):
        model = TimeVaryingGP(
            XT, Y, lengthscale=0.3, forgetting=0.05, noise=1e-3, scale=0.25, mean=0.3
        )
        ucb = UpperConfidenceBound(model, beta=midrun.LogBeta(0.8, 4)(t, None))
        x, verdict = decide(midrun.Confidence(0.9), model, ucb, UNIT, t=t, round=t, generator=rng)
        surface = at_round(ucb, t)
        assert surface(x[None]).item() >= surface(line).max().item() - 1e-6
        regret.append(1 - drifting(x.item(), t))
        queries.append(verdict.query)
        if verdict.query:
            XT = torch.cat([XT, append_round(x, t)])
            Y = torch.cat([Y, tensor([[drifting(x.item(), t) + 0.03 * rng.normal()]])])
    assert queries[0]
    assert 3 <= sum(queries) < 30
    assert sum(regret[10:]) / 20 < 0.2  # a random choice: 0.65


# --- the border ------------------------------------------------------------------------------


def test_bad_input_is_named():
    XT, Y = some_answers()
    with pytest.raises(ValueError, match=r"train_X.*float64"):
        TimeVaryingGP(XT.float(), Y)
    with pytest.raises(ValueError, match="append_round"):
        TimeVaryingGP(XT[:, :1], Y)
    with pytest.raises(ValueError, match=r"0 to 1, but got 2"):
        TimeVaryingGP(XT, Y, categorical=[2])
    with pytest.raises(ValueError, match="`kernel` must be one of"):
        TimeVaryingGP(XT, Y, kernel="rbf")
    with pytest.raises(ValueError, match="share forgotten per round"):
        ForgettingKernel(1.0)
    with pytest.raises(ValueError, match="active_dims"):
        ForgettingKernel(0.1)(XT).to_dense()
    model = TimeVaryingGP(XT, Y, **FIXED)
    mean = PosteriorMean(model)
    with pytest.raises(ValueError, match="no part of them"):
        decide(midrun.Always(), model, mean, tensor([1.0, 0.0]), t=13, round=13)
    with pytest.raises(TypeError, match="call it"):
        decide(midrun.Always, model, mean, tensor([[0, 0], [1, 1]]), t=13, round=13)


def test_without_botorch_the_import_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpytorch", None)
    monkeypatch.delitem(sys.modules, "midrun.integrations.botorch")
    with pytest.raises(ImportError, match=r"pip install 'midrun\[botorch\]'"):
        importlib.import_module("midrun.integrations.botorch")


def test_the_example_runs():
    example = runpy.run_path(str(EXAMPLE))
    queries, regret = example["run"](rounds=8)
    assert 1 <= queries <= 8
    assert math.isfinite(regret)
