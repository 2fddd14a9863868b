"""One parameter without its name: value <-> position, one at a time, with every refusal."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np

Scalar: TypeAlias = "str | int | float | bool | None"
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Float:
    """A real number in [low, high], searched evenly, or with `log` evenly in its logarithm.

    Example:
        >>> Float(1, 10), Float(1e-4, 1e-1, log=True)
        (Float(low=1.0, high=10.0, log=False), Float(low=0.0001, high=0.1, log=True))
    """

    low: float
    high: float
    log: bool = False
    _levels: ClassVar[int] = 0

    def __post_init__(self) -> None:
        low, high, log = range_of(self, float)
        if math.isinf(high - low) or (log and math.log(low) == math.log(high)):
            raise ValueError(
                "`high - low` must be finite, and on a log scale `log(low) < log(high)` must hold, "
                f"but got ({low=}, {high=}). float64 cannot divide such a range: move the bounds."
            )

    def _at(self, position: float) -> float:
        u, low, high = position, self.low, self.high
        x = low ** (1.0 - u) * high**u if self.log else low * (1.0 - u) + high * u
        return float(min(max(x, low), high))  # rounding may carry x past a bound by an ulp

    def _position(self, value: Any) -> float:
        x = number_of("the value", value, float, self.low, self.high)
        scale = math.log if self.log else float
        return (scale(x) - scale(self.low)) / (scale(self.high) - scale(self.low))


@dataclass(frozen=True)
class Integer:
    """A whole number in [low, high], both included, searched evenly or in its logarithm.

    Example:
        >>> Integer(16, 1e3, log=True)
        Integer(low=16, high=1000, log=True)
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        low, high, log = range_of(self, int)
        if high - low > 2**53 or (log and high > 2**40):
            raise ValueError(
                "`high - low <= 2**53`, and on a log scale `high <= 2**40`, must hold, but got "
                f"({low=}, {high=}). Beyond, float64 cannot tell neighbours apart: use Float."
            )

    @property
    def _levels(self) -> int:
        return self.high - self.low + 1

    def _at(self, position: float) -> int:
        return self.low + int(position)

    def _position(self, value: Any) -> int:
        return number_of("the value", value, int, self.low, self.high) - self.low


class _Listed:
    """One of a few values; the position is the index."""

    _items: tuple[Scalar, ...]

    def _list(self, field: str, items: Any) -> None:
        if isinstance(items, str) or not isinstance(items, Sequence | np.ndarray):
            raise TypeError(f"`{field}` must be a list, but got {items!r}. The order matters.")
        items = tuple(scalar(f"each of `{field}`", item) for item in items)
        if len(items) < 2 or any(same(a, b) for i, a in enumerate(items) for b in items[:i]):
            raise ValueError(
                f"`{field}` must be two or more distinct values, but got {list(items)}. They are "
                "what may be chosen; a single one is a Constant."
            )
        vars(self).update({field: items, "_items": items})

    @property
    def _levels(self) -> int:
        return len(self._items)

    def _at(self, position: float) -> Scalar:
        return self._items[int(position)]

    def _position(self, value: Any) -> int:
        value = scalar("the value", value)
        for index, item in enumerate(self._items):
            if same(item, value):
                return index
        allowed = " or ".join(map(repr, self._items))
        raise ValueError(f"the value must be {allowed}, but got {value!r}.")

    def __eq__(self, other: object) -> bool:
        # As text, for Python finds True == 1 == 1.0.
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@dataclass(frozen=True, eq=False)
class Ordinal(_Listed):
    """One of `values`, which are ordered: neighbours in the list behave alike.

    Example:
        >>> Ordinal(["small", "medium", "large"])
        Ordinal(values=('small', 'medium', 'large'))
    """

    values: Sequence[Scalar]

    def __post_init__(self) -> None:
        self._list("values", self.values)


@dataclass(frozen=True, eq=False)
class Categorical(_Listed):
    """One of `choices`, which have no order. 1 and 1.0 are the same choice, 1 and True are not.

    Example:
        >>> Categorical([None, 1, True])
        Categorical(choices=(None, 1, True))
    """

    choices: Sequence[Scalar]

    def __post_init__(self) -> None:
        self._list("choices", self.choices)


@dataclass(frozen=True, eq=False)
class Constant(_Listed):
    """A value that is handed through and not tuned.

    Example:
        >>> Constant("cosine")
        Constant(value='cosine')
    """

    value: Scalar

    def __post_init__(self) -> None:
        value = scalar("a constant", self.value)
        vars(self).update(value=value, _items=(value,))


Spec: TypeAlias = Float | Integer | Ordinal | Categorical | Constant


def range_of(spec: Any, cast: type[Number]) -> tuple[Number, Number, bool]:
    """The checked fields of a spec, which is told of them."""
    low, high = number_of("`low`", spec.low, cast), number_of("`high`", spec.high, cast)
    log = plain(spec.log)
    if not isinstance(log, bool):
        raise TypeError(f"`log` must be True or False, but got {log!r}.")
    if low >= high or (log and low <= 0):
        raise ValueError(
            f"`{'0 < ' if log else ''}low < high` must hold, but got ({low=}, {high=}). They are "
            "the ends of what may be chosen; a fixed value is given alone."
        )
    vars(spec).update(low=low, high=high, log=log)
    return low, high, log


def number_of(
    what: str, value: Any, cast: type[Number], low: float = -math.inf, high: float = math.inf
) -> Number:
    """A finite, or whole, number within bounds, or an error about `what`."""
    value = plain(value)
    whole = issubclass(cast, int)
    noun = "a whole number" if whole else "a finite number"
    place = "" if math.isinf(high) else f" in [{low}, {high}]"
    message = f"{what} must be {noun}{place}, but got {value!r}."
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(message)
    fits = value % 1 == 0 if whole else abs(value) <= sys.float_info.max
    if not (fits and low <= value <= high):
        raise ValueError(message)
    return cast(value + 0)  # + 0: no -0.0


def scalar(what: str, value: Any) -> Scalar:
    """A plain value that JSON can hold, or an error about `what`."""
    value = plain(value)
    if type(value) not in (str, int, float, bool, type(None)):
        raise TypeError(
            f"{what} must be a str, int, float, bool or None, but got {value!r}. Give other "
            "objects a name and look them up in your code."
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{what} must not be {value!r}, which JSON has not. Use None or a str.")
    return value


def same(a: Scalar, b: Scalar) -> bool:
    """Equality that tells True from 1."""
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def plain(value: Any) -> Any:
    """NumPy's scalars as Python's; item() would leave a longdouble as it is."""
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value
