"""A tuner's parts as plain JSON, and back: dataclasses by name and fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from midrun.belief.prior import Belief
from midrun.choice.acquisition import EI, PI, UCB, Mean
from midrun.choice.beta import ConstantBeta, LogBeta, TheoryBeta
from midrun.query.confidence import Confidence, NoOverlap
from midrun.query.expected_regret import ExpectedRegret
from midrun.query.guard import Guard
from midrun.query.pacing import Budget, Overhead
from midrun.query.simple import Always, Bernoulli, Every

PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        *(Belief, UCB, EI, PI, Mean, ConstantBeta, LogBeta, TheoryBeta),
        *(Always, Every, Bernoulli, Confidence, NoOverlap, ExpectedRegret, Budget, Overhead, Guard),
    )
}


def describe(part: Any) -> Any:
    """A part as ``{"type": name, field: value, ...}``; plain values as they are.

    Example:
        >>> describe(UCB(LogBeta(0.8, 4)))
        {'type': 'UCB', 'beta': {'type': 'LogBeta', 'c1': 0.8, 'c2': 4.0}}
    """
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        fields = {f.name: describe(getattr(part, f.name)) for f in dataclasses.fields(part)}
        return {"type": type(part).__name__, **fields}
    if isinstance(part, tuple):
        return [describe(item) for item in part]
    if part is None or isinstance(part, str | int | float | bool):
        return part
    return {"type": type(part).__name__}


def rebuild(description: Any) -> Any:
    """Inverse of :func:`describe` for midrun's own parts.

    Example:
        >>> rebuild({"type": "Confidence", "kappa": 0.9, "joint": False})
        Confidence(kappa=0.9, joint=False)
    """
    if not isinstance(description, Mapping):
        return description
    name = description["type"]
    if name not in PARTS:
        raise ValueError(
            f"the state was made with a part of type {name!r}, which midrun does not know. Build "
            "the tuner yourself with that part and call `tuner.load_state_dict(state)`."
        )
    return PARTS[name](**{k: rebuild(v) for k, v in description.items() if k != "type"})


@contextmanager
def reading(state: Any, schema: int) -> Iterator[None]:
    """Checks the schema of a state; a part missing inside the block is a truncated state."""
    if not isinstance(state, Mapping) or "schema" not in state:
        raise ValueError(
            "this is not a tuner's state: a dict with a `schema` is expected, but got "
            f"{type(state).__name__}."
        )
    if state["schema"] != schema:
        raise ValueError(
            f"the state has schema {state['schema']!r}, but this midrun reads schema {schema}. "
            "Install the version of midrun that wrote it, or a newer one."
        )
    try:
        yield
    except KeyError as error:
        raise ValueError(f"the state is truncated: it lacks {error}.") from error
