"""The belt beside the braces: rounds that are observed whatever the rule says.

A belief that learns its parameters may be sure of something wrong, and an answer is what puts it
right. With all parameters given the rule is trusted and there is nothing to guard.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from midrun.belief.prior import Belief
from midrun.checks import whole
from midrun.query.rule import QueryRule, Verdict


@dataclass(frozen=True)
class Guard:
    """Rounds always observed at the start, and the longest stretch unobserved.

    Args:
        first: So many rounds at the start are observed.
        silence: After so many unobserved rounds in a row the next one is observed; None: never.

    Example:
        >>> Guard(first=2).overrule(Verdict(False, "confidence"), t=2, silent=0).query
        True
    """

    first: int = 0
    silence: int | None = None

    def __post_init__(self) -> None:
        whole("first", self.first, "how many rounds are observed at the start", low=0)
        if self.silence is not None:
            whole("silence", self.silence, "the longest stretch unobserved, in rounds", low=1)

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
            return _query(verdict, "guard: first", t, self.first)
        if self.silence is not None and silent >= self.silence:
            return _query(verdict, "guard: silence", silent, self.silence)
        return verdict


def _query(verdict: Verdict, kind: str, statistic: int, threshold: int) -> Verdict:
    return replace(
        verdict, query=True, kind=kind, statistic=float(statistic), threshold=float(threshold)
    )


def default_guard(belief: Belief, rule: QueryRule, d: int) -> Guard:
    """None for a rule that does not read the belief, or a belief that is given whole.

    Else figures found by experiment: docs/learning.md.
    """
    if belief.complete or not getattr(rule, "reads_belief", True):
        return Guard()
    return Guard(first=16 + 2 * d, silence=10)
