"""Does a round cost the same after 100,000 rounds, and where does memory go?

A tuner on m = 250 candidates queries in every round; the reward is a table look-up, so that only
the tuner is timed. Compared: the last 1,000 rounds with rounds 1,001-2,000, and the resident memory
at the end with that after 10,000 rounds, from which the history's own bytes are taken away: it
keeps every round by design. The slope is that of log(seconds per 1,000 rounds) on log(round), from
round 1,001 on; 0 is constant cost. Asked: at most 1.3 times the time, and flat memory.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_most, table

CHUNK = 1000
STATM = Path("/proc/self/statm")


def resident() -> int:
    """Bytes of this process in memory now; elsewhere than on Linux, the most so far."""
    gc.collect()
    if STATM.exists():
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def held(thing: Any) -> int:
    """Bytes of an object's columns; words shared by all rows are counted by their pointers."""
    parts = [p for v in vars(thing).values() for p in (v.values() if isinstance(v, dict) else [v])]
    return sum(map(sys.getsizeof, parts))


def run(quick: bool) -> dict[str, Any]:
    m, rounds = 250, 6_000 if quick else 100_000
    settled = 2_000 if quick else 10_000

    rng = np.random.default_rng(0)
    X = rng.random((m, 2))
    f = (np.sin(6.0 * X[:, 0]) * np.cos(4.0 * X[:, 1])).tolist()
    noise = (0.1 * rng.standard_normal(CHUNK)).tolist()
    tuner = midrun.Tuner(
        candidates=X,
        belief=midrun.Belief(
            "matern32", lengthscale=0.2, forgetting=0.03, noise=0.01, scale=1.0, mean=0.0
        ),
        query=midrun.Always(),
        seed=0,
    )
    seconds: list[float] = []
    bytes_resident: list[int] = []
    bytes_history: list[int] = []
    progress = Progress(f"{rounds:,} rounds, in thousands", rounds // CHUNK)
    for _ in range(rounds // CHUNK):
        start = perf_counter()
        for i in range(CHUNK):
            decision = tuner.ask()
            tuner.tell(decision, reward=f[decision.index] + noise[i])
        seconds.append(perf_counter() - start)
        bytes_resident.append(resident())
        bytes_history.append(held(tuner.history))
        progress.step()

    early, late = seconds[1], seconds[-1]
    end = np.log(CHUNK * np.arange(2, len(seconds) + 1))
    slope = float(np.polyfit(end, np.log(seconds[1:]), 1)[0])
    at = settled // CHUNK - 1
    grown = bytes_resident[-1] - bytes_resident[at]
    grown_history = bytes_history[-1] - bytes_history[at]
    tenth = max(1, (len(seconds) - 1) // 10)
    ratio_of_medians = float(np.median(seconds[-tenth:]) / np.median(seconds[1 : 1 + tenth]))
    MB = 1e6
    return {
        "tables": [
            table(
                f"time, m = {m}, every round observed",
                ["rounds", "us per round"],
                [
                    ["1-1,000", 1e6 / CHUNK * seconds[0]],
                    ["1,001-2,000", 1e6 / CHUNK * early],
                    ["median of all", 1e6 / CHUNK * float(np.median(seconds))],
                    [f"{rounds - CHUNK + 1:,}-{rounds:,}", 1e6 / CHUNK * late],
                    ["last / 1,001-2,000", late / early],
                    ["last tenth / first tenth, medians", ratio_of_medians],
                    ["log-log slope", slope],
                ],
            ),
            table(
                "memory, MB",
                ["", f"after {settled:,}", f"after {rounds:,}", "growth", "bytes per round"],
                [
                    [
                        name,
                        values[at] / MB,
                        values[-1] / MB,
                        (values[-1] - values[at]) / MB,
                        (values[-1] - values[at]) / (rounds - settled),
                    ]
                    for name, values in (
                        ("resident", bytes_resident),
                        ("history", bytes_history),
                        ("the rest", np.subtract(bytes_resident, bytes_history).tolist()),
                    )
                ],
            ),
        ],
        "asked": [
            at_most("last 1,000 rounds / rounds 1,001-2,000", 1.3, late / early),
            at_most("growth of memory beside the history, MB", 1.0, (grown - grown_history) / MB),
        ],
        "seconds_per_1000_rounds": seconds,
        "bytes_resident": bytes_resident,
        "bytes_history": bytes_history,
        "slope": slope,
    }
