"""A drifting function in 2 and 4 dimensions, every round observed: regret and seconds per decision.

Worlds: 500 random Fourier features of a Matern-5/2 kernel of lengthscale .4, weights that follow
the Markov model with eps = .01, noise variance .01, T = 100, and the same worlds for all. Regret:
the best of f_t less f_t(x_t), the best being looked for among 4,000 random points, by ascent from
five of them, and among what anybody played in that round.

- midrun: ``Tuner(space, query=Always())``, nothing else given; beside it the same with the true
  parameters, for what learning them costs.
- W-DBO (``wdbo_algo`` 1.0.7, Bardou et al. 2024): ``next_query``, ``tell`` and ``clean`` in every
  round as its documentation has it: Matern-5/2 in space and time, 15 first rounds at random, alpha
  = .25; and once more with Matern-1/2 in time, which is the worlds' own kernel. Its time runs over
  [0, 1] in the T rounds: it fits a lengthscale in time from .7 on by 150 steps of Adam, and rounds
  counted in ones did worse. torch's default is set to float64 around it: it fails otherwise with
  BoTorch 0.18.
- PB2 (Ray Tune, Parker-Holder et al. 2020): ``_select_config`` as ``PB2`` calls it for a population
  of one. Row i of its data is [time i, the sum of rewards before round i, x_i], with the reward of
  round i as the gain; the new point's time and sum are those of the last row; no trial is running;
  the first point is random. "PB2, time alone" leaves the sum out (``num_f=1``): it says nothing
  about f here. A decision that fails in scikit-learn is played at random and counted.
- random: uniform.

A decision is everything between two rewards, model fits included; all libraries have one thread.
Asked: a smaller mean regret than W-DBO and PB2, 5 seeds.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_most, table
from benchmarks._worlds import Array, Cube, cube
from benchmarks.continuous_vs_botorch import one_thread

SETTLED = 20  # the second figure leaves out the first rounds, in which W-DBO plays at random


class Player(Protocol):
    """One side of the comparison; t counts from 1."""

    def choose(self, t: int) -> Array:
        """A point of the unit cube, (d,)."""
        ...

    def told(self, t: int, x: Array, reward: float) -> None:
        """The reward of the point chosen."""
        ...


class Midrun:
    """A tuner; everything is learned unless a belief is given."""

    def __init__(self, d: int, seed: int, belief: midrun.Belief | None = None) -> None:
        space = {f"x{j}": (0.0, 1.0) for j in range(d)}
        self._tuner = midrun.Tuner(space, belief=belief, query=midrun.Always(), seed=seed)

    def choose(self, t: int) -> Array:
        self._decision = self._tuner.ask()
        return np.array(list(self._decision.params.values()))

    def told(self, t: int, x: Array, reward: float) -> None:
        self._tuner.tell(self._decision, reward=reward)


class WDBO:
    """wdbo_algo, with rounds as fractions of the run; nu is of the Matern kernel in time."""

    def __init__(self, d: int, seed: int, T: int, nu: float) -> None:
        from gpytorch.kernels import MaternKernel
        from wdbo_algo.optimizer import WDBOOptimizer

        _seed_globals(seed)
        self._unit = 1.0 / T
        with _double():
            self._optimizer = WDBOOptimizer(
                np.array([[0.0, 1.0]] * d),
                MaternKernel,
                MaternKernel,
                spatial_kernel_args=[2.5],
                temporal_kernel_args=[nu],
            )

    def choose(self, t: int) -> Array:
        with _double():
            x: Array = np.clip(self._optimizer.next_query(t * self._unit), 0.0, 1.0)
        return x

    def told(self, t: int, x: Array, reward: float) -> None:
        with _double():
            self._optimizer.tell(x, t * self._unit, reward)
            self._optimizer.clean(t * self._unit)


class PB2:
    """Ray's selection for a population of one."""

    def __init__(self, d: int, seed: int, num_f: int) -> None:
        _seed_globals(seed)
        self._rng = np.random.default_rng(seed)
        self._d = d
        self._num_f = num_f  # 2: time and the sum of rewards so far; 1: time alone
        self._bounds = {f"x{j}": [0.0, 1.0] for j in range(d)}
        self._rows: list[Array] = []
        self._gains: list[float] = []
        self.failed = 0

    def choose(self, t: int) -> Array:
        from ray.tune.schedulers.pb2 import _select_config

        if not self._rows:
            return self._rng.random(self._d)
        X, y = np.array(self._rows), np.array(self._gains)
        newpoint = X[-1, : self._num_f]
        try:
            x = _select_config(X, y, None, newpoint, self._bounds, self._num_f)
        except (ValueError, np.linalg.LinAlgError):
            self.failed += 1
            return self._rng.random(self._d)
        point: Array = np.clip(x.astype(np.float64), 0.0, 1.0)
        return point

    def told(self, t: int, x: Array, reward: float) -> None:
        fixed = [float(t), sum(self._gains)][: self._num_f]
        self._rows.append(np.concatenate([fixed, x]))
        self._gains.append(reward)


class Random:
    """Uniform play."""

    def __init__(self, d: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._d = d

    def choose(self, t: int) -> Array:
        return self._rng.random(self._d)

    def told(self, t: int, x: Array, reward: float) -> None:
        pass


def _seed_globals(seed: int) -> None:
    """Peers draw from the global generators."""
    import torch

    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


@contextmanager
def _double() -> Iterator[None]:
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


OURS, GIVEN, WASSERSTEIN, WASSERSTEIN_OWN, RAY, RAY_TIME, UNIFORM = (
    "midrun",
    "midrun, true parameters",
    "W-DBO",
    "W-DBO, Matern-1/2 in time",
    "PB2",
    "PB2, time alone",
    "random",
)
MAKE: dict[str, Callable[[Cube, int, int, int], Player]] = {
    OURS: lambda world, d, seed, T: Midrun(d, seed),
    GIVEN: lambda world, d, seed, T: Midrun(d, seed, world.belief),
    WASSERSTEIN: lambda world, d, seed, T: WDBO(d, seed, T, nu=2.5),
    WASSERSTEIN_OWN: lambda world, d, seed, T: WDBO(d, seed, T, nu=0.5),
    RAY: lambda world, d, seed, T: PB2(d, seed, num_f=2),
    RAY_TIME: lambda world, d, seed, T: PB2(d, seed, num_f=1),
    UNIFORM: lambda world, d, seed, T: Random(d, seed),
}


@dataclass
class Game:
    """What one player did on one world."""

    values: list[float] = field(default_factory=list)  # f_t(x_t)
    seconds: list[float] = field(default_factory=list)
    failed: int = 0


def play(player: Player, world: Cube, T: int) -> Game:
    game = Game()
    for t in range(T):
        start = perf_counter()
        x = player.choose(t + 1)
        seconds = perf_counter() - start
        value = float(world.values(t, x[None])[0])
        start = perf_counter()
        player.told(t + 1, x, value + float(world.noise[t]))
        game.seconds.append(seconds + perf_counter() - start)
        game.values.append(value)
    game.failed = getattr(player, "failed", 0)
    return game


def run(
    quick: bool, seeds: Sequence[int] | None = None, dimensions: Sequence[int] | None = None
) -> dict[str, Any]:
    T = 18 if quick else 100
    seeds = seeds or ((0,) if quick else (0, 1, 2, 3, 4))
    dimensions = dimensions or ((2,) if quick else (2, 4))
    games: dict[tuple[int, str], list[Game]] = {(d, name): [] for d in dimensions for name in MAKE}
    regrets: dict[tuple[int, str], list[Array]] = {key: [] for key in games}
    progress = Progress("games", len(seeds) * len(games))
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that end early, in any library
        for seed in seeds:
            for d in dimensions:
                world = cube(seed, d, T=T)
                for name, make in MAKE.items():
                    game = play(make(world, d, seed, T), world, T)
                    games[d, name].append(game)
                    progress.step()
                best = np.max([world.best, *(games[d, n][-1].values for n in MAKE)], axis=0)
                for name in MAKE:
                    regrets[d, name].append(best - games[d, name][-1].values)
                told = ", ".join(f"{n} {regrets[d, n][-1].mean():.3f}" for n in MAKE)
                print(f"   seed {seed}, d = {d}, regret per round: {told}", file=sys.stderr)

    tables, asked = [], []
    for d in dimensions:
        mean = {n: np.array([r.mean() for r in regrets[d, n]]) for n in MAKE}  # (seeds,) each
        first = SETTLED if T > SETTLED else 0
        late = {n: np.array([r[first:].mean() for r in regrets[d, n]]) for n in MAKE}
        rows = []
        for name in MAKE:
            paired = mean[name] - mean[OURS]
            seconds = np.array([game.seconds for game in games[d, name]])
            rows.append(
                [
                    name,
                    float(mean[name].mean()),
                    _error(mean[name]),
                    float(late[name].mean()),
                    float(paired.mean()),
                    _error(paired),
                    float(seconds.mean()),
                    float(seconds.max()),
                    sum(game.failed for game in games[d, name]),
                ]
            )
        tables.append(
            table(
                f"d = {d}, T = {T}, {len(seeds)} seed(s): regret per round, seconds per decision",
                [
                    *("", "regret", "se", f"after round {first}", "less midrun's", "se"),
                    *("seconds", "longest", "failed"),
                ],
                rows,
            )
        )
        for name in (WASSERSTEIN, WASSERSTEIN_OWN, RAY, RAY_TIME):
            got = float(mean[OURS].mean() / mean[name].mean())
            asked.append(at_most(f"d = {d}: regret of midrun / {name}", 1.0, got))
            if first:
                got = float(late[OURS].mean() / late[name].mean())
                asked.append(at_most(f"  the same after round {first}", 1.0, got))
    return {
        "tables": tables,
        "asked": asked,
        "seeds": list(seeds),
        "regret": {f"{d}, {n}": [r.tolist() for r in rs] for (d, n), rs in regrets.items()},
        "seconds": {f"{d}, {n}": [g.seconds for g in gs] for (d, n), gs in games.items()},
    }


def _error(values: Array) -> float | str:
    """Standard error over seeds."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else "-"
