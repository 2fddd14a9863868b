"""Does a round cost the same after 5,000 rounds on a continuous space, and where does memory go?

A tuner in four dimensions queries in every round, once with given parameters (a window of at most
512 answers) and once with everything learned (a bank of beliefs on at most 256). Compared: the last
500 rounds with rounds 601-1,100, when both windows have been full for a while, once as they come
and once side by side, ten rounds of the old tuner in turn with ten of a young one. Windows fill and
empty like a saw, by a quarter each, so every stretch compared holds several teeth. Memory is what
the process holds at the end against after 1,100 rounds, without the history, which keeps every
round by design. BLAS has one thread: threads that wait for a core taken by another process would
drown the ratio. Asked: at most 1.3 times the time, and flat memory.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_most, quartiles, table
from benchmarks._worlds import NOISE
from benchmarks.long_run import give_back, held, resident

D, TURN = 4, 10
SPACE = {f"x{j}": (0.0, 1.0) for j in range(D)}
BELIEFS = {
    "given": midrun.Belief(lengthscale=0.4, forgetting=0.01, noise=NOISE, scale=1.0, mean=0.0),
    "learned": None,
}


class Run:
    """A tuner and a cheap reward that wanders slowly."""

    def __init__(self, belief: midrun.Belief | None) -> None:
        self.tuner = midrun.Tuner(SPACE, belief=belief, query=midrun.Always(), seed=0)
        self.rng = np.random.default_rng(0)
        self.t = 0

    def play(self, rounds: int) -> float:
        """Seconds of some rounds."""
        seconds = 0.0
        for _ in range(rounds):
            self.t += 1
            start = perf_counter()
            decision = self.tuner.ask()
            seconds += perf_counter() - start
            x = np.array(list(decision.params.values()))
            peak = 0.5 + 0.3 * np.sin(self.t / np.array([80.0, 110.0, 150.0, 210.0]))
            reward = float(np.cos(4.0 * (x - peak)).sum()) / 2.0
            reward += 0.1 * float(self.rng.standard_normal())
            start = perf_counter()
            self.tuner.tell(decision, reward=reward)
            seconds += perf_counter() - start
        return seconds


def memory(run: Run) -> dict[str, int]:
    """Bytes, by what holds them."""
    give_back()
    total, history = resident(), held(run.tuner.history)
    return {"resident": total, "of it the history": history, "of it all else": total - history}


def run(quick: bool) -> dict[str, Any]:
    with threadpool_limits(1):
        return _run(quick)


def _run(quick: bool) -> dict[str, Any]:
    rounds, (first, last), final = (700, (540, 620), 80) if quick else (5000, (600, 1100), 500)
    times, sizes, asked, figures = [], [], [], {}
    for name, belief in BELIEFS.items():
        old = Run(belief)
        seconds: list[float] = []  # by turns
        progress = Progress(f"{name}: {rounds:,} rounds and then some, in tens", rounds // TURN)
        for i in range(rounds // TURN):
            seconds.append(old.play(TURN))
            if TURN * (i + 1) == last:
                early_memory = memory(old)
            progress.step()
        late_memory = memory(old)

        young = Run(belief)
        progress = Progress(f"{name}: a young tuner, in tens", (first + final) // TURN)
        for _ in range(first // TURN):
            young.play(TURN)
            progress.step()
        turns = np.empty((final // TURN, 2))
        for pair in turns:
            pair[:] = old.play(TURN), young.play(TURN)
            progress.step()

        ms = 1e3 / TURN
        early = ms * np.array(seconds[first // TURN : last // TURN])
        late = ms * np.array(seconds[-final // TURN :])
        as_they_come = float(late.mean() / early.mean())
        side_by_side = float(turns[:, 0].sum() / turns[:, 1].sum())
        low, median, high = quartiles(turns[:, 0] / turns[:, 1])
        grown = {k: (late_memory[k] - early_memory[k]) / 1e6 for k in late_memory}
        times += [
            [f"{name}: rounds {first + 1:,}-{last:,}", float(early.mean()), float(np.max(early))],
            [f"{name}: the last {final}", float(late.mean()), float(np.max(late))],
            [f"{name}: ratio as they come", as_they_come, ""],
            [f"{name}: ratio side by side", side_by_side, f"{low:.3g} {median:.3g} {high:.3g}"],
        ]
        sizes += [
            [f"{name}: {k}", early_memory[k] / 1e6, late_memory[k] / 1e6, grown[k]]
            for k in late_memory
        ]
        asked += [
            at_most(f"{name}: last {final} rounds / {first + 1:,}-{last:,}", 1.3, as_they_come),
            at_most(f"{name}: old / young side by side", 1.3, side_by_side),
            at_most(f"{name}: growth beside the history, MB", 5.0, grown["of it all else"]),
        ]
        figures[name] = {"seconds_per_turn": seconds, "side_by_side": turns.tolist()}
    return {
        "tables": [
            table(
                f"ms per round, d = {D}, every round observed",
                ["", "mean", f"slowest {TURN}; quartiles of turns"],
                times,
            ),
            table("memory, MB", ["", f"after {last:,}", f"after {rounds:,}", "growth"], sizes),
        ],
        "asked": asked,
        **figures,
    }
