"""Finds the benchmarks, and runs each in a process of its own."""

from __future__ import annotations

import importlib
import pkgutil
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import benchmarks
from benchmarks._machine import cpu_seconds_of_others, facts


def found() -> dict[str, str]:
    """Name -> docstring of every benchmark in this folder."""
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name[0] != "_"]
    return {name: importlib.import_module(f"benchmarks.{name}").__doc__ or "" for name in names}


def measure(name: str, quick: bool) -> dict[str, Any]:
    """One benchmark in this process, with the facts needed to read its figures."""
    others, start = cpu_seconds_of_others(), time.perf_counter()
    result = importlib.import_module(f"benchmarks.{name}").run(quick)
    seconds = time.perf_counter() - start
    machine = facts()  # libraries load as they are needed, so BLAS is looked up after the run
    after = cpu_seconds_of_others()
    if others is not None and after is not None:
        machine["cpus_busy_with_other_work"] = round((after - others) / seconds, 2)
    return {
        "benchmark": name,
        "quick": quick,
        "seconds": round(seconds, 1),
        "machine": machine,
        "result": result,
    }


def measure_apart(name: str, quick: bool) -> dict[str, Any]:
    """The same in a fresh process: no memory or threads left over from another benchmark."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, name, quick).result()
