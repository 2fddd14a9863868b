from __future__ import annotations

import numpy as np
import pytest

from midrun.belief.forgetting import Markov, SquaredExponential
from midrun.belief.kernels import KERNELS, PROFILES, Kernel
from tests import oracle


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [1, 3])
def test_a_kernel_is_a_correlation_matrix_of_the_textbook(name, d):
    rng = np.random.default_rng(d)
    X, Z, lengthscale = rng.random((20, d)), rng.random((9, d)), rng.uniform(0.1, 2, d)
    k = Kernel(name, lengthscale, np.zeros(d, bool))
    np.testing.assert_allclose(k(X, Z), oracle.correlation(name, lengthscale, X, Z), atol=1e-12)
    K = k(X, X)
    np.testing.assert_array_equal(np.diag(K), 1.0)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-10


@pytest.mark.parametrize("name", PROFILES)
def test_slopes_are_central_differences(name):
    rng = np.random.default_rng(0)
    X, Z = rng.random((6, 3)), rng.random((5, 3))
    lengthscale = np.array([0.3, 0.8, 1.0])
    k = Kernel(name, lengthscale, np.array([False, False, True]))
    X[:3, 2], Z[:2, 2] = 1.0, 1.0
    value, factor = k.with_slope(X, Z)
    np.testing.assert_allclose(value, k(X, Z), atol=1e-7)
    h = 1e-6
    for j in range(2):
        step = np.zeros(3)
        step[j] = h
        numeric = (k(X + step, Z) - k(X - step, Z)) / (2 * h)
        exact = factor * 2 * (X[:, None, j] - Z[None, :, j]) / lengthscale[j] ** 2
        np.testing.assert_allclose(exact, numeric, atol=1e-7)


def test_categories_are_alike_by_how_many_agree_not_by_how_far():
    k = Kernel("se", np.array([1.0, 0.5, 2.0]), np.array([False, True, True]))
    a = np.array([[0.2, 0.0, 0.0]])
    others = np.array([[0.2, 0.5, 0.0], [0.2, 1.0, 0.0], [0.2, 1.0, 1.0], [0.2, 0.0, 0.0]])
    np.testing.assert_allclose(k(a, others)[0], np.exp([-2.0, -2.0, -2.5, 0.0]))


@pytest.mark.parametrize("epsilon", [0.0, 1e-12, 0.03, 0.999999])
def test_both_kernels_in_time_agree_after_one_round(epsilon):
    markov, se = Markov(epsilon), SquaredExponential(epsilon)
    assert float(markov(1)) == float(se(1))
    assert float(markov(0)) == float(se(0)) == 1.0
    assert float(markov(-2.5)) == float(markov(2.5))
    assert 0.0 <= float(se(1e6)) <= 1.0
    np.testing.assert_allclose(markov(np.array([2.0, 10.0])), (1 - epsilon) ** np.array([1.0, 5.0]))
