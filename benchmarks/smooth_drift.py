"""A best setting that moves steadily: the Markov kernel in time against the squared exponential.

The README's toy: the best dropout goes from .1 to .5 in 100 epochs, Adam beats SGD by .1, an answer
has noise of standard deviation .01. Everything else is learned, the rule is the default. Given are
the final best dropout (the truth is .5), the validation passes paid, and the mean metric lost to
the best setting of each epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import midrun
from benchmarks._progress import Progress
from benchmarks._table import quartiles, table

SPACE = {"dropout": (0.0, 0.8), "optim": ["sgd", "adam"]}
START = {"dropout": 0.4, "optim": "sgd"}


def play(time: str, seed: int, epochs: int) -> tuple[float, int, float]:
    rng = np.random.default_rng(seed)
    tuner = midrun.Tuner(SPACE, belief=midrun.Belief(time=time), start=START, seed=seed)
    lost = []
    for epoch in range(1, epochs + 1):
        decision = tuner.ask()
        away = decision.params["dropout"] - (0.1 + 0.4 * epoch / epochs)
        lost.append(2.0 * away**2 + 0.1 * (decision.params["optim"] == "sgd"))
        if decision.query:
            tuner.tell(decision, metric=0.9 - lost[-1] + 0.01 * float(rng.standard_normal()))
    return tuner.best()["dropout"], sum(r.query for r in tuner.history), float(np.mean(lost))


def run(quick: bool) -> dict[str, Any]:
    seeds, epochs = (1, 30) if quick else (8, 100)
    progress = Progress("runs", 2 * seeds)
    rows = []
    for time in ("markov", "se"):
        played = []
        for seed in range(seeds):
            played.append(play(time, seed, epochs))
            progress.step()
        best, passes, lost = (
            np.array(column, dtype=np.float64) for column in zip(*played, strict=True)
        )
        rows.append(
            [
                time,
                float(np.median(best)),
                f"{best.min():.2f}-{best.max():.2f}",
                float(passes.mean()),
                *quartiles(lost),
            ]
        )
    columns = ["time", "best dropout", "range", "passes", "lost: quartile", "median", "quartile"]
    title = f"{seeds} seeds, {epochs} epochs; the best dropout is .5 at the end"
    return {"tables": [table(title, columns, rows)], "asked": []}
