"""Validation at the public border: errors that name the argument, the value and its meaning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def number(
    name: str,
    value: Any,
    meaning: str,
    *,
    low: float = -math.inf,
    above: float = -math.inf,
    high: float = math.inf,
    below: float = math.inf,
) -> float:
    """A finite float within bounds, or an error that names the argument and its meaning.

    Example:
        >>> number("kappa", 1.5, "the confidence asked for", above=0.0, below=1.0)
        Traceback (most recent call last):
        ...
        ValueError: `kappa` must lie in (0, 1), but got 1.5. It is the confidence asked for.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        raise TypeError(
            f"`{name}` must be a number, but got {value!r} of type {type(value).__name__}. "
            f"It is {meaning}."
        )
    result = float(value)
    if not (low <= result <= high and above < result < below and math.isfinite(result)):
        left = f"({above:g}" if above >= low else f"[{low:g}"
        right = f"{below:g})" if below <= high else f"{high:g}]"
        left = "(-inf" if max(low, above) == -math.inf else left
        right = "inf)" if min(high, below) == math.inf else right
        raise ValueError(
            f"`{name}` must lie in {left}, {right}, but got {value!r}. It is {meaning}."
        )
    return result


def whole(name: str, value: Any, meaning: str, *, low: int) -> int:
    """A whole number of at least ``low``.

    Example:
        >>> whole("k", 0, "the gap between two queries, in rounds", low=1)
        Traceback (most recent call last):
        ...
        ValueError: `k` must be at least 1, but got 0. It is the gap between two queries, in rounds.
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(
            f"`{name}` must be a whole number, but got {value!r} of type {type(value).__name__}. "
            f"It is {meaning}."
        )
    if value < low:
        raise ValueError(f"`{name}` must be at least {low}, but got {value!r}. It is {meaning}.")
    return int(value)


def one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of a few words.

    Example:
        >>> one_of("direction", "up", ("maximize", "minimize"))
        Traceback (most recent call last):
        ...
        ValueError: `direction` must be one of ('maximize', 'minimize'), but got 'up'.
    """
    if value not in allowed:
        raise ValueError(f"`{name}` must be one of {allowed}, but got {value!r}.")
    return str(value)


def protocol(name: str, part: Any, method: str) -> Any:
    """A part that offers a method; a class given in place of an object is named as such.

    Example:
        >>> protocol("query", int, "decide")
        Traceback (most recent call last):
        ...
        TypeError: `query` must be an object with a method `decide`, but got the class int: call it.
    """
    if isinstance(part, type):
        raise TypeError(
            f"`{name}` must be an object with a method `{method}`, but got the class "
            f"{part.__name__}: call it."
        )
    if not hasattr(part, method):
        raise TypeError(
            f"`{name}` must be an object with a method `{method}`, but got {part!r} of type "
            f"{type(part).__name__}."
        )
    return part


def pair(name: str, value: Any, meaning: str) -> tuple[float, float]:
    """Two numbers, the first below the second.

    Example:
        >>> pair("clip", (2, -2), "the bounds on a reward")
        Traceback (most recent call last):
        ...
        ValueError: `clip` must be (low, high) with low < high, got (2, -2): the bounds on a reward.
    """
    try:
        low, high = (number(name, v, meaning) for v in value)
    except TypeError as error:
        raise TypeError(f"`{name}` must be (low, high), but got {value!r}: {meaning}.") from error
    except ValueError as error:
        raise ValueError(f"`{name}` must be (low, high), but got {value!r}: {meaning}.") from error
    if low >= high:
        raise ValueError(f"`{name}` must be (low, high) with low < high, got {value!r}: {meaning}.")
    return low, high


def the_one(reward: float | None, metric: float | None) -> float:
    """What was told; exactly one of the two, and a number (NaN and infinities are failures)."""
    if (reward is None) == (metric is None):
        raise ValueError(
            f"tell either `reward` or `metric`, but got {reward=} and {metric=}. A failed "
            "evaluation is told as float('nan')."
        )
    name, value = ("reward", reward) if metric is None else ("metric", metric)
    try:
        return float(value)  # type: ignore[arg-type]  # 0-d arrays and tensors too
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`{name}` must be a number, but got {value!r} of type {type(value).__name__}."
        ) from error
