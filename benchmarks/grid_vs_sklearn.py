"""A round of midrun against a round with scikit-learn's Gaussian process, same data.

At m = 1,000 candidates and around 500 observations: ``ask`` and ``tell`` of a tuner that always
queries, against ``GaussianProcessRegressor`` with the same fixed Matern-3/2 kernel, refitted on
all data so far and read (mean and std) at all candidates. Nothing is forgotten (epsilon = 0), so
the two posteriors are equal, which is checked. The two alternate round by round on the same data.
midrun goes second in every round: scikit-learn's matrices have then emptied the caches, as training
would, which doubles midrun's time; going first would flatter it. scikit-learn's side is fit and
predict alone, without acquisition, argmax or records. Twice: with threads as the libraries set
them, and with one thread for both sides. Where another process holds a core, scikit-learn's threads
wait for it and the first ratio grows tenfold: read the figures of one thread. Asked of the time per
round: at least 20 times less; the moonshot is 50 times.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from threadpoolctl import threadpool_limits  # comes with scikit-learn

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_least, at_most, quartiles, table
from midrun.belief.grid import BLOCK

M = 1000
LENGTHSCALE, NOISE = 0.2, 0.01


class Outcome(NamedTuple):
    """Rounds that were timed, (n,); seconds of midrun and scikit-learn, (n, 2)."""

    rounds: npt.NDArray[np.intp]
    seconds: npt.NDArray[np.float64]
    apart_mean: float  # largest difference of the two posteriors
    apart_std: float


def one_thread() -> AbstractContextManager[Any]:
    return threadpool_limits(1)


THREADS = {"one thread": one_thread, "threads as they come": nullcontext}


def play(first: int, last: int, what: str) -> Outcome:
    """A run from its first round on, of which rounds ``first`` to ``last`` are timed."""
    rng = np.random.default_rng(0)
    X = rng.random((M, 2))
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

    def theirs() -> tuple[float, Any, Any]:
        Z, y = X[played], np.array(rewards)
        start = perf_counter()
        mean, std = peer.fit(Z, y).predict(X, return_std=True)
        return perf_counter() - start, mean, std

    for _ in range(1, first):
        ours()
    theirs()  # what is loaded at the first call is not timed
    rounds = np.arange(first, last + 1)
    seconds = np.empty((len(rounds), 2))
    apart_mean = apart_std = 0.0
    progress = Progress(f"rounds {first} to {last}, {what}", len(rounds))
    for i in range(len(rounds)):
        mean, std = tuner.predict()
        seconds[i, 1], their_mean, their_std = theirs()
        seconds[i, 0] = ours()
        apart_mean = max(apart_mean, float(np.abs(mean - their_mean).max()))
        apart_std = max(apart_std, float(np.abs(std - their_std).max()))
        progress.step()
    return Outcome(rounds, seconds, apart_mean, apart_std)


def run(quick: bool) -> dict[str, Any]:
    # Two blocks of rounds around the 500th: the fold, once per block, has its true share.
    first, last = (480, 500) if quick else (500 - BLOCK + 1, 500 + BLOCK)
    window = (480, 500) if quick else (450, 500)
    tables, asked, figures = [], [], {}
    for threads, limited in THREADS.items():
        with limited():
            outcome = play(first, last, threads)
        inside = (outcome.rounds >= window[0]) & (outcome.rounds <= window[1])
        ms = 1e3 * outcome.seconds
        ratio = quartiles(ms[inside, 1] / ms[inside, 0])
        mean, slowest = ms.mean(axis=0).tolist(), ms.max(axis=0).tolist()
        tables += [
            table(
                f"ms per round, m = {M:,}, rounds {window[0]}-{window[1]}, {threads}",
                ["", "lower quartile", "median", "upper quartile"],
                [
                    ["midrun: ask + tell", *quartiles(ms[inside, 0])],
                    ["scikit-learn: fit + predict", *quartiles(ms[inside, 1])],
                    ["ratio, round by round", *ratio],
                ],
            ),
            table(
                f"ms per round, rounds {first}-{last}, folding included, {threads}",
                ["", "mean", "slowest round"],
                [
                    ["midrun: ask + tell", mean[0], slowest[0]],
                    ["scikit-learn: fit + predict", mean[1], slowest[1]],
                    ["ratio", mean[1] / mean[0], ""],
                ],
            ),
            table(
                f"largest difference of the two posteriors, {threads}",
                ["", "value"],
                [["mean", outcome.apart_mean], ["std", outcome.apart_std]],
            ),
        ]
        asked += [
            at_least(f"ratio, median over rounds, {threads}", 20.0, ratio[1]),
            at_least(f"the same, moonshot, {threads}", 50.0, ratio[1]),
            at_least(f"ratio of means, folding included, {threads}", 20.0, mean[1] / mean[0]),
            at_most(f"difference of posterior means, {threads}", 1e-6, outcome.apart_mean),
        ]
        figures[threads] = {"rounds": outcome.rounds.tolist(), "ms": ms.tolist()}
    return {"tables": tables, "asked": asked, "midrun_and_sklearn": figures}
