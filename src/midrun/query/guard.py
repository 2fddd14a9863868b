"""The belt beside the braces: rounds that are observed whatever the rule says.

A belief that learns its parameters may be sure of something wrong; an answer is what puts it right.
With all parameters given the rule is trusted and there is nothing to guard.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from midrun.checks import number, whole
from midrun.query.rule import Verdict


@dataclass(frozen=True)
class Guard:
    """Rounds always observed at the start, and the longest stretch unobserved.

    Args:
        first: So many rounds at the start are observed.
        silence: After so many unobserved rounds in a row the next one is observed.

    Example:
        >>> Guard(first=2, silence=5).overrule(Verdict(False, "coin"), t=2, silent=0)
        Verdict(query=True, kind='guard: first', statistic=2.0, threshold=2, rival=None)
    """

    first: int = 0
    silence: float = math.inf

    def __post_init__(self) -> None:
        whole("first", self.first, "how many rounds are observed at the start", low=0)
        if self.silence != math.inf:
            number("silence", self.silence, "the longest stretch unobserved, in rounds", low=1.0)

    def overrule(self, verdict: Verdict, *, t: int, silent: int) -> Verdict:
        """The verdict, or a query in its place.

        Args:
            verdict: What the rule says.
            t: Rounds begun, this one included.
            silent: Unobserved rounds since the last query.
        """
        if verdict.query:
            return verdict
        if t <= self.first:
            return replace(
                verdict, query=True, kind="guard: first", statistic=float(t), threshold=self.first
            )
        if silent >= self.silence:
            return replace(
                verdict,
                query=True,
                kind="guard: silence",
                statistic=float(silent),
                threshold=self.silence,
            )
        return verdict
