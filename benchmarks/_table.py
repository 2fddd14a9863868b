"""What a benchmark returns, and how it is printed.

A result is ``{"tables": [table, ...], "asked": [asked, ...], ...}``; further keys are figures for
the JSON alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A table as plain JSON types."""
    return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}


def at_least(what: str, limit: float, got: float) -> dict[str, Any]:
    """Something asked for, and whether this run shows it."""
    return {"what": what, "limit": f">= {limit:g}", "got": got, "met": bool(got >= limit)}


def at_most(what: str, limit: float, got: float) -> dict[str, Any]:
    """Something asked for, and whether this run shows it."""
    return {"what": what, "limit": f"<= {limit:g}", "got": got, "met": bool(got <= limit)}


def quartiles(values: npt.NDArray[np.float64]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile."""
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return low, median, high


def cell(value: Any) -> str:
    """Three figures for a number; the text of anything else."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def render(t: dict[str, Any]) -> str:
    """A table in monospace, numbers to the right."""
    cells = [t["columns"], *([cell(value) for value in row] for row in t["rows"])]
    width = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"{row[0]:<{width[0]}}  "
        + "  ".join(f"{text:>{w}}" for text, w in zip(row[1:], width[1:], strict=True))
        for row in cells
    ]
    return "\n".join([t["title"], lines[0], "-" * len(lines[0]), *lines[1:]])


def verdicts(asked: Sequence[dict[str, Any]]) -> str:
    """What was asked, what was found."""
    return "\n".join(
        f"{'met    ' if a['met'] else 'NOT MET'}  {a['what']}: {cell(a['got'])}, asked {a['limit']}"
        for a in asked
    )
