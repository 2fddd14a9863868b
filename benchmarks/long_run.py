"""Does a round cost the same after 100,000 rounds, and where does memory go?

A tuner on m = 250 candidates queries in every round; the reward is a table look-up, so that only
the tuner is timed. Compared: the last 1,000 rounds with rounds 1,001-2,000, once as they come in
the run and once side by side, ten rounds of the old tuner in turn with ten of a young one, which a
machine that slows down between start and end cannot blur. The slope is that of log(seconds per
1,000 rounds) on log(round), from round 1,001 on; 0 is constant cost. Memory is what the process
holds at the end against after 10,000 rounds; the history keeps every round by design, so its own
bytes are taken away. Asked: at most 1.3 times the time, and flat memory.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_most, quartiles, table

CHUNK = 1000
TURN = 10
STATM = Path("/proc/self/statm")


class Run:
    """A tuner and its cheap reward."""

    def __init__(self, m: int) -> None:
        rng = np.random.default_rng(0)
        X = rng.random((m, 2))
        self.reward: list[float] = (np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])).tolist()
        self.noise = cycle((0.1 * rng.standard_normal(CHUNK)).tolist())
        self.tuner = midrun.Tuner(
            candidates=X,
            belief=midrun.Belief(
                "matern32", lengthscale=0.2, forgetting=0.03, noise=0.01, scale=1.0, mean=0.0
            ),
            query=midrun.Always(),
            seed=0,
        )

    def play(self, rounds: int) -> float:
        """Seconds of some rounds."""
        tuner, reward, noise = self.tuner, self.reward, self.noise
        start = perf_counter()
        for _ in range(rounds):
            decision = tuner.ask()
            assert decision.index is not None
            tuner.tell(decision, reward=reward[decision.index] + next(noise))
        return perf_counter() - start


def resident() -> int:
    """Bytes of this process in memory now; elsewhere than on Linux, the most so far."""
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def give_back() -> None:
    """Return freed memory to the system: columns that grow by reallocation leave holes behind."""
    gc.collect()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):  # glibc
        ctypes.CDLL(None).malloc_trim(0)


def held(thing: Any) -> int:
    """Bytes of an object's columns; words shared by all rows are counted by their pointers."""
    parts = [p for v in vars(thing).values() for p in (v.values() if isinstance(v, dict) else [v])]
    return sum(map(sys.getsizeof, parts))


def memory(run: Run) -> dict[str, int]:
    """Bytes, by what holds them."""
    before = resident()
    give_back()
    after, history = resident(), held(run.tuner.history)
    return {
        "resident": before,
        "resident, freed memory given back": after,
        "of it the history": history,
        "of it all else": after - history,
    }


def run(quick: bool) -> dict[str, Any]:
    m, rounds = 250, 6_000 if quick else 100_000
    settled = 2_000 if quick else 10_000

    old = Run(m)
    seconds: list[float] = []
    progress = Progress(f"{rounds:,} rounds, in thousands", rounds // CHUNK)
    for i in range(rounds // CHUNK):
        seconds.append(old.play(CHUNK))
        if CHUNK * (i + 1) == settled:
            early_memory = memory(old)
        progress.step()
    late_memory = memory(old)

    ratio = seconds[-1] / seconds[1]
    end = np.log(CHUNK * np.arange(2, len(seconds) + 1))
    slope = float(np.polyfit(end, np.log(seconds[1:]), 1)[0])

    young = Run(m)
    young.play(CHUNK)
    turns = np.array([(old.play(TURN), young.play(TURN)) for _ in range(CHUNK // TURN)])
    by_turn = quartiles(turns[:, 0] / turns[:, 1])
    side_by_side = float(turns[:, 0].sum() / turns[:, 1].sum())

    us, MB = 1e6 / CHUNK, 1e6
    last = f"{rounds - CHUNK + 1:,}-{rounds:,}"
    grown = {name: late_memory[name] - early_memory[name] for name in late_memory}
    return {
        "tables": [
            table(
                f"us per round as they come, m = {m}, every round observed",
                ["rounds", "us"],
                [
                    ["1-1,000", us * seconds[0]],
                    ["1,001-2,000", us * seconds[1]],
                    [last, us * seconds[-1]],
                    ["fastest thousand", us * min(seconds)],
                    ["median thousand", us * float(np.median(seconds))],
                    ["slowest thousand", us * max(seconds)],
                    [f"{last} / 1,001-2,000", ratio],
                    ["log-log slope", slope],
                ],
            ),
            table(
                "us per round, side by side",
                ["rounds", "us"],
                [
                    ["1,001-2,000 of a young tuner", us * float(turns[:, 1].sum())],
                    [
                        f"{rounds + 1:,}-{rounds + CHUNK:,} of the old",
                        us * float(turns[:, 0].sum()),
                    ],
                    ["ratio", side_by_side],
                    [f"ratio by turns of {TURN}: lower quartile", by_turn[0]],
                    ["  median", by_turn[1]],
                    ["  upper quartile", by_turn[2]],
                ],
            ),
            table(
                "memory, MB",
                ["", f"after {settled:,}", f"after {rounds:,}", "growth", "bytes per round"],
                [
                    [
                        name,
                        early_memory[name] / MB,
                        late_memory[name] / MB,
                        grown[name] / MB,
                        grown[name] / (rounds - settled),
                    ]
                    for name in late_memory
                ],
            ),
        ],
        "asked": [
            at_most("last 1,000 rounds / rounds 1,001-2,000, as they come", 1.3, ratio),
            at_most("old / young, side by side, median turn", 1.3, by_turn[1]),
            at_most("growth of memory beside the history, MB", 1.0, grown["of it all else"] / MB),
        ],
        "seconds_per_1000_rounds": seconds,
        "slope": slope,
    }
