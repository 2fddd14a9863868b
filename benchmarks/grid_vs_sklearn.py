"""A round of midrun against a round with scikit-learn's Gaussian process, same data.

At m = 1,000 candidates and around 500 observations: ``ask`` and ``tell`` of a tuner that always
queries, against ``GaussianProcessRegressor`` with the same fixed Matern-3/2 kernel, refitted on
all data so far and read (mean and std) at all candidates. Nothing is forgotten (epsilon = 0), so
the two posteriors are equal, which is checked. The two alternate round by round on the same data;
threads are the libraries' default for both. midrun goes second in every round: scikit-learn's
matrices have then emptied the caches, as training would, which doubles midrun's time; going first
would flatter it. scikit-learn's side is fit and predict alone, without acquisition, argmax or
records. Asked of the time per round: at least 20 times less; the moonshot is 50 times.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_least, at_most, quartiles, table
from midrun.belief.grid import BLOCK

LENGTHSCALE, NOISE = 0.2, 0.01


def run(quick: bool) -> dict[str, Any]:
    m = 1000
    # Two blocks of rounds around the 500th: the fold, once per block, has its true share.
    first, last = (480, 500) if quick else (500 - BLOCK + 1, 500 + BLOCK)
    window = (480, 500) if quick else (450, 500)

    rng = np.random.default_rng(0)
    X = rng.random((m, 2))
    f = np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])
    tuner = midrun.Tuner(
        candidates=X,
        belief=midrun.Belief(
            "matern32", lengthscale=LENGTHSCALE, forgetting=0.0, noise=NOISE, scale=1.0, mean=0.0
        ),
        query=midrun.Always(),
        seed=0,
    )
    peer = GaussianProcessRegressor(
        Matern(LENGTHSCALE, length_scale_bounds="fixed", nu=1.5), alpha=NOISE, optimizer=None
    )
    played: list[int] = []
    rewards: list[float] = []

    def ours() -> float:
        start = perf_counter()
        decision = tuner.ask()
        seconds = perf_counter() - start
        assert decision.index is not None
        reward = float(f[decision.index] + np.sqrt(NOISE) * rng.standard_normal())
        start = perf_counter()
        tuner.tell(decision, reward=reward)
        seconds += perf_counter() - start
        played.append(decision.index)
        rewards.append(reward)
        return seconds

    def theirs(n: int) -> tuple[float, Any, Any]:
        Z, y = X[played[:n]], np.array(rewards[:n])
        start = perf_counter()
        mean, std = peer.fit(Z, y).predict(X, return_std=True)
        return perf_counter() - start, mean, std

    for _ in range(1, first):
        ours()
    theirs(first - 1)  # what is loaded or compiled at the first call is not timed
    rounds = np.arange(first, last + 1)
    seconds = np.empty((len(rounds), 2))
    apart_mean = apart_std = 0.0
    progress = Progress(f"rounds {first} to {last}", len(rounds))
    for i, t in enumerate(rounds.tolist()):
        mean, std = tuner.predict()
        seconds[i, 1], their_mean, their_std = theirs(t - 1)
        seconds[i, 0] = ours()
        apart_mean = max(apart_mean, float(np.abs(mean - their_mean).max()))
        apart_std = max(apart_std, float(np.abs(std - their_std).max()))
        progress.step()

    inside = (rounds >= window[0]) & (rounds <= window[1])
    ratio = quartiles(seconds[inside, 1] / seconds[inside, 0])
    ratio_of_means = float(seconds[:, 1].mean() / seconds[:, 0].mean())
    ms = 1e3 * seconds
    by_round = [quartiles(ms[inside, side]) for side in (0, 1)]
    return {
        "tables": [
            table(
                f"ms per round, m = {m:,}, rounds {window[0]}-{window[1]}",
                ["", "lower quartile", "median", "upper quartile"],
                [
                    ["midrun: ask + tell", *by_round[0]],
                    ["scikit-learn: fit + predict", *by_round[1]],
                    ["ratio, round by round", *ratio],
                ],
            ),
            table(
                f"ms per round, mean of rounds {first}-{last}, folding included",
                ["", "mean", "slowest round"],
                [
                    ["midrun: ask + tell", float(ms[:, 0].mean()), float(ms[:, 0].max())],
                    ["scikit-learn: fit + predict", float(ms[:, 1].mean()), float(ms[:, 1].max())],
                    ["ratio", ratio_of_means, ""],
                ],
            ),
            table(
                "largest difference of the two posteriors, all rounds and candidates",
                ["", "value"],
                [["mean", apart_mean], ["std", apart_std]],
            ),
        ],
        "asked": [
            at_least("ratio, median over rounds", 20.0, ratio[1]),
            at_least("ratio, median over rounds, moonshot", 50.0, ratio[1]),
            at_least("ratio of means, folding included", 20.0, ratio_of_means),
            at_most("difference of posterior means", 1e-6, apart_mean),
        ],
        "seconds_midrun": seconds[:, 0].tolist(),
        "seconds_sklearn": seconds[:, 1].tolist(),
        "rounds": rounds.tolist(),
    }
