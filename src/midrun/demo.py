r"""``midrun demo``: a function that drifts, tuned before your eyes, and what the queries cost.

Data first: :func:`draw_world`, :func:`play` and :func:`compare` compute everything that is shown.
Drawing second: the rest turns it into text, on the console that is passed in.

The problem is the paper's synthetic one (section 5.1) with fewer points: 200 settings on [0, 1],
Matern-3/2 with lengthscale 0.2, noise variance 0.01. The belief is given the true parameters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from midrun.belief.kernels import Array, Kernel
from midrun.belief.prior import JITTER, Belief
from midrun.choice.acquisition import UCB
from midrun.choice.beta import LogBeta
from midrun.history import Decision
from midrun.paper import ce_gp_ucb
from midrun.query.simple import Always
from midrun.tuner import Tuner

POINTS = 200
LENGTHSCALE = 0.2
NOISE = 0.01  # a variance
KAPPA = 0.9
FULL, PAPER, OURS = "TV-GP-UCB (always)", f"CE-GP-UCB (kappa {KAPPA:g})", "midrun (default)"

# ------------------------------------------------------------------------------------------ data


@dataclass(frozen=True)
class World:
    """A drifting function and the noise of its answers: the same for every rule that plays it."""

    epsilon: float
    x: Array  # (m,)
    truth: Array  # (T, m), f_t(x)
    noise: Array  # (T,), that of the answer in round t, if it is paid for


@dataclass(frozen=True)
class Step:
    """One round: what was decided, the belief it was decided on, and what it cost."""

    decision: Decision
    x: float  # what was played
    mean: Array  # (m,), before this round's answer
    std: Array  # (m,)
    regret: float  # max f_t - f_t(x_t)


@dataclass(frozen=True)
class Score:
    """What one rule did on several worlds."""

    rule: str
    regret: Array  # (worlds, T)
    paid: npt.NDArray[np.bool_]  # (worlds, T)

    @property
    def average(self) -> Array:
        """Regret per round in each world, R_T / T, (worlds,)."""
        average: Array = self.regret.mean(axis=1)
        return average

    @property
    def queries(self) -> float:
        """Queries paid in a world, on average; the first one counts."""
        return float(self.paid.sum(axis=1).mean())

    @property
    def saved(self) -> float:
        """Share of the rounds that were not paid for."""
        return float(1.0 - self.paid.mean())


def draw_world(epsilon: float, rounds: int, seed: int | Sequence[int]) -> World:
    r"""Draw :math:`f_{t+1} = \sqrt{1-\epsilon} f_t + \sqrt\epsilon g_{t+1}`, each g a GP sample.

    Example:
        >>> draw_world(0.02, rounds=5, seed=0).truth.shape
        (5, 200)
    """
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, POINTS, dtype=np.float64)
    K = Kernel("matern32", np.array([LENGTHSCALE]), np.array([False]))(x[:, None], x[:, None])
    L = np.linalg.cholesky(K + JITTER * np.eye(POINTS))
    truth = rng.standard_normal((rounds, POINTS)) @ L.T  # rows ~ N(0, K)
    for t in range(1, rounds):
        truth[t] = np.sqrt(1.0 - epsilon) * truth[t - 1] + np.sqrt(epsilon) * truth[t]
    return World(epsilon, x, truth, np.sqrt(NOISE) * rng.standard_normal(rounds))


def rules(world: World, seed: int) -> dict[str, Tuner]:
    """A fresh tuner for each row of the table."""
    x = world.x[:, None]
    belief = Belief(
        kernel="matern32",
        lengthscale=LENGTHSCALE,
        forgetting=world.epsilon,
        noise=NOISE,
        scale=1.0,
        mean=0.0,
    )
    return {
        FULL: Tuner(
            candidates=x,
            belief=belief,
            choice=UCB(LogBeta(0.8, 4.0)),
            query=Always(),
            on_skip="explore",
            seed=seed,
        ),
        PAPER: ce_gp_ucb(x, KAPPA, world.epsilon, belief=belief, seed=seed),
        OURS: Tuner(candidates=x, belief=belief, on_skip="exploit", seed=seed),
    }


def play(world: World, tuner: Tuner) -> Iterator[Step]:
    """Play a world to its end, round by round.

    Example:
        >>> world = draw_world(0.02, rounds=5, seed=0)
        >>> [step.decision.query for step in play(world, rules(world, 0)[FULL])]
        [True, True, True, True, True]
    """
    for f, z in zip(world.truth, world.noise, strict=True):
        decision = tuner.ask()
        mean, std = tuner.predict(round=decision.round)
        value = float(f[decision.index])
        if decision.query:
            tuner.tell(decision, reward=value + float(z))
        yield Step(decision, decision.params["x0"], mean, std, float(f.max()) - value)


def compare(
    epsilon: float,
    rounds: int,
    worlds: int,
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> list[Score]:
    """Every rule on the same fresh worlds, seeds (seed, 1), (seed, 2), ...

    Args:
        epsilon: Forgetting per round, of the worlds and of the belief.
        rounds: Length of each world.
        worlds: How many; at least two, for a standard error.
        seed: Of all of them.
        advance: Called after each of the ``3 * worlds`` plays.
    """
    regret: dict[str, list[list[float]]] = {}
    paid: dict[str, list[list[bool]]] = {}
    for i in range(1, worlds + 1):
        world = draw_world(epsilon, rounds, (seed, i))
        for name, tuner in rules(world, seed).items():
            steps = list(play(world, tuner))
            regret.setdefault(name, []).append([step.regret for step in steps])
            paid.setdefault(name, []).append([step.decision.query for step in steps])
            advance()
    return [Score(name, np.array(regret[name]), np.array(paid[name])) for name in regret]


def mean_and_error(values: Array) -> tuple[float, float]:
    """Mean and its standard error.

    Example:
        >>> mean_and_error(np.array([1.0, 3.0]))
        (2.0, 1.0)
    """
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def bars(values: Array, low: float, high: float, height: int) -> list[str]:
    """A block chart, its top row first.

    Example:
        >>> bars(np.array([0.0, 0.5, 1.0]), 0.0, 1.0, height=2)
        ['  █', ' ██']
    """
    eighths = np.rint(8 * height * (np.clip(values, low, high) - low) / (high - low))
    rows = reversed(range(height))
    return ["".join(" ▁▂▃▄▅▆▇█"[int(np.clip(e - 8 * row, 0, 8))] for e in eighths) for row in rows]


# --------------------------------------------------------------------------------------- drawing

# The colours of the paper's figure 2.
_QUERY, _SKIP = "magenta", "green"
_TRUTH, _MEAN, _STD = "blue", "red", "bright_black"


def frame(world: World, steps: Sequence[Step], width: int) -> Panel:
    """The live view after some rounds, ``width`` columns wide."""
    step = steps[-1]
    t, decision = len(steps), step.decision
    f, rounds = world.truth[t - 1], len(world.truth)
    columns = max(width - 4 - 8, 10)  # borders and labels
    shown = np.rint(np.linspace(0, len(f) - 1, columns)).astype(int)
    peak = float(world.x[f.argmax()])
    here, best = (int(np.abs(world.x[shown] - x).argmin()) for x in (step.x, peak))
    style = _QUERY if decision.query else _SKIP
    low, high = float(world.truth.min()), float(world.truth.max())

    text = Text(no_wrap=True)

    def chart(label: str, rows: list[str], colour: str) -> None:
        for i, row in enumerate(rows):
            text.append(f"{label if i == len(rows) - 1 else '':8}", style="dim")
            text.append(row[:here], colour).append(row[here], f"bold {style}")
            text.append(row[here + 1 :] + "\n", colour)

    chart("truth", bars(f[shown], low, high, 4), _TRUTH)
    chart("mean", bars(step.mean[shown], low, high, 4), _MEAN)
    chart("std", bars(step.std[shown], 0.0, 1.0, 2), _STD)  # the prior's is 1
    marks = [" "] * columns
    marks[best], marks[here] = "◇", "▲"
    text.append(" " * 8 + "".join(marks) + "\n", style=f"bold {style}")
    looks = ["●" if s.decision.query else "·" for s in steps[-columns:]]
    text.append(f"{'queries':8}", style="dim").append("".join(looks))

    words = Text(f"round {t:3} of {rounds}   ▲ plays {step.x:.3f}")
    words.append(f"   ◇ best now {peak:.3f}\n", style="dim")
    words.append(decision.reason.words + "\n", style=style)
    words.append(_so_far(steps))
    return Panel(Group(text, "", words), title=_title(world), title_align="left", width=width)


def line(steps: Sequence[Step]) -> str:
    """The same for a log: one line."""
    x, words = steps[-1].x, steps[-1].decision.reason.words
    return f"round {len(steps):3}  x = {x:.3f}  {words}  [{_so_far(steps)}]"


def _title(world: World) -> str:
    return f"midrun: a function drifts, epsilon = {world.epsilon:g}"


def _so_far(steps: Sequence[Step]) -> str:
    regret = sum(step.regret for step in steps) / len(steps)
    paid = sum(step.decision.query for step in steps)
    return f"regret per round {regret:.3f}, {paid} of {len(steps)} rounds paid for"


def table(scores: Sequence[Score], plus_minus: str = "±") -> Table:
    """What each rule paid and lost, the first one being the measure."""
    worlds, rounds = scores[0].regret.shape
    result = Table(box=box.SIMPLE_HEAD, title=f"{worlds} fresh worlds of {rounds} rounds")
    result.add_column("rule")
    for heading, least in (("regret per round", 13), ("against always", 14), ("queries", 7)):
        result.add_column(heading, justify="right", min_width=least)
    result.add_column("saved", justify="right", min_width=5)
    for score in scores:
        mean, error = mean_and_error(score.average)
        change, change_error = mean_and_error(score.average - scores[0].average)
        result.add_row(
            score.rule,
            f"{mean:.3f} {plus_minus} {error:.3f}",
            "" if score is scores[0] else f"{change:+.3f} {plus_minus} {change_error:.3f}",
            f"{score.queries:.0f}",
            f"{100 * score.saved:.0f} %",
        )
    return result


def notes(scores: Sequence[Score], plus_minus: str = "±") -> str:
    """How to read the table."""
    text = (
        f"Means over the worlds {plus_minus} one standard error, measured in this run; "
        '"against always" compares within each world.'
    )
    if np.array_equal(scores[1].paid, scores[2].paid):
        text += (
            " CE-GP-UCB and midrun paid for the same rounds; in the others CE-GP-UCB explores "
            "and midrun plays the best setting it knows."
        )
    return text


def show(console: Console, world: World, tuner: Tuner, speed: float) -> None:
    """Play a world: live on a terminal, else every tenth round as a plain line."""
    steps: list[Step] = []
    if not _can_draw(console):
        _say(console, _title(world))
        for step in play(world, tuner):
            steps.append(step)
            if len(steps) == 1 or len(steps) % 10 == 0:
                _say(console, line(steps), soft_wrap=True)
        return
    start = time.monotonic()
    with Live(console=console, auto_refresh=False) as live:
        for step in play(world, tuner):
            steps.append(step)
            live.update(frame(world, steps, min(console.width, 100)), refresh=True)
            if speed:
                time.sleep(max(0.0, start + len(steps) / speed - time.monotonic()))


def run(
    console: Console,
    *,
    seed: int = 0,
    rounds: int = 200,
    epsilon: float = 0.02,
    speed: float = 20.0,
    worlds: int = 20,
) -> None:
    """The whole demo.

    Args:
        console: Where to draw.
        seed: Of the worlds.
        rounds: Length of each world.
        epsilon: Forgetting per round, in [0, 1).
        speed: Rounds per second of the live view, 0 for as fast as possible.
        worlds: Fresh worlds in the comparison, at least 2.
    """
    world = draw_world(epsilon, rounds, (seed, 0))
    show(console, world, rules(world, seed)[OURS], speed)
    columns = (
        TextColumn("{task.description}"),
        *(BarColumn(), MofNCompleteColumn(), TextColumn("plays, left:"), TimeRemainingColumn()),
    )
    quiet = not _can_draw(console)
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task(f"three rules on {worlds} fresh worlds", total=3 * worlds)
        scores = compare(epsilon, rounds, worlds, seed, lambda: progress.advance(task))
    plus_minus = "+-" if console.options.ascii_only else "±"
    console.print(table(scores, plus_minus))
    _say(console, notes(scores, plus_minus))


def _can_draw(console: Console) -> bool:
    """Whether it is a terminal that can redraw, with the characters to draw with."""
    return console.is_interactive and not console.options.ascii_only


def _say(console: Console, text: str, *, soft_wrap: bool = False) -> None:
    console.print(text, soft_wrap=soft_wrap, markup=False, highlight=False)
