"""What may be chosen: ConfigSpace in, unit vectors inside, plain Python values out.

A choice is written in three ways::

    value       what the user trains with                0.01, 8, 'adam'
    position    where it stands in its own parameter     u in [0, 1], or a level 0, 1, ..., n - 1
    unit        what the belief sees                     u in [0, 1], or the level's place in [0, 1]

Specs translate value <-> position one at a time, `Space` translates position <-> unit in arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from midrun.parameters import Categorical, Constant, Float, Integer, Ordinal, Scalar, Spec
from midrun.shorthand import flatten, naming, spec_of, to_configspace

if TYPE_CHECKING:
    from ConfigSpace import ConfigurationSpace

Array: TypeAlias = "NDArray[np.float64]"


class Space:
    """Named parameters, immutable, compiled to arrays once.

    Args:
        obj: A ConfigurationSpace, or a dict in which ``(low, high)`` is a range, of integers if
            both are, else of floats; a list is a choice; ``bool`` is a choice of False and True;
            a plain value is a constant; a nested dict joins names by a dot; specs and ConfigSpace
            hyperparameters stand for themselves, under the name the dict gives them. ConfigSpace's
            priors (normal, beta, weights) are dropped, its conditions and forbidden clauses
            refused.

    Attributes:
        specs: All parameters by name, in the user's order (of a ConfigurationSpace: its own).
        names: Those to tune, the dimensions of the unit cube.
        d: Their number, also ``len(space)``.
        levels: Shape (d,); how many values each dimension has, 0 if it is continuous.
        categorical: Shape (d,); True where the levels have no order.

    Example:
        >>> space = Space({"lr": Float(1e-4, 1.0, log=True), "aug": {"flip": bool}, "epochs": 90})
        >>> space.names, space.levels, space.categorical
        (('lr', 'aug.flip'), array([0, 2]), array([False,  True]))
        >>> space.decode([0.5, 1.0])
        {'lr': 0.01, 'aug.flip': True, 'epochs': 90}
    """

    specs: Mapping[str, Spec]
    names: tuple[str, ...]
    d: int
    levels: NDArray[np.int64]
    categorical: NDArray[np.bool_]
    _last: Array  # (d,); position of unit 1: the last level, or 1 if continuous
    _logs: NDArray[np.intp]  # the dimensions that are integers on a log scale, and of those:
    _low: Array
    _log_low: Array
    _log_span: Array

    def __init__(self, obj: Mapping[str, Any] | ConfigurationSpace) -> None:
        specs: dict[str, Spec] = {}
        for name, value in flatten("a space", obj).items():
            with naming(name):
                specs[name] = spec_of(value)
        tunable = {name: spec for name, spec in specs.items() if not isinstance(spec, Constant)}
        if not tunable:
            raise ValueError(
                f"a space must have a parameter to tune, but got {obj!r}. Write a range as a tuple "
                "(low, high), a choice as a list of several values."
            )
        levels = np.array([spec._levels for spec in tunable.values()], dtype=np.int64)
        categorical = np.array([isinstance(spec, Categorical) for spec in tunable.values()])
        levels.flags.writeable = categorical.flags.writeable = False
        logs = [(i, s) for i, s in enumerate(tunable.values()) if isinstance(s, Integer) and s.log]
        log_low = np.log([float(s.low) for _, s in logs])
        vars(self).update(
            specs=MappingProxyType(specs),
            names=tuple(tunable),
            d=len(tunable),
            levels=levels,
            categorical=categorical,
            _last=np.where(levels > 0, levels - 1, 1).astype(np.float64),
            _logs=np.array([i for i, _ in logs], dtype=np.intp),
            _low=np.array([float(s.low) for _, s in logs]),
            _log_low=log_low,
            _log_span=np.log([float(s.high) for _, s in logs]) - log_low,
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Space must not change, but got {name}={value!r}. Make another.")

    @classmethod
    def of(cls, obj: Mapping[str, Any] | ConfigurationSpace | Space) -> Space:
        """`obj` itself if it is a Space, else the Space made of it.

        Example:
            >>> Space.of({"layers": (1, 8)}) == Space.of(Space({"layers": Integer(1, 8)}))
            True
        """
        return obj if isinstance(obj, Space) else cls(obj)

    @property
    def constants(self) -> dict[str, Scalar]:
        """What is not tuned."""
        return {name: s.value for name, s in self.specs.items() if isinstance(s, Constant)}

    def snap(self, U: ArrayLike) -> Array:
        """The nearest points that stand for a value: clipped to the cube, levels rounded.

        Args:
            U: Shape (..., d); left as it is.

        Returns:
            Shape (..., d); ``snap(snap(U)) == snap(U)`` and ``decode(snap(u)) == decode(u)``.

        Example:
            >>> Space({"crop": (0.5, 1.0), "layers": (1, 3)}).snap([[0.2, 0.7], [9.0, 0.8]])
            array([[0.2, 0.5],
                   [1. , 1. ]])
        """
        return self.units(self.positions(U))

    def decode(self, u: ArrayLike) -> dict[str, Scalar]:
        """Plain Python values of a unit vector, constants included, in the user's order.

        Args:
            u: Shape (d,); clipped to [0, 1].

        Returns:
            Values inside the bounds to the last bit; 0 and 1 give the bounds themselves.

        Example:
            >>> Space({"layers": (1, 8), "amp": True}).decode([1.0])
            {'layers': 8, 'amp': True}
        """
        x = self.positions(u)
        if x.ndim != 1:
            raise ValueError(f"`u` must have shape ({self.d},), but got {x.shape}. Decode by row.")
        positions = dict(zip(self.names, x.tolist(), strict=True))
        return {name: spec._at(positions.get(name, 0)) for name, spec in self.specs.items()}

    def encode(self, params: Mapping[str, Any]) -> Array:
        """The unit vector of given values: the inverse of `decode`.

        Args:
            params: A value for each name, flat ("aug.crop") or nested; constants may be left out.

        Returns:
            Shape (d,).

        Example:
            >>> Space({"aug": {"crop": (0.5, 1.0)}, "layers": (1, 8)}).encode(
            ...     {"aug.crop": 0.75, "layers": 8}
            ... )
            array([0.5, 1. ])
        """
        positions = {}
        for name, value in flatten("`params`", params).items():
            if name not in self.specs:
                raise ValueError(
                    f"parameter {name!r}: the name must be in the space, but got {value!r} for it. "
                    f"The space has {', '.join(self.specs)}."
                )
            with naming(name):
                positions[name] = self.specs[name]._position(value)
        missing = [name for name in self.names if name not in positions]
        if missing:
            raise ValueError(
                f"parameter {missing[0]!r}: a value must be given for each parameter to tune, but "
                f"got {params!r}. Missing: {', '.join(missing)}."
            )
        return self.units(np.array([positions[name] for name in self.names], dtype=np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, of which `from_dict` makes an equal space.

        Example:
            >>> Space({"amp": bool}).to_dict()
            {'parameters': [{'name': 'amp', 'type': 'Categorical', 'choices': [False, True]}]}
        """
        return {
            "parameters": [
                {"name": name, "type": type(spec).__name__}
                | {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(spec).items()}
                for name, spec in self.specs.items()
            ]
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, Any]) -> Space:
        """The inverse of `to_dict`, also after a journey through JSON.

        Example:
            >>> space = Space({"lr": Float(1e-4, 0.1, log=True), "size": Ordinal(["s", "m"])})
            >>> Space.from_dict(space.to_dict()) == space
            True
        """
        kinds = {kind.__name__: kind for kind in (Float, Integer, Ordinal, Categorical, Constant)}
        specs: dict[str, Spec] = {}
        for entry in d["parameters"]:
            name, kind = entry["name"], entry["type"]
            with naming(name):
                if kind not in kinds:
                    raise ValueError(f"`type` must be one of {', '.join(kinds)}, but got {kind!r}.")
                specs[name] = kinds[kind](**{k: entry[k] for k in entry.keys() - {"name", "type"}})
        return cls(specs)

    def difference(self, other: Space) -> str | None:
        """What tells `other` from this space, in words; None if they are equal.

        Example:
            >>> Space({"layers": (1, 8), "amp": bool}).difference(Space({"layers": [1, 8]}))
            "parameter 'layers': Integer(low=1, high=8, log=False) here, Categorical(choices=(1, 8))
            there; parameter 'amp': Categorical(choices=(False, True)) here, missing there"
        """
        if self == other:
            return None
        here, there = dict(self.specs), dict(other.specs)
        differing = [
            f"parameter {name!r}: {here.get(name, 'missing')} here, "
            f"{there.get(name, 'missing')} there"
            for name in here | there
            if here.get(name) != there.get(name)
        ]
        return "; ".join(differing) or f"order: {', '.join(here)} here, {', '.join(there)} there"

    def to_configspace(self) -> ConfigurationSpace:
        """The space as ConfigSpace has it, where float bounds are rounded to 13 decimals.

        Example:
            >>> print(Space({"layers": (1, 8)}).to_configspace()["layers"])
            layers, Type: UniformInteger, Range: [1, 8], Default: 4
        """
        import ConfigSpace

        space = ConfigSpace.ConfigurationSpace()
        for name, spec in self.specs.items():
            with naming(name):
                space.add(to_configspace(name, spec))
        return space

    def positions(self, U: ArrayLike) -> Array:
        """Where unit vectors (..., d) stand: a level 0, 1, ... or, if continuous, u itself."""
        u = np.array(U, dtype=np.float64)
        if u.shape[-1:] != (self.d,) or np.isnan(u).any():
            raise ValueError(
                f"unit vectors must have shape (..., {self.d}) and no NaN, but got {u!r}. "
                f"They hold a coordinate in [0, 1] for each of {', '.join(self.names)}."
            )
        np.clip(u, 0.0, 1.0, out=u)
        x = np.rint(u * self._last)
        x += np.rint((u - x / self._last) * self._last)  # above 2**52 levels x may be off by one
        if self._logs.size:
            v = self._low * np.exp(u[..., self._logs] * self._log_span)
            below = np.floor(v)
            # In log v, the middle between two neighbours is their geometric mean.
            x[..., self._logs] = below + (v * v > below * (below + 1.0)) - self._low
        return np.where(self.levels > 0, x, u)

    def units(self, x: Array) -> Array:
        """The inverse of :meth:`positions` on levels that exist."""
        u: Array = x / self._last
        if self._logs.size:
            log_value = np.log(self._low + x[..., self._logs])
            u[..., self._logs] = (log_value - self._log_low) / self._log_span
        return u

    def __len__(self) -> int:
        return self.d

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and str(self.to_dict()) == str(other.to_dict())

    def __hash__(self) -> int:
        return hash(str(self.to_dict()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Space.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return f"Space({dict(self.specs)})"
