"""Equations 1-2 written out densely, independent of midrun: the oracle of the belief tests."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist


def correlation(kernel, lengthscale, A, B):
    """k(x, x') by the textbook formula, through SciPy's distances."""
    if kernel == "independent":
        return (cdist(A, B) == 0).astype(float)
    r = cdist(A / lengthscale, B / lengthscale)
    return {
        "se": lambda: np.exp(-(r**2) / 2),
        "matern12": lambda: np.exp(-r),
        "matern32": lambda: (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r),
        "matern52": lambda: (1 + 5**0.5 * r + 5 * r**2 / 3) * np.exp(-(5**0.5) * r),
    }[kernel]()


def in_time(time, epsilon, s, t):
    """k(t, t') of the two temporal kernels."""
    lag = np.abs(np.subtract.outer(np.asarray(s, float), np.asarray(t, float)))
    return (1 - epsilon) ** ((lag if time == "markov" else lag**2) / 2)


def posterior(
    X_new,
    t_new,
    X,
    t,
    y,
    *,
    kernel,
    lengthscale,
    epsilon,
    noise,
    scale=1.0,
    mean=0.0,
    time="markov",
):
    """Mean (q,) and covariance (q, q) of f at X_new and round t_new given the answers."""
    K_new = scale * correlation(kernel, lengthscale, X_new, X_new)
    if not len(X):
        return np.full(len(X_new), mean), K_new
    K = scale * correlation(kernel, lengthscale, X, X) * in_time(time, epsilon, t, t)
    k = scale * correlation(kernel, lengthscale, X_new, X) * in_time(time, epsilon, [t_new], t)
    A = np.linalg.solve(K + noise * np.eye(len(X)), np.column_stack([y - mean, k.T]))
    return mean + k @ A[:, 0], K_new - k @ A[:, 1:]
