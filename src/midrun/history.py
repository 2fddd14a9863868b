"""What was played and what came of it: columns that grow by some 100 bytes a round."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from midrun.belief.posterior import Point
from midrun.query.rule import Reason, Verdict


@dataclass(frozen=True)
class Decision:
    """What to do in one round.

    Attributes:
        round: Its number, or time.
        params: The setting to train with: plain Python values, always inside the bounds.
        query: Whether to evaluate at the end of the round and tell.
        reason: Why.
        index: Which candidate, if the tuner has candidates.
        run: The tuner it belongs to.
    """

    round: float
    params: dict[str, Any]
    query: bool
    reason: Reason
    index: int | None = None
    run: str = ""


@dataclass(frozen=True)
class Record:
    """One round of a history.

    Attributes:
        reward: What was told, in the user's units; None if nothing was, or if it failed.
        failed: Whether what was told was not a finite number.
        seconds: What the evaluation took, if that was told.
    """

    round: float
    params: dict[str, Any]
    query: bool
    reason: Reason
    reward: float | None
    failed: bool
    seconds: float | None
    index: int | None = None


_NUMBERS = ("round", "statistic", "threshold", "mean", "std", "score", "reward", "seconds")
_UNTOLD, _TOLD, _FAILED = 0, 1, 2


class History(Sequence[Record]):
    """Every round, in columns; a row is made into a :class:`Record` when looked at.

    Args:
        decode: From a point to the user's parameters.
        width: Numbers per point: 0 for an index, d for a row of the unit cube.
    """

    def __init__(self, decode: Callable[[Point], dict[str, Any]], width: int = 0) -> None:
        self._decode = decode
        self._width = width
        self._number = {name: array("d") for name in _NUMBERS}
        self._points = array("d" if width else "q")
        self._rivals: array[Any] = array("d" if width else "q")
        self._query = bytearray()
        self._told = bytearray()
        self._kind: list[str] = []  # a few words shared by all rows
        self.last_told: float | None = None  # the latest round that was told

    def __len__(self) -> int:
        """Rounds begun."""
        return len(self._query)

    def __getitem__(self, i: Any) -> Any:
        """A record, or a list of them for a slice."""
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        point = self.point(i)
        return Record(
            round=self.round(i),
            params=self._decode(point),
            query=bool(self._query[i]),
            reason=self.reason(i),
            reward=self._number["reward"][i] if self._told[i] == _TOLD else None,
            failed=self._told[i] == _FAILED,
            seconds=_maybe(self._number["seconds"][i]),
            index=None if self._width else int(point),
        )

    def __iter__(self) -> Iterator[Record]:
        """Records from the first round on."""
        return (self[i] for i in range(len(self)))

    def append(
        self, round: float, point: Point, verdict: Verdict, mean: float, std: float, score: float
    ) -> None:
        """Begin a round."""
        numbers = (round, verdict.statistic, verdict.threshold, mean, std, score, None, None)
        for name, number in zip(_NUMBERS, numbers, strict=True):
            self._number[name].append(math.nan if number is None else number)
        self._put(self._points, point)
        self._put(self._rivals, verdict.rival)
        self._query.append(verdict.query)
        self._told.append(_UNTOLD)
        self._kind.append(verdict.kind)

    def _put(self, column: array[Any], point: Point | None) -> None:
        if self._width:
            column.extend([math.nan] * self._width if point is None else point)
        else:
            column.append(-1 if point is None else int(point))

    @property
    def silent(self) -> int:
        """Rounds since the last one that asked for a query."""
        return len(self) - 1 - self._query.rfind(1) if self._query else 0

    def settle(self, i: int, reward: float, seconds: float | None) -> None:
        """Write down what was told of a round; what is not finite is a failure."""
        self._told[i] = _TOLD if math.isfinite(reward) else _FAILED
        self._number["reward"][i] = reward
        self._number["seconds"][i] = math.nan if seconds is None else seconds
        self.last_told = self.round(i)

    def find(self, round: float) -> int | None:
        """The row of a round, or None."""
        rounds = self._number["round"]
        i = bisect_left(rounds, round)
        return i if i < len(rounds) and rounds[i] == round else None

    def round(self, i: int) -> float:
        """Number of the i-th round; whole numbers come back as int."""
        value = self._number["round"][i]
        return int(value) if value.is_integer() else value

    def point(self, i: int) -> Point:
        """Where the i-th round was played."""
        return self._get(self._points, i)

    def told(self, i: int) -> bool:
        """Whether anything was told of the i-th round."""
        return self._told[i] != _UNTOLD

    def _get(self, column: array[Any], i: int) -> Point:
        if self._width:
            return np.array(column[i * self._width : (i + 1) * self._width])
        return column[i]

    def reason(self, i: int) -> Reason:
        """Why the i-th round was, or was not, observed."""
        number = {name: column[i] for name, column in self._number.items()}
        rival = self._get(self._rivals, i)
        none = np.isnan(rival).any() if self._width else rival < 0
        return Reason(
            query=bool(self._query[i]),
            kind=self._kind[i],
            statistic=_maybe(number["statistic"]),
            threshold=_maybe(number["threshold"]),
            rival=None if none else self._decode(rival),
            mean=number["mean"],
            std=number["std"],
            score=number["score"],
        )

    def schedule(self) -> list[dict[str, Any]]:
        """What was played: a list of ``{"round": ..., "params": {...}}`` for ``Replay``."""
        return [
            {"round": self.round(i), "params": self._decode(self.point(i))}
            for i in range(len(self))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; missing and infinite numbers as None and text."""
        return {
            **{name: [_to_json(v) for v in column] for name, column in self._number.items()},
            "points": self._points.tolist(),
            "rivals": [_to_json(v) for v in self._rivals],
            "query": list(self._query),
            "told": list(self._told),
            "kind": list(self._kind),
            "last_told": self.last_told,
        }

    def load_dict(self, d: dict[str, Any]) -> None:
        """Take over what :meth:`to_dict` wrote."""
        code = "d" if self._width else "q"
        self._number = {name: array("d", map(_from_json, d[name])) for name in _NUMBERS}
        self._points = array(code, d["points"])
        self._rivals = array(code)
        self._rivals.extend(map(_from_json, d["rivals"]) if self._width else d["rivals"])
        self._query, self._told = bytearray(d["query"]), bytearray(d["told"])
        shared = {kind: kind for kind in d["kind"]}
        self._kind = [shared[kind] for kind in d["kind"]]
        self.last_told = d["last_told"]


def _maybe(value: float) -> float | None:
    return None if math.isnan(value) else value


def _to_json(value: float) -> Any:
    """JSON has no NaN and no infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _from_json(value: Any) -> float:
    return math.nan if value is None else float(value)
