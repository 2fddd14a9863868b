"""What it costs not to know the parameters: the paper's synthetic problem, everything learned.

The line of section 5.1 (Matern-3/2 of lengthscale .2, noise variance .01, Markov drift) on m = 200
candidates, T = 500, eps = .01 and .03. The same rule, once with nothing but the candidates given
(``Tuner(candidates=X, query=rule)``: another kernel by default, and all its parameters learned),
once with the true belief; ``Always()`` and ``Confidence(0.9)``. Regret is R_T / T, a query is every
round that is observed; differences are paired by world. A rule that reads a learned belief is
guarded by default, so queries differ too. Asked: regret within 10 % of that with the true
parameters, 20 seeds.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_most, table
from benchmarks._worlds import Array, Played, line, play

RULES = {"Always()": midrun.Always(), "Confidence(0.9)": midrun.Confidence(0.9)}
EPSILONS = (0.01, 0.03)


def run(quick: bool, seeds: int | None = None) -> dict[str, Any]:
    m, T = (50, 60) if quick else (200, 500)
    seeds = seeds or (2 if quick else 20)
    cells = [(epsilon, rule) for epsilon in EPSILONS for rule in RULES]
    played: dict[tuple[float, str], list[tuple[Played, Played]]] = {cell: [] for cell in cells}
    seconds: list[tuple[float, float]] = []  # learned, given
    progress = Progress("pairs of runs", seeds * len(cells))
    for seed in range(seeds):
        for epsilon, rule in cells:
            world = line(seed, epsilon, m=m, T=T)
            pair, took = [], []
            for belief in (None, world.belief):
                tuner = midrun.Tuner(
                    candidates=world.X, belief=belief, query=RULES[rule], seed=seed
                )
                start = perf_counter()
                pair.append(play(tuner, world))
                took.append((perf_counter() - start) / T)
            played[epsilon, rule].append((pair[0], pair[1]))
            seconds.append((took[0], took[1]))
            progress.step()
        told = ", ".join(
            f"{rule} at {epsilon}: {a.regret:.3f}@{a.queries} given {b.regret:.3f}@{b.queries}"
            for (epsilon, rule), pairs in played.items()
            for a, b in pairs[-1:]
        )
        print(f"   seed {seed}: {told}", file=sys.stderr)

    rows, asked = [], []
    for (epsilon, rule), pairs in played.items():
        regret = np.array([(a.regret, b.regret) for a, b in pairs])  # (seeds, 2)
        queries = np.array([(a.queries, b.queries) for a, b in pairs], dtype=np.float64)
        learned, given = regret.mean(axis=0)
        rows.append(
            [
                f"{epsilon} {rule}",
                float(learned),
                float(given),
                float(learned / given),
                _error(regret[:, 0] - learned / given * regret[:, 1]) / float(given),
                float((regret[:, 0] - regret[:, 1]).mean()),
                _error(regret[:, 0] - regret[:, 1]),
                *queries.mean(axis=0).tolist(),
                float((queries[:, 0] - queries[:, 1]).mean()),
                _error(queries[:, 0] - queries[:, 1]),
            ]
        )
        what = f"eps = {epsilon}, {rule}: regret learned / given"
        asked.append(at_most(what, 1.1, float(learned / given)))
    ms = 1e3 * np.mean(seconds, axis=0)
    return {
        "tables": [
            table(
                f"R_T / T and queries, m = {m}, T = {T}, {seeds} seeds",
                [
                    *("eps", "learned", "given", "ratio", "se"),
                    *("difference", "se", "queries", "given", "difference", "se"),
                ],
                rows,
            ),
            table("ms per round", ["learned", "given"], [ms.tolist()]),
        ],
        "asked": asked,
        "played": {
            f"{epsilon}, {rule}": [
                {"regret": [a.regret, b.regret], "queries": [a.queries, b.queries]}
                for a, b in pairs
            ]
            for (epsilon, rule), pairs in played.items()
        },
    }


def _error(values: Array) -> float:
    """Standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))
