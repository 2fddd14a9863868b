"""One suggestion on a mixed space with everything learned, against Optuna's GPSampler.

Four continuous parameters (one of them on a log scale), two integers and two categories. Both sides
have the same history, in which midrun's tuner (``query=Always()``, nothing else given) chose the
points, and alternate round by round: Optuna's study is asked (``GPSampler(seed=...,
deterministic_objective=False)``, timed), its trial is closed as failed, which the sampler ignores,
and then midrun's round is added as a completed trial, untimed. A second tuner, with the default
rule, decides in the same rounds also whether to look; it is told in every round and has a history
of its own.

Optuna fits its Gaussian process inside every ``ask``; midrun fits inside ``tell``, on a schedule.
So ``ask`` is given alone and with the ``tell`` before it; the second is the like of Optuna's. Of
it the mean over rounds counts, not the median: most rounds have no fit. Windows of 10 rounds around
n = 30, 60 and 100 observations; once with one thread for every library, once with threads as they
come (GPSampler sets its own to one). Asked: at least 10 times faster per suggestion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_least, quartiles, table
from benchmarks._worlds import Array
from benchmarks.continuous_vs_botorch import THREADS

SIZES, HALF = (30, 60, 100), 5
WARM = 2  # asks of Optuna before a window: its fits start from the last one
OURS = ("ask", "ask + tell", "ask, default rule", "ask + tell, default rule")
SPACE = {
    "a": (0.0, 1.0),
    "b": (-2.0, 3.0),
    "c": (0.5, 1.0),
    "lr": midrun.Float(1e-5, 1e-1, log=True),
    "layers": (1, 8),
    "width": (16, 256),
    "optimizer": ["sgd", "adam", "rmsprop"],
    "schedule": ["constant", "cosine", "step", "linear"],
}


def reward(params: dict[str, Any], rng: np.random.Generator) -> float:
    """A smooth bump whose place in the numbers depends on the categories."""
    shift = {"sgd": 0.0, "adam": 0.15, "rmsprop": -0.1}[params["optimizer"]]
    bonus = {"constant": 0.0, "cosine": 0.3, "step": 0.1, "linear": 0.2}[params["schedule"]]
    unit = np.array(
        [
            params["a"] - 0.6 - shift,
            (params["b"] + 2.0) / 5.0 - 0.3,
            (params["c"] - 0.5) / 0.5 - 0.7,
            (math.log10(params["lr"]) + 5.0) / 4.0 - 0.5 - shift,
            (params["layers"] - 4.0) / 7.0,
            (params["width"] - 128.0) / 240.0,
        ]
    )
    return bonus - 2.0 * float(unit @ unit) + 0.1 * float(rng.standard_normal())


def side_by_side(seed: int, sizes: Sequence[int]) -> Array:
    """Seconds with 0, 1, ... observations: of Optuna's ask, and of each tuner's ask and tell.

    Optuna is asked in the windows around the sizes alone.
    """
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, BaseDistribution] = {
        "a": FloatDistribution(0.0, 1.0),
        "b": FloatDistribution(-2.0, 3.0),
        "c": FloatDistribution(0.5, 1.0),
        "lr": FloatDistribution(1e-5, 1e-1, log=True),
        "layers": IntDistribution(1, 8),
        "width": IntDistribution(16, 256),
        "optimizer": CategoricalDistribution(SPACE["optimizer"]),
        "schedule": CategoricalDistribution(SPACE["schedule"]),
    }
    sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=False)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    tuners = (
        midrun.Tuner(SPACE, query=midrun.Always(), seed=seed),
        midrun.Tuner(SPACE, seed=seed),
    )
    rng = np.random.default_rng(seed)

    rounds = sizes[-1] + HALF
    seconds = np.zeros((rounds, 1 + 2 * len(tuners)))
    progress = Progress(f"seed {seed}, rounds", rounds)
    for t in range(rounds):
        if any(-HALF - WARM <= t - n < HALF for n in sizes):
            start = perf_counter()
            trial = study.ask(distributions)
            seconds[t, 0] = perf_counter() - start
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        for i, tuner in enumerate(tuners):
            start = perf_counter()
            decision = tuner.ask()
            seconds[t, 1 + 2 * i] = perf_counter() - start
            value = reward(decision.params, rng)
            start = perf_counter()
            tuner.tell(decision, reward=value)
            seconds[t, 2 + 2 * i] = perf_counter() - start
            if i == 0:
                completed = optuna.trial.create_trial(
                    params=decision.params, distributions=distributions, value=value
                )
                study.add_trial(completed)
        progress.step()
    return seconds


def run(quick: bool) -> dict[str, Any]:
    sizes = SIZES[:1] if quick else SIZES
    seeds = (1, 1) if quick else (4, 1)
    rows, asked, figures = [], [], {}
    side_by_side(0, (12,))  # libraries load, threads start
    for (threads, limited), count in zip(THREADS.items(), seeds, strict=True):
        with limited():
            runs = np.array([side_by_side(seed, sizes) for seed in range(count)])
        figures[threads] = runs.tolist()
        for n in sizes:
            window = 1e3 * runs[:, n - HALF : n + HALF]  # ms, (seeds, rounds, 5)
            before = 1e3 * runs[:, n - HALF - 1 : n + HALF - 1]  # the tell before an ask
            theirs, always, default = window[..., 0], window[..., 1], window[..., 3]
            ways = (always, always + before[..., 2], default, default + before[..., 4])
            for way, ours in zip(OURS, ways, strict=True):
                low, median, high = quartiles((theirs / ours).ravel())
                of_means = float(theirs.mean() / ours.mean())
                rows.append(
                    [
                        f"{threads}, n = {n}: {way}",
                        *(float(np.median(ms)) for ms in (ours, theirs)),
                        median,
                        f"{low:.3g}-{high:.3g}",
                        *(float(ms.mean()) for ms in (ours, theirs)),
                        of_means,
                    ]
                )
                got = of_means if "tell" in way else median
                asked.append(at_least(f"{threads}, n = {n}: GPSampler / {way}", 10.0, got))
    return {
        "tables": [
            table(
                f"ms per suggestion, {2 * HALF} rounds around n, seeds: {seeds[0]} and {seeds[1]}",
                [
                    "",
                    *("midrun", "GPSampler", "ratio", "quartiles"),
                    *("mean, midrun", "mean, GPSampler", "ratio of means"),
                ],
                rows,
            )
        ],
        "asked": asked,
        "seconds": figures,
    }
