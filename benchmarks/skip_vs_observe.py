"""What a round costs that is not observed, beside one that is.

Belief: reading mean and std at all m candidates, against that and ``observe``. Tuner: ``ask``
alone, the best known setting being played, against ``ask`` and ``tell``; once with a rule that
costs nothing and once with the paper's ``Confidence``, whose verdict is computed as ever and then
overruled, so that skipped and observed rounds alternate one by one on the same state. At m = 1,000
and 5,000 after 384 observations, in blocks of 128 pairs of rounds: answers are folded into the
dense matrix once per 128, and every block holds one fold. A figure is the mean of a block; given
are the median and the quartiles over blocks. Asked: a skipped round costs at most a fifth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_most, quartiles, table
from midrun.belief.build import finite_model
from midrun.belief.grid import BLOCK
from midrun.query.rule import QueryRule, Situation, Verdict

BELIEF = midrun.Belief(
    "matern32", lengthscale=0.2, forgetting=0.01, noise=0.01, scale=1.0, mean=0.0
)
Round = Callable[[bool], float]  # plays one, observed or not; its seconds


@dataclass
class Overruled:
    """A rule whose verdict is computed and then replaced by ours."""

    rule: QueryRule
    query: bool = True

    def decide(self, situation: Situation) -> Verdict:
        return replace(self.rule.decide(situation), query=self.query)


def reward_of(X: npt.NDArray[np.float64]) -> list[float]:
    values: list[float] = (np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])).tolist()
    return values


def belief_round(X: npt.NDArray[np.float64], rng: np.random.Generator) -> Round:
    model = finite_model(BELIEF, X, np.zeros(X.shape[1], dtype=bool))
    everything = np.arange(len(X))
    f = reward_of(X)
    t = 0

    def play(observed: bool) -> float:
        nonlocal t
        t += 1
        index = int(rng.integers(len(X)))
        value = f[index] + 0.1 * float(rng.standard_normal())
        start = perf_counter()
        model.posterior(t).marginal(everything)
        if observed:
            model.observe(index, value, t)
        return perf_counter() - start

    return play


def tuner_round(X: npt.NDArray[np.float64], rng: np.random.Generator, rule: QueryRule) -> Round:
    overruled = Overruled(rule)
    tuner = midrun.Tuner(candidates=X, belief=BELIEF, query=overruled, seed=0)
    f = reward_of(X)

    def play(observed: bool) -> float:
        overruled.query = observed
        start = perf_counter()
        decision = tuner.ask()
        seconds = perf_counter() - start
        if observed:
            assert decision.index is not None
            reward = f[decision.index] + 0.1 * float(rng.standard_normal())
            start = perf_counter()
            tuner.tell(decision, reward=reward)
            seconds += perf_counter() - start
        return seconds

    return play


def run(quick: bool) -> dict[str, Any]:
    plan = [(1000, 1)] if quick else [(1000, 9), (5000, 3)]  # m, timed blocks
    warm = 1 if quick else 3  # blocks
    kinds: dict[str, Callable[[npt.NDArray[np.float64], np.random.Generator], Round]] = {
        "belief": belief_round,
        "tuner, rule at no cost": lambda X, rng: tuner_round(X, rng, midrun.Always()),
        "tuner, Confidence(0.9)": lambda X, rng: tuner_round(X, rng, midrun.Confidence(0.9)),
    }
    rows, asked, figures = [], [], {}
    for m, blocks in plan:
        X = np.random.default_rng(0).random((m, 2))
        for kind, make in kinds.items():
            play = make(X, np.random.default_rng(1))
            progress = Progress(f"m = {m:,}, {kind}, blocks", warm + blocks)
            for _ in range(warm):
                for _ in range(BLOCK):
                    play(True)
                progress.step()
            seconds = np.empty((blocks, BLOCK, 2))
            for block in seconds:
                for pair in block:
                    pair[:] = play(False), play(True)
                progress.step()
            skipped, observed = 1e6 * seconds.mean(axis=1).T  # us, (blocks,) each
            ratio = quartiles(skipped / observed)
            rows.append(
                [
                    f"{m:,} {kind}",
                    float(np.median(skipped)),
                    float(np.median(observed)),
                    ratio[1],
                    f"{ratio[0]:.3f}-{ratio[2]:.3f}",
                    *(1e6 * np.median(seconds, axis=(0, 1))).tolist(),
                ]
            )
            asked.append(at_most(f"skipped / observed, m = {m:,}, {kind}", 0.2, ratio[1]))
            figures[f"{m} {kind}"] = {"skipped": skipped.tolist(), "observed": observed.tolist()}
    return {
        "tables": [
            table(
                "us per round: mean of a block of 128, its median over blocks; and the median "
                "round, which no fold falls into",
                ["m", "skipped", "observed", "ratio", "quartiles", "skipped*", "observed*"],
                rows,
            )
        ],
        "asked": asked,
        "us_per_round_by_block": figures,
    }
