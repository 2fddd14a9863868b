"""Facts about the machine that a figure depends on; no host name, no path."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import midrun

STAT = Path("/proc/stat")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def facts() -> dict[str, Any]:
    """Plain JSON types."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="minutes"),
        "system": platform.system(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "midrun": midrun.__version__,
        **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn")},
        "blas": _blas(),
        "threads": _threads(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _blas() -> list[dict[str, Any]] | None:
    """BLAS and OpenMP libraries loaded by now; None without threadpoolctl."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return None
    keep = ("user_api", "internal_api", "version", "num_threads", "architecture")
    return [{key: pool.get(key) for key in keep} for pool in threadpool_info()]


def _threads() -> str:
    """How the number of threads was set, in words."""
    given = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    return ", ".join(given) or "the libraries' defaults, for all sides alike"


def cpu_seconds_of_others() -> float | None:
    """CPU seconds of all processes but this one since the machine started; None but on Linux.

    Two readings tell whether a run had the machine to itself. It matters: where another process
    holds a core, threaded BLAS waits for it, and the side with the larger matrices suffers more.
    """
    if not STAT.exists():
        return None
    # user, nice, system, idle, iowait, irq, softirq, steal; guests are counted under user
    ticks = [int(word) for word in STAT.read_text().split("\n", 1)[0].split()[1:9]]
    busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    own = os.times()
    return busy - own.user - own.system
