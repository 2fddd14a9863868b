"""Algorithm 1 of the paper: ask and tell.

Line numbers in comments are those of the paper's algorithm box; NOTATION.md lists the names.
"""

from __future__ import annotations

import math
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from midrun.account import Account
from midrun.arena import arena_of
from midrun.belief.kernels import Array
from midrun.belief.learned import Learned
from midrun.belief.posterior import Optima, Point, Posterior
from midrun.belief.prior import Belief
from midrun.candidates import Candidates
from midrun.checkpoint import Checkpointed, arguments_of
from midrun.checks import number, one_of, pair, protocol, the_one
from midrun.choice.acquisition import UCB, Acquisition, Mean, Setting
from midrun.choice.surface import Surface
from midrun.history import Decision, History
from midrun.query.expected_regret import ExpectedRegret
from midrun.query.guard import Guard, default_guard
from midrun.query.rule import QueryRule, Situation
from midrun.space import Space

WARM = 16  # modes of a search that the next one starts from


class Tuner(Checkpointed):
    """Chooses hyperparameters round by round, and says in which rounds to evaluate.

    Args:
        space: What may be chosen: a dict in ConfigSpace's shorthand, or a ConfigurationSpace.
        candidates: In its place, a finite set: a list of dicts, or an array (m, d).
        belief: The Gaussian process behind it; what it does not give is learned.
        choice: Which point to try: ``UCB(beta)`` by default, ``EI()``, ``PI()`` or ``Mean()``.
        query: Which rounds to observe: ``ExpectedRegret()`` by default; ``Confidence(kappa)`` is
            the paper's rule.
        direction: ``"maximize"`` or ``"minimize"`` the reward.
        on_skip: In a round that is not observed play the best known setting (``"exploit"``), or
            the acquisition's choice as the paper does (``"explore"``).
        guard: Rounds observed whatever the rule says. By default ``Guard(first=16 + 2 d,
            silence=10)`` in d dimensions for a rule that reads a belief that is learned.
        clip: Bounds on what the belief is told, in the reward's units.
        max_step: Largest move of any coordinate per round, in the unit cube (candidates: as a
            share of each column's range); an integer may always move by one.
        start: The present values, played first.
        seed: Of the tuner's own generator; None draws one from the system.

    Example:
        >>> tuner = Tuner({"lr": (0.0, 1.0)}, direction="minimize", seed=0)
        >>> for _ in range(30):
        ...     decision = tuner.ask()
        ...     if decision.query:
        ...         tuner.tell(decision, reward=(decision.params["lr"] - 0.7) ** 2)
        >>> abs(tuner.best()["lr"] - 0.7) < 0.05
        True
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any] | None = None,
        *,
        candidates: Candidates | Sequence[Mapping[str, Any]] | npt.ArrayLike | None = None,
        belief: Belief | None = None,
        choice: Acquisition | None = None,
        query: QueryRule | None = None,
        direction: str = "maximize",
        on_skip: str = "exploit",
        guard: Guard | None = None,
        clip: tuple[float, float] | None = None,
        max_step: float | None = None,
        start: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        self._belief = protocol("belief", Belief() if belief is None else belief, "lengthscales")
        self._choice = protocol("choice", UCB() if choice is None else choice, "score")
        self._query = protocol("query", ExpectedRegret() if query is None else query, "decide")
        self._direction = one_of("direction", direction, ("maximize", "minimize"))
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._on_skip = one_of("on_skip", on_skip, ("exploit", "explore"))
        self._clip = None if clip is None else pair("clip", clip, "the bounds on a reward")
        self._max_step = max_step
        if max_step is not None:
            number("max_step", max_step, "the largest move in the unit cube", above=0.0, high=1.0)
        self._arena = arena_of(space, candidates, self._belief)
        if guard is None:
            guard = default_guard(self._belief, self._query, self._arena.dimensions)
        self._guard = protocol("guard", guard, "overrule")
        self._start = None if start is None else dict(start)
        self._start_point = None if start is None else self._arena.encode(start)
        self._model = self._arena.model()
        self._rng = np.random.default_rng(seed)
        self._run = uuid.uuid4().hex
        self._again = False  # the last decision is to be handed out once more
        self._warned = False
        self._memory: dict[str, Any] = {}  # the query rule's own
        self._evaluating: dict[float, float] = {}  # seconds measured of rounds not told yet
        self.account = Account()
        self._warm: dict[str, Any] = {}  # modes of the last searches, to start the next ones from
        self.history = History(self._arena.decode, self._arena.width)

    def ask(self, round: float | None = None) -> Decision:
        """Begin a round: choose the setting, and decide whether to observe it.

        Args:
            round: Its number or time, larger than the last one's; the next whole number if None.
        """
        if self._hand_out_again(round):
            return self._decision(len(self.history) - 1)
        t = self._next_round(round)
        asked = self.account.close_round()
        posterior = self._model.posterior(t)
        optima = self._search(posterior, self._choice)  # line 3
        incumbent = cache(lambda: self._search(posterior, Mean()).point)
        situation = self._situation(posterior, optima, incumbent)
        verdict = self._query.decide(situation)  # line 4
        verdict = self._guard.overrule(verdict, t=len(self.history) + 1, silent=self.history.silent)
        point = optima.point
        if self._start_point is not None and not len(self.history):
            point = self._start_point
        elif not verdict.query and self._on_skip == "exploit":
            point = incumbent()
        mean, std = posterior.marginal(np.asarray(point)[None])
        played = (self._sign * float(mean[0]), float(std[0]))
        self.history.append(t, point, verdict, *played, optima.value)
        self.account.open_round(asked, query=verdict.query)
        return self._decision(len(self.history) - 1)

    @contextmanager
    def evaluating(self, decision: Decision) -> Iterator[None]:
        """Measure an evaluation: ``with tuner.evaluating(decision): metric = validate(model)``.

        Its seconds are taken by the ``tell`` of the same decision.
        """
        start = monotonic()
        try:
            yield
        finally:
            self._evaluating[decision.round] = monotonic() - start

    def tell(
        self,
        decision: Decision,
        reward: float | None = None,
        *,
        metric: float | None = None,
        seconds: float | None = None,
    ) -> None:
        """Report what a round gave; lines 5-7.

        A round may be told although no query was asked for, and need not be told although one
        was. A reward that is not finite is recorded as failed, and the round counts as unobserved.

        Args:
            decision: The decision of that round.
            reward: The reward f_t(x_t), with noise.
            metric: The same by the name of a validation metric; give one of the two.
            seconds: What the evaluation took; measured by :meth:`evaluating` if that was used.
        """
        value = the_one(reward, metric)
        cost = None if seconds is None else number("seconds", seconds, "its cost", low=0.0)
        i = self._row_to_tell(decision)
        if math.isfinite(value):
            clipped = value if self._clip is None else min(max(value, self._clip[0]), self._clip[1])
            self._model.observe(self.history.point(i), self._sign * clipped, decision.round)
        measured = self._evaluating.pop(decision.round, None)
        cost = measured if cost is None else cost
        self.history.settle(i, value, cost)
        if cost is not None:
            self.account.add_evaluation(cost)
        if not math.isfinite(value) and not self._warned:
            self._warned = True
            warnings.warn(
                f"round {decision.round} was told {value}: it is recorded as failed and counts as "
                "unobserved, as will any later one (this is said once).",
                RuntimeWarning,
                stacklevel=2,
            )

    def predict(self, params: Any = None, round: float | None = None) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of f, in the user's units.

        Args:
            params: A list of dicts; or, of candidates, rows (n, d) or indices, all if None; of a
                space, rows of the unit cube.
            round: When; the round after the last one begun if None.
        """
        t = self._upcoming if round is None else number("round", round, "when to predict")
        points = self._arena.domain.cover if params is None else self._arena.find(params)
        mean, std = self._model.posterior(t).marginal(points)
        return self._sign * mean, std

    def best(self) -> dict[str, Any]:
        """The setting with the best posterior mean now."""
        return self._arena.decode(self._peak_of_mean(self._model.posterior(self._upcoming)).point)

    @property
    def parameters(self) -> dict[str, Any]:
        """The belief's parameters, given or likeliest, in the user's units."""
        if isinstance(self._model, Learned):
            learned = self._model.parameters
            return {**learned, "mean": self._sign * learned["mean"]}
        names = ("lengthscale", "forgetting", "noise", "scale", "mean")
        return {name: getattr(self._belief, name) for name in names}

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any]) -> Tuner:
        """The tuner that a state was taken of, ready to go on."""
        tuner = cls(**arguments_of(state))
        tuner.load_state_dict(state)
        return tuner

    def _search(self, posterior: Posterior, choice: Acquisition) -> Optima:
        """Optima of an acquisition, within reach of the last setting played."""
        surface, name = self._surface(posterior, choice), type(choice).__name__
        optima = self._arena.domain.search(
            surface,
            self._rng,
            warm=self._warm.get(name),
            within=self._within,
            best_only=isinstance(choice, Mean),
        )
        if self._arena.width:
            self._warm[name] = optima.modes[:WARM]
        return optima

    @property
    def _within(self) -> Any:
        """Where the next setting may lie, None if anywhere."""
        if self._max_step is None or not len(self.history):
            return None
        return self._arena.near(self.history.point(len(self.history) - 1), self._max_step)

    def _surface(self, posterior: Posterior, choice: Acquisition) -> Surface:
        """The acquisition as a function of points."""
        setting = Setting(
            t=len(self.history) + 1,
            size=self._arena.domain.size,
            scale=posterior.prior_std,
            incumbent=cache(lambda: self._peak_of_mean(posterior).value),
        )
        return Surface(posterior, choice, setting)

    def _peak_of_mean(self, posterior: Posterior) -> Optima:
        """The best known setting, anywhere; looking does not disturb the run's generator."""
        surface, rng = self._surface(posterior, Mean()), np.random.default_rng(0)
        return self._arena.domain.search(surface, rng, warm=self._warm.get("Mean"))

    def _situation(
        self, posterior: Posterior, optima: Optima, incumbent: Callable[[], Point]
    ) -> Situation:
        """What the query rule may look at."""
        t, domain = len(self.history) + 1, self._arena.domain

        def search(surface: Any) -> Optima:
            warm = optima.modes[:WARM] if self._arena.width else None
            within = self._within
            return domain.search(surface, self._rng, warm=warm, within=within, best_only=True)

        return Situation(
            t=t,
            posterior=posterior,
            optima=optima,
            cover=domain.cover,
            beta=self._choice.beta(t, domain.size) if isinstance(self._choice, UCB) else None,
            rng=self._rng,
            incumbent=incumbent,
            search=search,
            memory=self._memory,
            account=self.account,
        )

    @property
    def _last(self) -> float:
        return self.history.round(len(self.history) - 1) if len(self.history) else 0

    @property
    def _upcoming(self) -> float:
        """The whole number after the last round begun."""
        return math.floor(self._last) + 1

    def _hand_out_again(self, round: float | None) -> bool:
        """Whether the last decision was left unfinished by the process that got it."""
        again, self._again = self._again, False
        return again and (round is None or round == self._last)

    def _next_round(self, round: float | None) -> float:
        if round is None:
            return self._upcoming
        t = number("round", round, "the number or time of the round that begins")
        if len(self.history) and t <= self._last:
            raise ValueError(
                f"`round` must be larger than the last one, {self._last}, but got {round!r}. "
                "Rounds move forward; to go back, load an earlier state."
            )
        return t

    def _decision(self, i: int) -> Decision:
        record = self.history[i]
        return Decision(
            record.round, record.params, record.query, record.reason, record.index, self._run
        )

    def _row_to_tell(self, decision: Decision) -> int:
        """The row of a decision that may still be told."""
        if not isinstance(decision, Decision):
            raise TypeError(f"`decision` must be what `ask` returned, but got {decision!r}.")
        if decision.run != self._run:
            raise ValueError(
                f"the decision of round {decision.round} is of another tuner; tell it to that one."
            )
        i = self.history.find(decision.round)
        if i is None or self._arena.decode(self.history.point(i)) != decision.params:
            raise ValueError(
                f"this tuner has not handed out {decision.params} in round {decision.round}; after "
                "loading an earlier state, ask again."
            )
        if self.history.told(i):
            raise ValueError(f"round {decision.round} was already told; a round is told once.")
        if self.history.last_told is not None and decision.round < self.history.last_told:
            raise ValueError(
                f"round {decision.round} is told too late: round {self.history.last_told} was told "
                "before, and answers are taken in the order of their rounds."
            )
        return i
