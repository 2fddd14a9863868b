"""A line that says what runs and how long it will still take, roughly."""

from __future__ import annotations

import sys
import time


class Progress:
    """Counts steps of about equal length; call it between timed stretches, never inside one.

    Args:
        what: What runs.
        total: Steps in all.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._done = 0
        self._live = sys.stderr.isatty()
        self._start = self._shown = time.perf_counter()

    def step(self) -> None:
        """One step is done; the line is drawn twice a second, in a log every ten seconds."""
        self._done += 1
        now = time.perf_counter()
        last = self._done == self._total
        if now - self._shown < (0.5 if self._live else 10.0) and not (last and self._live):
            return
        self._shown = now
        left = (now - self._start) / self._done * (self._total - self._done)
        line = f"   {self._what}: {self._done}/{self._total}, about {left:.0f} s left"
        if self._live:
            print(f"\r\x1b[K{'' if last else line}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
