"""What was spent and what was saved, in rounds and in measured seconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

RECENT = 0.5  # weight of the newest evaluation in `recent_cost`


@dataclass
class Account:
    """The ledger of a run.

    Attributes:
        rounds: Rounds begun.
        queries: Rounds in which a query was asked for.
        timed: Evaluations whose seconds are known.
        training: Seconds between two decisions, timed evaluations taken off.
        validation: Seconds of the evaluations that were timed.
        deciding: Seconds spent inside ``ask``.
        recent_cost: Seconds of an evaluation, the newest ones weighing most; None if none was
            timed.

    Example:
        >>> account = Account(rounds=10, queries=2, timed=2, training=90.0, validation=6.0)
        >>> round(account.share, 3), account.seconds_saved
        (0.067, 24.0)
    """

    rounds: int = 0
    queries: int = 0
    timed: int = 0
    training: float = 0.0
    validation: float = 0.0
    deciding: float = 0.0
    recent_cost: float | None = None
    _handed_out: float | None = None  # when the current round began: a clock, no part of a state
    _evaluated: float = 0.0  # seconds of evaluation within the current round

    @property
    def share(self) -> float | None:
        """Validation seconds over training seconds."""
        return self.validation / self.training if self.training > 0 else None

    @property
    def seconds_saved(self) -> float | None:
        """Against an evaluation in every round, at the mean seconds of those that were timed."""
        skipped = self.rounds - self.queries
        return self.validation / self.timed * skipped if self.timed else None

    def close_round(self) -> float:
        """The current round is over; returns the time, for :meth:`open_round`."""
        now = monotonic()
        if self._handed_out is not None:
            self.training += max(now - self._handed_out - self._evaluated, 0.0)
        self._handed_out, self._evaluated = None, 0.0
        return now

    def open_round(self, asked: float, *, query: bool) -> None:
        """A decision is handed out."""
        self._handed_out = monotonic()
        self.deciding += self._handed_out - asked
        self.rounds += 1
        self.queries += query

    def add_evaluation(self, seconds: float) -> None:
        """An evaluation within the current round took so long."""
        self.timed += 1
        self.validation += seconds
        self._evaluated += seconds
        before = seconds if self.recent_cost is None else self.recent_cost
        self.recent_cost = RECENT * seconds + (1.0 - RECENT) * before

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {name: value for name, value in asdict(self).items() if name[0] != "_"}
