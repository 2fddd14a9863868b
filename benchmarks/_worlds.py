"""Drifting functions to play on: the paper's line of points, and random features in a cube.

Both follow the Markov model of section 4.1, f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g_{t+1}, where
every g is a fresh draw of the same Gaussian process of variance 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

import midrun

Array = npt.NDArray[np.float64]

NOISE = 0.01  # variance of an answer's noise, in both


@dataclass(frozen=True)
class Line:
    """f_t on m points of [0, 1] for T rounds, Matern-3/2 of lengthscale 0.2."""

    X: Array  # (m, 1)
    F: Array  # (T, m)
    noise: Array  # (T,)
    epsilon: float

    @property
    def belief(self) -> midrun.Belief:
        """The true parameters."""
        return midrun.Belief(
            "matern32", lengthscale=0.2, forgetting=self.epsilon, noise=NOISE, scale=1.0, mean=0.0
        )


@cache
def _root(m: int) -> tuple[Array, Array]:
    X = np.linspace(0.0, 1.0, m)[:, None]
    a = math.sqrt(3.0) * np.abs(X - X.T) / 0.2
    return X, np.linalg.cholesky((1.0 + a) * np.exp(-a) + 1e-8 * np.eye(m))


def line(seed: int, epsilon: float, *, m: int, T: int) -> Line:
    """The paper's synthetic problem; the same seed has the same innovations at every epsilon."""
    rng = np.random.default_rng([seed, m, T])
    X, L = _root(m)
    F = _drift(rng.standard_normal((T, m)) @ L.T, epsilon)
    return Line(X, F, math.sqrt(NOISE) * rng.standard_normal(T), epsilon)


def _drift(fresh: Array, epsilon: float) -> Array:
    """The Markov model, from its innovations (T, k)."""
    state = fresh.copy()
    for t in range(1, len(state)):
        state[t] = math.sqrt(1.0 - epsilon) * state[t - 1] + math.sqrt(epsilon) * fresh[t]
    return state


@dataclass(frozen=True)
class Cube:
    """f_t on [0, 1]^d for T rounds: f_t(x) = sqrt(2 / M) sum_i w_ti cos(omega_i . x + phase_i)."""

    omega: Array  # (M, d)
    phase: Array  # (M,)
    W: Array  # (T, M)
    noise: Array  # (T,)
    best: Array  # (T,) max over x of f_t(x), as well as it could be found
    belief: midrun.Belief  # the true parameters

    def values(self, t: int, X: Array) -> Array:
        """f_t at rows (n, d)."""
        return _features(self.omega, self.phase, X) @ self.W[t]


def _features(omega: Array, phase: Array, X: Array) -> Array:
    return np.cos(X @ omega.T + phase) * math.sqrt(2.0 / len(phase))


def cube(
    seed: int,
    d: int,
    *,
    kernel: str = "matern52",
    lengthscale: float | Array = 0.4,
    epsilon: float = 0.01,
    T: int = 100,
    features: int = 500,
    points: int = 4000,
) -> Cube:
    """A drifting draw of a Gaussian process by random Fourier features (Rahimi and Recht 2007).

    Args:
        seed: Of everything.
        d: Dimensions.
        kernel: ``"matern52"`` or ``"se"``.
        lengthscale: One, or one per dimension.
        epsilon: Forgotten per round.
        T: Rounds.
        features: Cosines, M.
        points: Random points, the same in every round, among which the best is looked for; from
            the five best of them L-BFGS-B climbs on. 0: the best is left out (NaN).
    """
    rng = np.random.default_rng([seed, d, T])
    omega = rng.standard_normal((features, d)) / lengthscale
    if kernel == "matern52":  # its spectrum is a Student t of 2 nu = 5 degrees of freedom
        omega /= np.sqrt(rng.chisquare(5.0, features) / 5.0)[:, None]
    elif kernel != "se":
        raise ValueError(f"no spectrum for kernel {kernel!r}")
    phase = rng.uniform(0.0, 2.0 * math.pi, features)
    W = _drift(rng.standard_normal((T, features)), epsilon)
    noise = math.sqrt(NOISE) * rng.standard_normal(T)
    best = np.full(T, math.nan)
    if points:
        X = rng.random((points, d))
        F = _features(omega, phase, X) @ W.T  # (points, T)
        for t in range(T):
            starts = X[np.argsort(-F[:, t])[:5]]
            best[t] = max(_climb(omega, phase, W[t], x) for x in starts)
    belief = midrun.Belief(
        kernel,
        lengthscale=np.broadcast_to(lengthscale, d).tolist(),
        forgetting=epsilon,
        noise=NOISE,
        scale=1.0,
        mean=0.0,
    )
    return Cube(omega, phase, W, noise, best, belief)


def _climb(omega: Array, phase: Array, w: Array, x: Array) -> float:
    scale = math.sqrt(2.0 / len(phase))

    def loss(x: Array) -> tuple[float, Array]:
        angle = omega @ x + phase
        return -scale * float(w @ np.cos(angle)), scale * ((w * np.sin(angle)) @ omega)

    found = minimize(loss, x, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * len(x))
    return -float(found.fun)


@dataclass(frozen=True)
class Played:
    """What a run on a line gave."""

    regret: float  # R_T / T
    queries: int  # C_T, every query counted


def play(tuner: midrun.Tuner, world: Line) -> Played:
    """One run, told where a query is asked for."""
    regret, queries = 0.0, 0
    for f, noise in zip(world.F, world.noise, strict=True):
        decision = tuner.ask()
        assert decision.index is not None
        regret += float(f.max() - f[decision.index])
        if decision.query:
            queries += 1
            tuner.tell(decision, reward=float(f[decision.index] + noise))
    return Played(regret / len(world.F), queries)
