"""What may be chosen from a finite list: bandit arms, or a quantised domain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from midrun.belief.kernels import Array
from midrun.belief.packing import pack, unpack
from midrun.parameters import Scalar, scalar
from midrun.shorthand import flatten


class Candidates:
    """A finite set of settings and the numbers the kernel sees of them.

    Numeric columns are taken as they are (a belief's lengthscale is in their units); columns of
    strings, booleans or None are categories.

    Args:
        items: A list of dicts with the same names, or an array (m, d) whose columns are then
            called x0, x1, ...

    Example:
        >>> arms = Candidates([{"mode": "train", "steps": 1}, {"mode": "tune", "steps": 4}])
        >>> arms.features.tolist(), arms.categorical.tolist(), arms.decode(1)
        ([[0.0, 1.0], [1.0, 4.0]], [True, False], {'mode': 'tune', 'steps': 4})
    """

    def __init__(self, items: Sequence[Mapping[str, Any]] | npt.ArrayLike) -> None:
        if isinstance(items, Sequence) and items and isinstance(items[0], Mapping):
            self._from_dicts(items)
        else:
            self._from_array(items)
        self._refuse_duplicates()

    def _from_dicts(self, items: Sequence[Any]) -> None:
        rows = []
        for i, item in enumerate(items):
            if not isinstance(item, Mapping):
                raise TypeError(
                    f"`candidates` must be all dicts or an array, but candidates[{i}] is {item!r}."
                )
            flat = flatten("candidate", item)
            rows.append({name: scalar(f"candidates[{i}]: {name!r}", flat[name]) for name in flat})
            if set(rows[i]) != set(rows[0]):
                missing, extra = set(rows[0]) - set(rows[i]), set(rows[i]) - set(rows[0])
                raise ValueError(
                    f"all candidates must have the same names, but candidates[{i}] lacks "
                    f"{sorted(missing)} and adds {sorted(extra)} to those of candidates[0]."
                )
        self.names = tuple(rows[0])
        self._rows: list[dict[str, Scalar]] | None = rows
        columns = [[row[name] for row in rows] for name in self.names]
        numeric = [all(type(v) in (int, float) for v in column) for column in columns]
        self.categorical = ~np.array(numeric, dtype=bool)
        self.features: Array = np.empty((len(rows), len(columns)))
        for j, column in enumerate(columns):
            if numeric[j]:
                self.features[:, j] = column
            else:
                code = {key: k for k, key in enumerate(dict.fromkeys(map(_key, column)))}
                self.features[:, j] = [code[_key(v)] for v in column]
        self._refuse_infinite()

    def _from_array(self, items: Any) -> None:
        array = np.asarray(items)
        if array.size == 0:
            raise ValueError(
                f"`candidates` must hold a setting or more, but is empty: shape {array.shape}."
            )
        if array.dtype.kind not in "iuf" or array.ndim != 2:
            raise TypeError(
                "`candidates` must be a list of dicts or a numeric array of shape (m, d), but got "
                f"{type(items).__name__} of shape {array.shape} and type {array.dtype}. One number "
                "per candidate is the array of shape (m, 1): values[:, None]."
            )
        self.features = np.array(array, dtype=np.float64)  # a copy: ours to keep
        self.names = tuple(f"x{j}" for j in range(array.shape[1]))
        self.categorical = np.zeros(array.shape[1], dtype=bool)
        self._rows = None
        self._refuse_infinite()

    def _refuse_infinite(self) -> None:
        bad = np.argwhere(~np.isfinite(self.features))
        if len(bad):
            i, j = bad[0]
            raise ValueError(
                f"candidates must be finite, but candidates[{i}] has "
                f"{self.names[j]}={self.features[i, j]}."
            )

    def _refuse_duplicates(self) -> None:
        if len(self._index) < len(self.features):
            first: dict[tuple[float, ...], int] = {}
            for i, row in enumerate(map(tuple, self.features.tolist())):
                if row in first:
                    raise ValueError(
                        f"candidates must differ, but candidates[{i}] repeats candidates"
                        f"[{first[row]}]: {self.decode(i)}. List it once."
                    )
                first[row] = i

    @cached_property
    def _index(self) -> dict[tuple[float, ...], int]:
        return {row: i for i, row in enumerate(map(tuple, (self.features + 0.0).tolist()))}

    @cached_property
    def _by_value(self) -> dict[str, int]:
        return {_key(self.decode(i)): i for i in range(len(self))}

    def __len__(self) -> int:
        """Number of candidates."""
        return len(self.features)

    def decode(self, index: int) -> dict[str, Scalar]:
        """The setting at an index, as plain Python values."""
        if self._rows is not None:
            return dict(self._rows[index])
        return dict(zip(self.names, self.features[index].tolist(), strict=True))

    def encode(self, params: Mapping[str, Any]) -> int:
        """The index of a setting; one that is not among the candidates is refused.

        Example:
            >>> Candidates([{"x": 0.5}, {"x": 1.0}]).encode({"x": 1.0})
            1
        """
        flat = flatten("setting", params)
        if set(flat) != set(self.names):
            raise ValueError(
                f"a setting must name {list(self.names)}, but got {list(flat)}: missing "
                f"{sorted(set(self.names) - set(flat))}, unknown "
                f"{sorted(set(flat) - set(self.names))}."
            )
        plain = {name: scalar(repr(name), flat[name]) for name in self.names}
        index = self._by_value.get(_key(plain))
        if index is None:  # 1 stands for 1.0 where the column is numeric
            index = next((i for i in range(len(self)) if self.decode(i) == plain), None)
        if index is None:
            raise ValueError(f"{plain} is not among the {len(self)} candidates.")
        return index

    def find(self, params: Any) -> npt.NDArray[np.intp]:
        """Indices of a list of settings, of rows (n, d), or of indices (n,)."""
        if isinstance(params, Mapping):
            params = [params]
        if isinstance(params, Sequence) and all(isinstance(p, Mapping) for p in params):
            return np.array([self.encode(p) for p in params], dtype=np.intp)
        array = np.asarray(params)
        if array.ndim == 1 and array.dtype.kind in "iu":
            bad = array[(array < 0) | (array >= len(self))]
            if bad.size:
                raise ValueError(f"indices must lie in [0, {len(self)}), but got {bad[0]}.")
            return array.astype(np.intp)
        if array.ndim != 2 or array.shape[1] != len(self.names) or array.dtype.kind not in "iuf":
            raise TypeError(
                f"settings must be dicts, indices, or an array of shape (n, {len(self.names)}), "
                f"but got {type(params).__name__} of shape {array.shape}."
            )
        found = [self._index.get(row) for row in map(tuple, (array + 0.0).tolist())]
        if None in found:
            raise ValueError(f"{array[found.index(None)].tolist()} is not among the candidates.")
        return np.array(found, dtype=np.intp)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        if self._rows is not None:
            return {"rows": [dict(row) for row in self._rows]}
        return {"array": pack(self.features), "shape": list(self.features.shape)}

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Candidates:
        """Inverse of :meth:`to_dict`."""
        if "rows" in d:
            return cls(d["rows"])
        m, columns = d["shape"]
        return cls(unpack(d["array"], (int(m), int(columns))))

    def difference(self, other: Candidates) -> str | None:
        """What differs from another set, or None."""
        if self.names != other.names:
            return f"names {list(self.names)} against {list(other.names)}"
        if len(self) != len(other):
            return f"{len(self)} candidates against {len(other)}"
        for i in range(len(self)):
            if _key(self.decode(i)) != _key(other.decode(i)):
                return f"candidates[{i}] is {self.decode(i)} against {other.decode(i)}"
        return None


def _key(value: Any) -> str:
    """Tells True from 1 and 1 from 1.0, which a dict of values would not."""
    return json.dumps(value, sort_keys=True)
