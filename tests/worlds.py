"""Drifting worlds of the paper's synthetic study, and a loop that plays them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

import midrun
from tests import oracle


@cache
def _root(m, lengthscale=0.2):
    X = np.linspace(0, 1, m)[:, None]
    K = oracle.correlation("matern32", np.array([lengthscale]), X, X)
    return X, np.linalg.cholesky(K + 1e-8 * np.eye(m))


@dataclass(frozen=True)
class World:
    """f_t on m points of [0, 1] for T rounds, and the noise of an answer in each."""

    X: np.ndarray  # (m, 1)
    F: np.ndarray  # (T, m)
    noise: np.ndarray  # (T,)
    epsilon: float

    @property
    def belief(self):
        """The true parameters."""
        return midrun.Belief(
            "matern32", lengthscale=0.2, forgetting=self.epsilon, noise=0.01, scale=1.0, mean=0.0
        )


def world(seed, epsilon, *, m=1000, T=500):
    """f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g, the Markov model of section 4.1."""
    rng = np.random.default_rng([seed, m, T])
    X, L = _root(m)
    F = np.empty((T, m))
    F[0] = L @ rng.standard_normal(m)
    for t in range(1, T):
        F[t] = np.sqrt(1 - epsilon) * F[t - 1] + np.sqrt(epsilon) * (L @ rng.standard_normal(m))
    return World(X, F, 0.1 * rng.standard_normal(T), epsilon)


@dataclass(frozen=True)
class Played:
    """What a run on a world gave."""

    regret: float  # R_T / T
    queries: np.ndarray  # (T,) bool

    @property
    def cost(self):
        """C_T, every query counted."""
        return int(self.queries.sum())


def play(tuner, world):
    """One run: ask, and tell where a query is asked for."""
    T = len(world.F)
    regret, queries = np.empty(T), np.zeros(T, bool)
    for t in range(T):
        decision = tuner.ask()
        value = world.F[t, decision.index]
        regret[t], queries[t] = world.F[t].max() - value, decision.query
        if decision.query:
            tuner.tell(decision, reward=value + world.noise[t])
    return Played(float(regret.mean()), queries)
