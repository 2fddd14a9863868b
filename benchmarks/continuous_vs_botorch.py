"""One decision in eight continuous dimensions, against BoTorch's ``optimize_acqf``.

The same posterior (Matern-5/2, given parameters: lengthscales drawn from .3-.8, noise variance
.01, forgetting 0 or .01), the same UCB with beta = 4, double precision. midrun: ``Box.search`` with
its 50 random starts and nothing else to start from, and the whole ``Tuner.ask`` in its second round
on these answers, which also starts from the first round's optima. BoTorch: 50 restarts, picked from
50 raw samples and from the customary 512, all other options as they come, on a ``SingleTaskGP``
without forgetting and on ``midrun.integrations.botorch.TimeVaryingGP`` with it; its caches are
filled before it is timed, as midrun's factor is made when an answer is told. The answers are of a
function drawn from the belief, half of the problems at random points, half where a tuner played.
The sides alternate problem by problem in one process, the order of the sides too.

Twice: with threads as the libraries set them, and with one thread for all of them. Where another
process holds a core, threads that wait for each other make both sides slower, BoTorch by ten times
and more: a ratio found there says more about the other process than about either library. Read the
figures of one thread.

Quality: the best value found less BoTorch's best, in units of the surface's range (over 2,000
random points and what all sides found), all valued by midrun's posterior, which must equal
BoTorch's. Asked: at least 30 times faster at n = 50, 200 and 500; not below by more than 1e-4 in 95
of 100 problems.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import midrun
from benchmarks._progress import Progress
from benchmarks._table import at_least, at_most, quartiles, table
from benchmarks._worlds import NOISE, Array, cube
from midrun.belief.forgetting import Markov
from midrun.belief.kernels import Kernel
from midrun.belief.prior import Parameters
from midrun.belief.process import Process, ProcessPosterior
from midrun.choice.acquisition import UCB, Setting
from midrun.choice.optima import STARTS, Box
from midrun.choice.surface import Surface
from midrun.space import Space

D, BETA = 8, 4.0
SPACE = {f"x{j}": (0.0, 1.0) for j in range(D)}
SEARCH, ASK = "search", "ask"
RAW = (50, 512)  # raw samples of BoTorch


@dataclass(frozen=True)
class Problem:
    """Answers of one function, told in rounds 1 to n; the decision is that of round n + 2."""

    n: int
    forgetting: float
    played: bool
    lengthscale: Array  # (D,)
    X: Array  # (n, D)
    y: Array  # (n,)

    @property
    def round(self) -> float:
        return self.n + 2.0

    @property
    def times(self) -> Array:
        return np.arange(1.0, self.n + 1.0)

    @property
    def belief(self) -> midrun.Belief:
        return midrun.Belief(
            lengthscale=self.lengthscale.tolist(),
            forgetting=self.forgetting,
            noise=NOISE,
            scale=1.0,
            mean=0.0,
        )

    def process(self) -> Process:
        kernel = Kernel("matern52", self.lengthscale, np.zeros(D, dtype=bool))
        process = Process(kernel, Markov(self.forgetting), Parameters(1.0, NOISE, 0.0))
        process.observe_all(self.X, self.y, self.times)
        return process


def problem(seed: int, n: int, forgetting: float, played: bool) -> Problem:
    rng = np.random.default_rng([seed, n])
    lengthscale = rng.uniform(0.3, 0.8, D)
    world = cube(seed, D, lengthscale=lengthscale, epsilon=forgetting, T=n, points=0)
    X = rng.random((n, D))
    if played:
        tuner = midrun.Tuner(
            SPACE, belief=world.belief, choice=UCB(BETA), query=midrun.Always(), seed=seed
        )
        for t in range(n):
            decision = tuner.ask()
            X[t] = list(decision.params.values())
            tuner.tell(decision, reward=float(world.values(t, X[t : t + 1])[0] + world.noise[t]))
    y = np.array([float(world.values(t, X[t : t + 1])[0]) for t in range(n)]) + world.noise
    return Problem(n, forgetting, played, lengthscale, X, y)


@dataclass(frozen=True)
class Sides:
    """Both posteriors of one problem, and every way to decide: each gives a point (D,)."""

    surface: Surface
    ways: dict[str, Callable[[], Array]]
    apart: float  # largest difference of mean or std at random points


def sides(p: Problem, seed: int) -> Sides:
    import torch
    from botorch.acquisition.analytic import UpperConfidenceBound
    from botorch.optim.optimize import optimize_acqf

    process = p.process()
    posterior = process.posterior(p.round)
    surface = Surface(posterior, UCB(BETA), Setting(1, None, 1.0, lambda: math.nan))
    box = Box(Space.of(SPACE), starts=STARTS)
    rng = np.random.default_rng(seed)

    tuner = midrun.Tuner(SPACE, belief=p.belief, choice=UCB(BETA), query=midrun.Always(), seed=seed)
    tuner.load_state_dict({**tuner.state_dict(), "model": process.state_dict()})
    tuner.ask(round=p.round - 1.0)

    model, fixed = botorch_model(p)
    apart = _apart(posterior, model, p.round if fixed else None)
    acquisition = UpperConfidenceBound(model, beta=BETA)
    bounds = torch.zeros(2, D + len(fixed), dtype=torch.float64)
    bounds[1] = 1.0
    for column, value in fixed.items():
        bounds[:, column] = value
    torch.manual_seed(seed)

    def botorch(raw_samples: int) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of restarts that ended early
            x, _ = optimize_acqf(
                acquisition,
                bounds,
                q=1,
                num_restarts=STARTS,
                raw_samples=raw_samples,
                fixed_features=fixed or None,
            )
        point: Array = x.detach().numpy()[0, :D]
        return point

    return Sides(
        surface,
        {
            SEARCH: lambda: box.search(surface, rng).point,
            ASK: lambda: np.array(list(tuner.ask(round=p.round).params.values())),
            **{_peer(raw): lambda raw=raw: botorch(raw) for raw in RAW},
        },
        apart,
    )


def _peer(raw_samples: int) -> str:
    return f"BoTorch, {raw_samples} raw"


def botorch_model(p: Problem) -> tuple[Any, dict[int, float]]:
    """The model, and the column that holds the round, if it has one."""
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch.kernels import MaternKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ZeroMean

    from midrun.integrations.botorch import TimeVaryingGP

    X, Y = torch.from_numpy(p.X), torch.from_numpy(p.y)[:, None]
    if p.forgetting:
        XT = torch.cat([X, torch.from_numpy(p.times)[:, None]], dim=1)
        given = {"noise": NOISE, "scale": 1.0, "mean": 0.0}
        ell = p.lengthscale.tolist()
        model = TimeVaryingGP(XT, Y, lengthscale=ell, forgetting=p.forgetting, **given)
        return model.eval(), {D: p.round}
    model = SingleTaskGP(
        X,
        Y,
        likelihood=GaussianLikelihood().double(),
        covar_module=ScaleKernel(MaternKernel(2.5, ard_num_dims=D)).double(),
        mean_module=ZeroMean(),
        outcome_transform=None,
    )
    model.likelihood.noise = NOISE
    model.covar_module.outputscale = 1.0
    model.covar_module.base_kernel.lengthscale = torch.from_numpy(p.lengthscale)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model.eval(), {}


def _apart(posterior: ProcessPosterior, model: Any, round: float | None) -> float:
    import torch

    X = np.random.default_rng(0).random((200, D))
    columns = [X] if round is None else [X, np.full((len(X), 1), round)]
    with torch.no_grad():
        theirs = model.posterior(torch.from_numpy(np.concatenate(columns, axis=1))[:, None, :])
    mean, std = posterior.marginal(X)
    gaps = (mean - theirs.mean.numpy().ravel(), std - np.sqrt(theirs.variance.numpy().ravel()))
    return max(float(np.abs(gap).max()) for gap in gaps)


@dataclass(frozen=True)
class Outcome:
    """What every way took and found."""

    seconds: dict[str, float]
    values: dict[str, float]
    spread: float
    apart: float


@contextmanager
def one_thread() -> Iterator[None]:
    """Every library alike: BLAS of NumPy and SciPy, and torch."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


THREADS: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "one thread": one_thread,
    "threads as they come": nullcontext,
}


def decide(p: Problem, seed: int) -> Outcome:
    """Every way once; who goes first changes with the seed."""
    s = sides(p, seed)
    names = list(s.ways)
    shift = seed % len(names)
    seconds, points = {}, {}
    for name in names[shift:] + names[:shift]:
        start = perf_counter()
        points[name] = s.ways[name]()
        seconds[name] = perf_counter() - start
    values = dict(zip(points, s.surface(np.array(list(points.values()))).tolist(), strict=True))
    cover = s.surface(np.random.default_rng(seed).random((2000, D)))
    spread = max(*values.values(), float(cover.max())) - min(*values.values(), float(cover.min()))
    return Outcome(seconds, values, spread, s.apart)


def timed(sizes: Sequence[int], count: int) -> dict[tuple[str, int], list[Outcome]]:
    """Outcomes by (threads, n): the same problems one after the other under each."""
    outcomes: dict[tuple[str, int], list[Outcome]] = {(k, n): [] for k in THREADS for n in sizes}
    progress = Progress("speed, problems", count * len(sizes))
    for i in range(count):
        for n in sizes:
            with one_thread():
                p = problem(1000 + i, n, (0.01, 0.0)[i % 2], i // 2 % 2 == 1)
            for threads, limited in THREADS.items():
                with limited():
                    outcomes[threads, n].append(decide(p, i))
            progress.step()
    return outcomes


def judged(sizes: Sequence[int], count: int) -> list[Outcome]:
    """Outcomes of other problems, for the values found."""
    outcomes = []
    progress = Progress("quality, problems", count)
    with one_thread():
        for i in range(count):
            n = sizes[i % len(sizes)]
            outcomes.append(decide(problem(i, n, (0.01, 0.0)[i // 2 % 2], i // 4 % 2 == 1), i))
            progress.step()
    return outcomes


def run(quick: bool) -> dict[str, Any]:
    for forgetting in (0.01, 0.0):
        decide(problem(0, 10, forgetting, False), 0)  # libraries load, threads start
    speed = timed((50,), 2) if quick else timed((50, 200, 500), 12)
    quality = judged((50,), 4) if quick else judged((50, 200), 100)

    peers = [_peer(raw) for raw in RAW]
    times, ratios, by_model, asked = [], [], [], []
    for (threads, n), outcomes in speed.items():
        where = f"{threads}, n = {n}"
        for way in (SEARCH, ASK, *peers):
            low, median, high = quartiles(np.array([1e3 * o.seconds[way] for o in outcomes]))
            times.append([f"{where}: {way}", median, f"{low:.3g}-{high:.3g}"])
        for way in (SEARCH, ASK):
            for peer in peers:
                low, median, high = quartiles(_ratio(outcomes, peer, way))
                ratios.append([f"{where}: {peer} / {way}", median, f"{low:.3g}-{high:.3g}"])
        quicker = min(peers, key=lambda peer: np.median(_ratio(outcomes, peer, ASK)))
        median = float(np.median(_ratio(outcomes, quicker, ASK)))
        asked.append(at_least(f"{where}: {quicker} / {ASK}", 30.0, median))
        for model, some in (("TimeVaryingGP", outcomes[0::2]), ("SingleTaskGP", outcomes[1::2])):
            medians = [
                float(np.median(_ratio(some, peer, way))) for way in (SEARCH, ASK) for peer in peers
            ]
            by_model.append([f"{where}: {model}", *medians])

    found = []
    for way in (SEARCH, ASK, peers[0]):
        for peer in peers:
            if way == peer:
                continue
            gap = np.array([(o.values[way] - o.values[peer]) / o.spread for o in quality])
            good, better = (int(np.count_nonzero(g)) for g in (gap >= -1e-4, gap > 1e-4))
            ends = (float(gap.min()), float(np.median(gap)), float(gap.max()))
            found.append([f"{way} - {peer}", good, better, *ends])
            if way != peers[0]:
                what = f"{way} not below {peer}, of {len(quality)}"
                asked.append(at_least(what, 0.95 * len(quality), good))
    apart = max(o.apart for o in [*quality, *(o for some in speed.values() for o in some)])
    asked.append(at_most("difference of the posteriors", 1e-6, apart))
    count = len(next(iter(speed.values())))
    return {
        "tables": [
            table(
                f"ms per decision, d = {D}, {STARTS} starts, {count} problems each",
                ["", "median", "quartiles"],
                times,
            ),
            table("ratio within a problem", ["", "median", "quartiles"], ratios),
            table(
                "median ratio by BoTorch's model",
                ["", *(f"{peer} / {way}" for way in (SEARCH, ASK) for peer in peers)],
                by_model,
            ),
            table(
                f"value found, difference in units of the range, {len(quality)} problems",
                ["", ">= -1e-4", "> 1e-4", "least", "median", "largest"],
                found,
            ),
        ],
        "asked": asked,
        "seconds": {
            f"{threads}, n = {n}": [o.seconds for o in outcomes]
            for (threads, n), outcomes in speed.items()
        },
        "found": [{**o.values, "range": o.spread} for o in quality],
        "apart": apart,
    }


def _ratio(outcomes: Sequence[Outcome], slow: str, quick: str) -> Array:
    return np.array([o.seconds[slow] / o.seconds[quick] for o in outcomes])
