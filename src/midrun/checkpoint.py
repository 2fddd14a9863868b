"""A tuner's state as plain JSON, and back: the part of a tuner that stops and goes on."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from midrun.account import Account
from midrun.arena import Arena
from midrun.belief.posterior import Model
from midrun.belief.prior import Belief
from midrun.candidates import Candidates
from midrun.choice.acquisition import Acquisition
from midrun.history import History
from midrun.query.guard import Guard
from midrun.query.rule import QueryRule
from midrun.settings import describe, reading, rebuild
from midrun.space import Space

SCHEMA = 1


class Checkpointed:
    """What :class:`~midrun.tuner.Tuner` inherits: ``state_dict`` and its kin."""

    _arena: Arena
    _belief: Belief
    _choice: Acquisition
    _query: QueryRule
    _guard: Guard
    _direction: str
    _on_skip: str
    _clip: tuple[float, float] | None
    _max_step: float | None
    _start: dict[str, Any] | None
    _model: Model
    _rng: np.random.Generator
    _run: str
    _again: bool
    _warned: bool
    _warm: dict[str, Any]
    _memory: dict[str, Any]
    _evaluating: dict[float, float]
    account: Account
    history: History

    def state_dict(self) -> dict[str, Any]:
        """All that later decisions depend on, as plain JSON types."""
        return {
            "schema": SCHEMA,
            "run": self._run,
            **self._arena.to_dict(),
            "settings": {
                "belief": describe(self._belief),
                "choice": describe(self._choice),
                "query": describe(self._query),
                "direction": self._direction,
                "on_skip": self._on_skip,
                "guard": describe(self._guard),
                "clip": None if self._clip is None else list(self._clip),
                "max_step": self._max_step,
                "start": self._start,
            },
            "warned": self._warned,
            "memory": copy.deepcopy(self._memory),
            "account": self.account.to_dict(),
            "warm": {name: np.asarray(modes).tolist() for name, modes in self._warm.items()},
            "rng": self._rng.bit_generator.state,
            "history": self.history.to_dict(),
            "model": self._model.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from a state: the next decisions are equal to the last bit.

        The last decision, if it was not told, is handed out again by the next ``ask``: its round
        was not finished. Apart from belief and direction, settings stay this tuner's own.
        """
        with reading(state, SCHEMA):
            difference = self._arena.difference(state)
            if difference is not None:
                raise ValueError(f"the state is of a tuner with other settings: {difference}.")
            for name, mine in (("belief", describe(self._belief)), ("direction", self._direction)):
                theirs = state["settings"][name]
                if theirs != mine:
                    raise ValueError(
                        f"the state is of a tuner with another `{name}`: {theirs}, not {mine}."
                    )
            history = History(self._arena.decode, self._arena.width)
            history.load_dict(state["history"])
            model = self._arena.model()
            model.load_state_dict(state["model"])
            run, warned, rng = state["run"], state["warned"], state["rng"]
            memory, account = copy.deepcopy(state["memory"]), Account(**state["account"])
            warm = {name: np.array(modes) for name, modes in state["warm"].items()}
        self._rng.bit_generator.state = rng
        self._run, self._warned, self._warm = run, warned, warm
        self._memory, self.account, self._evaluating = memory, account, {}
        self.history, self._model = history, model
        self._again = len(history) > 0 and not history.told(len(history) - 1)


def arguments_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """What the tuner of a state was made with."""
    with reading(state, SCHEMA):
        arguments = dict(state["settings"])
        for part in ("belief", "choice", "query", "guard"):
            arguments[part] = rebuild(arguments[part])
        if "space" in state:
            return {"space": Space.from_dict(state["space"]), **arguments}
        return {"candidates": Candidates.from_dict(state["candidates"]), **arguments}
