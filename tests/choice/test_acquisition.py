from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from midrun.choice.acquisition import EI, PI, UCB, Mean, Setting
from midrun.choice.beta import LogBeta, TheoryBeta
from midrun.normal import log_expected_improvement

SETTING = Setting(t=3, size=10, scale=1.0, incumbent=lambda: 0.7)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.9, 0.3), (-1.0, 0.5), (0.7, 2.0)])
def test_expected_improvement_is_its_integral(mean, std):
    integral = quad(lambda f: (f - 0.7) * norm.pdf(f, mean, std), 0.7, 0.7 + 40 * std)[0]
    assert math.exp(EI().score(np.array([mean]), np.array([std]), SETTING)[0]) == pytest.approx(
        integral, rel=1e-8
    )


def test_log_expected_improvement_keeps_its_order_far_into_both_tails():
    z = -np.concatenate([np.linspace(0, 2000, 200_001), 10.0 ** np.arange(3.4, 100, 0.5)])
    value = log_expected_improvement(z)
    assert np.isfinite(value).all()
    assert (np.diff(value) < 0).all()
    assert log_expected_improvement(np.array([1e100]))[0] == pytest.approx(math.log(1e100))


def test_log_expected_improvement_equals_its_asymptotic_series():
    for z in (-30.0, -300.0, -999.0, -1001.0, -1e5):
        series = norm.logpdf(z) - 2 * math.log(-z) + math.log1p(-3 / z**2 + 15 / z**4)
        assert log_expected_improvement(np.array([z]))[0] == pytest.approx(series, rel=1e-9)


def test_probability_of_improvement_orders_points_that_underflow():
    mean, std = np.array([-100.0, -200.0, 5.0]), np.array([1.0, 1.0, 1.0])
    score = PI(0.0).score(mean, std, SETTING)
    assert np.isfinite(score).all()
    assert score[1] < score[0] < score[2] <= 0
    assert math.exp(score[2]) == pytest.approx(norm.cdf(4.3))


def test_a_certain_point_has_a_finite_score():
    for choice in (EI(), PI(), UCB(2.0), Mean()):
        assert np.isfinite(choice.score(np.array([0.0, 0.7, 1.0]), np.zeros(3), SETTING)).all()


def test_beta_schedules_are_their_formulas():
    assert LogBeta(0.8, 4)(7, None) == 0.8 * math.log(28)
    assert TheoryBeta(0.1)(3, 50) == pytest.approx(2 * math.log(50 * math.pi**2 * 9 / 0.6))
    with pytest.raises(ValueError, match="finite set"):
        TheoryBeta(0.1)(3, None)
    one = UCB(LogBeta(0.8, 4)).score(np.zeros(1), np.ones(1), SETTING)[0]
    assert one == pytest.approx(math.sqrt(0.8 * math.log(12)))
