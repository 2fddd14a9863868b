"""From what a user writes, a dict or ConfigSpace's objects, to parameters; and back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from midrun.parameters import Categorical, Constant, Float, Integer, Ordinal, Spec, plain


def spec_of(value: Any) -> Spec:
    """The spec that a shorthand stands for."""
    value = plain(value)
    if isinstance(value, Spec):
        return value
    if value is bool:
        return Categorical((False, True))
    if isinstance(value, list):
        return Constant(value[0]) if len(value) == 1 else Categorical(value)
    if isinstance(value, tuple):
        kinds = {type(plain(bound)) for bound in value}
        if len(value) != 2 or not kinds <= {int, float}:
            raise ValueError(
                f"a tuple must be a range of two numbers (low, high), but got {value!r}. Write a "
                "choice as a list, an ordered choice as Ordinal([...]), a log scale as "
                "Float(low, high, log=True)."
            )
        return Integer(*value) if kinds == {int} else Float(*value)
    cs = sys.modules.get("ConfigSpace")
    if cs is not None and isinstance(value, cs.hyperparameters.Hyperparameter):
        return from_configspace(value)
    return Constant(value)


def from_configspace(h: Any) -> Spec:
    """The spec of a ConfigSpace hyperparameter; its prior is dropped."""
    import ConfigSpace.hyperparameters as hp

    if isinstance(h, hp.NumericalHyperparameter):
        kind = Integer if isinstance(h, hp.IntegerHyperparameter) else Float
        return kind(h.lower, h.upper, h.log)
    if isinstance(h, hp.OrdinalHyperparameter):
        return Ordinal(h.sequence) if len(h.sequence) > 1 else Constant(h.sequence[0])
    return Constant(h.value) if isinstance(h, hp.Constant) else spec_of(list(h.choices))


def to_configspace(name: str, spec: Spec) -> Any:
    """The ConfigSpace hyperparameter of a spec."""
    import ConfigSpace.hyperparameters as hp

    try:
        match spec:
            case Float(low, high, log):
                return hp.UniformFloatHyperparameter(name, low, high, log=log)
            case Integer(low, high, log):
                return hp.UniformIntegerHyperparameter(name, low, high, log=log)
            case Ordinal(values):
                return hp.OrdinalHyperparameter(name, values)
            case Categorical(choices):
                return hp.CategoricalHyperparameter(name, choices)
            case Constant(value):
                return hp.Constant(name, value)
    except ValueError as error:
        raise ValueError(
            f"a ConfigSpace hyperparameter must be able to hold it, but got {spec}. There, bounds "
            f"are rounded to 13 decimals and True is 1. ConfigSpace says: {error}"
        ) from error


def flatten(what: str, nested: Any, prefix: str = "") -> dict[str, Any]:
    """Nested names joined by a dot."""
    if not isinstance(nested, Mapping):
        raise TypeError(f"{what} must be a dict from name to value, but got {nested!r}.")
    cs = sys.modules.get("ConfigSpace")
    if cs is not None and isinstance(nested, cs.ConfigurationSpace):
        clauses = [*nested.conditions, *nested.forbidden_clauses]
        if clauses:
            raise ValueError(
                f"{what} must have neither conditions nor forbidden clauses, but got {clauses}. "
                "Every point of the cube is played: drop them, or pass what is allowed as "
                "candidates."
            )
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        name = f"{prefix}{key}"
        if not isinstance(key, str) or not key:
            raise TypeError(f"parameter {name!r}: a name must be a non-empty str, but got {key!r}.")
        if isinstance(value, Mapping) and not value:
            raise ValueError(f"parameter {name!r}: a nested dict must not be empty, but got {{}}.")
        inner = flatten(what, value, f"{name}.") if isinstance(value, Mapping) else {name: value}
        for twice in flat.keys() & inner.keys():
            raise ValueError(
                f"parameter {twice!r}: a name must occur once, but got it nested and with a dot "
                "in it. Rename one."
            )
        flat |= inner
    return flat


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Puts the name before an error of a spec, which does not know it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"parameter {name!r}: {error}") from error.__cause__
