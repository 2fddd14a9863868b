from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.stats import multivariate_normal

import midrun.belief.learned as learned_module
from midrun.belief.build import continuous_model, finite_model
from midrun.belief.fit import Answers, Family, Units, fit
from midrun.belief.learned import EARLY, FIRST, NEWEST, WINDOW, Learned
from midrun.belief.prior import Belief
from tests import oracle


def drawn(kernel="matern32", *, n=120, d=2, lengthscale=(0.3, 0.8), epsilon=0.02, noise=0.05, scale=1.0,
          mean=0.0, time="markov", seed=0):  # fmt: skip
    """Answers at random points, drawn from the belief itself."""
    rng = np.random.default_rng(seed)
    X, times = rng.random((n, d)), np.arange(1.0, n + 1)
    K = scale * oracle.correlation(kernel, np.array(lengthscale), X, X)
    K *= oracle.in_time(time, epsilon, times, times)
    y = mean + np.linalg.cholesky(K + noise * np.eye(n)) @ rng.standard_normal(n)
    return Answers(X, times, y)


@pytest.mark.parametrize("time", ["markov", "se"])
@pytest.mark.parametrize("kernel", ["se", "matern12", "matern32", "matern52", "independent"])
def test_the_gradient_of_the_log_posterior_is_its_central_difference(kernel, time):
    rng = np.random.default_rng(1)
    answers = drawn(n=25)
    X = answers.X.copy()
    X[:, 1] = np.round(3 * X[:, 1])
    if kernel == "independent":
        X = np.round(3 * X)
    answers = Answers(X, answers.times, 40 + 3 * answers.y)
    family = Family(Belief(kernel, time=time), np.array([False, True]), np.ptp(X, axis=0))
    units = Units.of(answers.y)
    for _ in range(5):
        theta = family.prior_mean + 0.7 * family.prior_std * rng.normal(size=6)
        _, gradient = family.log_posterior(theta, answers, units)
        h = 1e-5
        numeric = [
            (family.log_posterior(theta + h * e, answers, units)[0]
             - family.log_posterior(theta - h * e, answers, units)[0]) / (2 * h)
            for e in np.eye(6)
        ]  # fmt: skip
        np.testing.assert_allclose(
            gradient, np.where(family.free, numeric, 0.0), rtol=1e-5, atol=1e-5
        )


def test_the_log_evidence_is_that_of_a_multivariate_normal():
    answers = drawn(n=30)
    family = Family(Belief("matern32"), np.zeros(2, bool), np.ones(2))
    units = Units(0.0, 1.0)
    theta = np.array([np.log(0.3), np.log(0.8), 0.2, np.log(0.07), -3.0, 0.4])
    kernel, forgetting, rest = family.unpack(theta, units)
    K = (
        rest.scale
        * kernel(answers.X, answers.X)
        * forgetting(answers.times[:, None] - answers.times)
    )
    evidence = multivariate_normal(np.full(30, rest.mean), K + rest.noise * np.eye(30)).logpdf(
        answers.y
    )
    z = (theta - family.prior_mean) / family.prior_std
    value = family.log_posterior(theta, answers, units)[0]
    assert value == pytest.approx(evidence - 0.5 * np.sum(z**2), rel=1e-9)


def test_a_fit_recovers_the_parameters_from_enough_answers():
    answers = drawn(n=300)
    family = Family(Belief("matern32"), np.zeros(2, bool), np.ones(2))
    units = Units.of(answers.y)
    found = fit(family, answers, units, family.prior_mean)
    kernel, forgetting, rest = family.unpack(found.theta, units)
    np.testing.assert_allclose(kernel.lengthscale, [0.3, 0.8], rtol=0.5)
    assert 0.008 < forgetting.epsilon < 0.05
    assert 0.02 < rest.noise < 0.1
    assert 0.4 < rest.scale < 2.5
    # at a maximum the gradient of what is free vanishes
    assert np.abs(family.log_posterior(found.theta, answers, units)[1]).max() < 0.5
    std = np.sqrt(np.diag(found.covariance))
    assert (std > 0).all()
    assert (std <= family.prior_std + 1e-9).all()


def test_what_is_given_stays_as_it_is_in_the_users_units():
    answers = drawn(n=60, scale=1e-8, noise=1e-10, mean=5.0)
    belief = Belief("matern32", lengthscale=0.5, noise=2e-10, mean=4.9)
    family = Family(belief, np.zeros(2, bool), np.ones(2))
    units = Units.of(answers.y)
    kernel, _, rest = family.unpack(fit(family, answers, units, family.prior_mean).theta, units)
    assert kernel.lengthscale.tolist() == [0.5, 0.5]
    assert rest.noise == 2e-10
    assert rest.mean == 4.9


@pytest.mark.parametrize(("offset", "unit"), [(0.0, 1e-4), (3e4, 1e4), (-7.0, 1e-9), (0.5, 0.0)])
def test_rewards_of_any_scale_and_offset_give_the_same_belief(offset, unit):
    # invariance: y -> offset + unit y scales the posterior and nothing else
    answers = drawn(n=40, d=1, lengthscale=(0.3,))
    none = np.zeros(1, bool)
    plain, other = continuous_model(Belief(), none), continuous_model(Belief(), none)
    for x, t, y in zip(answers.X, answers.times, answers.y, strict=True):
        plain.observe(x, y, t)
        other.observe(x, offset + unit * y, t)
    where = np.linspace(0, 1, 20)[:, None]
    mean, std = other.posterior(41).marginal(where)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    if unit:
        expected_mean, expected_std = plain.posterior(41).marginal(where)
        np.testing.assert_allclose((mean - offset) / unit, expected_mean, atol=2e-3)
        np.testing.assert_allclose(std / unit, expected_std, atol=2e-3)
    else:
        np.testing.assert_allclose(mean, offset, atol=1e-2)


def test_the_bank_doubts_where_a_point_estimate_is_certain():
    answers = drawn(n=10, d=2)
    none = np.zeros(2, bool)
    bank = continuous_model(Belief("matern32"), none)
    for x, t, y in zip(answers.X, answers.times, answers.y, strict=True):
        bank.observe(x, y, t)
    assert isinstance(bank, Learned)
    where = np.random.default_rng(0).random((200, 2))
    view = bank.posterior(11)
    mixture = view.marginal(where)[1]
    members = np.array([member.marginal(where)[1] for member in view.members])
    assert (
        mixture >= (view.weights @ members) - 1e-12
    ).all()  # Jensen: never surer than its members
    assert mixture.mean() > 1.02 * (view.weights @ members).mean()


def test_the_moments_of_the_mixture_are_those_of_its_samples():
    answers = drawn(n=12)
    bank = finite_model(Belief("matern32"), answers.X, np.zeros(2, bool))
    for i in range(12):
        bank.observe(i, answers.y[i], answers.times[i])
    view = bank.posterior(13)
    rng = np.random.default_rng(0)
    some = np.array([2, 7])
    samples = []
    for member, weight in zip(view.members, view.weights, strict=True):
        mean = member.marginal(some)[0]
        cov = np.array([member.covariance(some, i) for i in some])
        samples.append(rng.multivariate_normal(mean, cov, size=round(200_000 * weight)))
    f = np.concatenate(samples)
    mean, std = view.marginal(some)
    np.testing.assert_allclose(mean, f.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(std, f.std(axis=0), rtol=0.02)
    np.testing.assert_allclose(view.covariance(some, 2)[1], np.cov(f.T)[0, 1], atol=0.01)


def test_gradients_of_the_mixture_are_central_differences():
    answers = drawn(n=15)
    bank = continuous_model(Belief(), np.zeros(2, bool))
    for x, t, y in zip(answers.X, answers.times, answers.y, strict=True):
        bank.observe(x, y, t)
    view = bank.posterior(16)
    X = np.random.default_rng(0).random((10, 2))
    mean, std, dmean, dstd = view.with_gradient(X)
    for got, exact in zip((mean, std), view.marginal(X), strict=True):
        np.testing.assert_allclose(got, exact, atol=1e-6)
    np.testing.assert_allclose(view.mean_with_gradient(X)[1], dmean, atol=1e-10)
    h = 1e-5
    for j in range(2):
        up, down = (view.marginal(X + sign * h * np.eye(2)[j]) for sign in (1, -1))
        np.testing.assert_allclose(dmean[:, j], (up[0] - down[0]) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(dstd[:, j], (up[1] - down[1]) / (2 * h), atol=1e-5)


def test_fits_become_rare_and_the_window_stays_bounded(monkeypatch):
    fits = []
    real = learned_module.fit
    monkeypatch.setattr(learned_module, "fit", lambda *a: fits.append(1) or real(*a))
    rng = np.random.default_rng(0)
    bank = finite_model(Belief("independent"), np.eye(3), np.zeros(3, bool))
    for t in range(1, 3 * WINDOW):
        bank.observe(int(rng.integers(3)), float(rng.normal()), t)
    assert len(bank._y) <= WINDOW
    assert len(bank._fitted()) <= EARLY + NEWEST
    assert len(fits) < 40


def test_a_failed_fit_keeps_the_last_parameters_and_says_so(monkeypatch):
    answers = drawn(n=40)
    bank = continuous_model(Belief(), np.zeros(2, bool))
    for i in range(20):
        bank.observe(answers.X[i], answers.y[i], answers.times[i])
    before = bank.parameters["lengthscale"]

    def broken(*_):
        raise LinAlgError("made to fail")

    monkeypatch.setattr(learned_module, "fit", broken)

    def go_on():
        for i in range(20, 40):
            bank.observe(answers.X[i], answers.y[i], answers.times[i])

    with pytest.warns(RuntimeWarning, match=r"last good parameters.*noise"):
        go_on()
    assert bank.parameters["lengthscale"] == before
    assert np.isfinite(bank.posterior(41).marginal(answers.X)).all()


def test_before_the_first_fit_the_bank_is_the_prior():
    bank = continuous_model(Belief(), np.zeros(1, bool))
    mean, std = bank.posterior(1).marginal(np.array([[0.1], [0.9]]))
    np.testing.assert_allclose(mean, mean[0])
    assert (std > 0.5).all()
    for t in range(1, FIRST):
        bank.observe(np.array([0.5]), 1e3, t)
        mean, std = bank.posterior(t + 1).marginal(np.array([[0.5], [0.0]]))
        assert mean[0] == pytest.approx(1e3, rel=1e-3)
        assert std[0] < std[1]


@pytest.mark.parametrize("finite", [True, False])
def test_a_learned_belief_resumes_bit_for_bit(finite):
    answers = drawn(n=300)
    none = np.zeros(2, bool)

    def make():
        return (
            finite_model(Belief(), answers.X, none) if finite else continuous_model(Belief(), none)
        )

    def tell(model, start, stop):
        for i in range(start, stop):
            model.observe(i if finite else answers.X[i], answers.y[i], answers.times[i])

    for cut in (0, 2, 17, 290):
        one, two = make(), make()
        tell(one, 0, cut)
        two.load_state_dict(json.loads(json.dumps(one.state_dict(), allow_nan=False)))
        tell(one, cut, cut + 8)
        tell(two, cut, cut + 8)
        where = np.arange(50) if finite else answers.X[:50]
        for a, b in zip(
            one.posterior(400).marginal(where), two.posterior(400).marginal(where), strict=True
        ):
            np.testing.assert_array_equal(a, b)
