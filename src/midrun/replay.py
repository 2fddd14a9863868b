"""Play a schedule again: the same ask and tell, no belief and no validation needed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from midrun.checks import number, the_one
from midrun.history import Decision
from midrun.query.rule import Reason


class Replay:
    """Hands out what a schedule says; drop-in for a tuner in the training loop.

    Between two entries the earlier one holds, and after the last one it goes on holding.

    Args:
        schedule: What ``tuner.history.schedule()`` gave, a list of rounds and parameters.

    Example:
        >>> again = Replay(
        ...     [{"round": 1, "params": {"lr": 0.1}}, {"round": 3, "params": {"lr": 0.01}}]
        ... )
        >>> [again.ask().params["lr"] for _ in range(4)]
        [0.1, 0.1, 0.01, 0.01]
    """

    def __init__(self, schedule: Iterable[Mapping[str, Any]]) -> None:
        entries = list(schedule)
        for i, entry in enumerate(entries):
            if not isinstance(entry, Mapping) or not {"round", "params"} <= set(entry):
                raise ValueError(
                    f"a schedule's entry must have `round` and `params`, but schedule[{i}] is "
                    f"{entry!r}."
                )
        if not entries:
            raise ValueError("`schedule` must hold at least one round, but is empty.")
        self._rounds = [number("round", entry["round"], "its start") for entry in entries]
        if any(b <= a for a, b in zip(self._rounds, self._rounds[1:], strict=False)):
            raise ValueError("the rounds of a schedule must increase, but they do not.")
        self._params = [dict(entry["params"]) for entry in entries]
        self._last: float = 0
        self.told: list[tuple[float, float]] = []  # (round, value), for the user's own comparison

    def ask(self, round: float | None = None) -> Decision:
        """The next round, with what the schedule says of it."""
        t = int(self._last) + 1 if round is None else round
        if self._last and t <= self._last:
            raise ValueError(
                f"`round` must be larger than the last one, {self._last}, got {round!r}."
            )
        self._last = t
        params = dict(self._params[max(bisect_right(self._rounds, t) - 1, 0)])
        nan = float("nan")
        reason = Reason(False, "a schedule is replayed", None, None, None, nan, nan, nan)
        return Decision(t, params, query=False, reason=reason)

    def tell(
        self,
        decision: Decision,
        reward: float | None = None,
        *,
        metric: float | None = None,
        seconds: float | None = None,
    ) -> None:
        """Keep what was told; it changes nothing."""
        self.told.append((decision.round, the_one(reward, metric)))
