"""One round decided in BoTorch: all local optima of an acquisition, and a query rule on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import UpperConfidenceBound
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import Model
from botorch.optim.optimize import optimize_acqf
from botorch.utils.sampling import draw_sobol_samples
from torch import Tensor

from midrun.belief.kernels import Array
from midrun.checks import number, protocol, whole
from midrun.choice.optima import mean_shift
from midrun.integrations.botorch.model import at_round
from midrun.integrations.botorch.posterior import ModelPosterior
from midrun.query.rule import QueryRule, Situation, Verdict

COVER = 256  # Sobol points that stand for the domain; the first `num_restarts` are starts
KEEN = 4  # and so many of the best of them, whatever their place in the sequence
STEP = 0.1  # first step of a climb, of the box: longer ones jump over the optimum nearby


def decide(
    rule: QueryRule,
    model: Model,
    acquisition: AcquisitionFunction,
    bounds: Tensor,
    *,
    t: float | None,
    round: int,
    num_restarts: int = 50,
    bandwidth: float = 0.2,
    beta: float | None = None,
    generator: np.random.Generator | None = None,
    fixed_features_list: Sequence[Mapping[int, float]] = ({},),
    posterior_transform: PosteriorTransform | None = None,
    options: Mapping[str, Any] | None = None,
) -> tuple[Tensor, Verdict]:
    """Lines 3 and 4 of Algorithm 1: what to play in this round, and whether to look at it.

    All local optima of the acquisition are found by BoTorch's optimiser from many starts, close
    ones are merged by mean shift, and the rule compares the best with the others.

    Args:
        rule: A query rule of midrun, for example ``midrun.Confidence(0.9)``.
        model: The model whose posterior the rule looks at.
        acquisition: Any acquisition of one point that is to be maximised (one-shot ones excepted),
            on the model's columns (x, t), or on x alone (``at_round``).
        bounds: Lower and upper bound of each column of x, (2, d).
        t: The round as the model's time column has it; None for a model without one.
        round: Rounds begun, this one included: 1, 2, 3, ...
        num_restarts: Starts, the paper's 50; a few of the best of 256 more points are added.
        bandwidth: Optima closer than this are one mode, in units of ``bounds``.
        beta: Exploration weight for ``midrun.NoOverlap``; BoTorch's ``UpperConfidenceBound`` tells
            its own.
        generator: Seeds the starts, and tosses the coin of rules that have one.
        fixed_features_list: As in ``optimize_acqf_mixed``: one search for each assignment of
            values to columns of x, so that categories are enumerated.
        posterior_transform: Of the model's posterior for the rule; the acquisition has its own.
        options: For BoTorch's optimiser, for example ``{"maxiter": 100}``.

    Returns:
        The choice x_t, (1, d), and the verdict; ``verdict.rival`` is a row (d,).
    """
    protocol("rule", rule, "decide")
    bounds = _checked_bounds(bounds)
    rng = np.random.default_rng() if generator is None else generator
    bandwidth = number("bandwidth", bandwidth, "the distance of two modes", above=0.0)
    starts = whole("num_restarts", num_restarts, "the number of starts", low=1)
    if t is not None and not isinstance(acquisition, FixedFeatureAcquisitionFunction):
        acquisition = at_round(acquisition, t, d=bounds.shape[-1])
    if beta is None:
        inner = getattr(acquisition, "acq_func", acquisition)
        beta = float(inner.beta) if isinstance(inner, UpperConfidenceBound) else None  # type: ignore[arg-type]

    seed = int(rng.integers(2**31))
    sobol = draw_sobol_samples(bounds, n=max(COVER, starts), q=1, seed=seed)  # (m, 1, d)
    covers, ends = [], []
    for fixed in fixed_features_list or ({},):
        cover = sobol.clone()
        for column, value in fixed.items():
            cover[..., column] = value
        covers.append(cover)
        ends.append(_climb(acquisition, bounds, cover, starts, fixed, options))
    points = torch.cat(ends)
    with torch.no_grad():
        values = acquisition(points.unsqueeze(-2))

    unordered = np.zeros(bounds.shape[-1], dtype=bool)
    unordered[[column for fixed in fixed_features_list for column in fixed]] = True
    unit = (points - bounds[0]) / (bounds[1] - bounds[0])
    kept = mean_shift(unit.cpu().numpy(), values.cpu().numpy(), bandwidth, unordered)
    rows = torch.cat(covers).squeeze(-2).cpu().numpy()
    posterior = ModelPosterior(model, t, cover=rows, posterior_transform=posterior_transform)
    known = np.concatenate([points.cpu().numpy(), rows])

    def best_known(surface: Callable[[Array], Array]) -> _Optima:
        """The best of the optima and the cover: fine enough for a verdict."""
        values = surface(known)
        best = int(np.argmax(values))
        return _Optima(known[best : best + 1], float(values[best]))

    situation = Situation(
        t=whole("round", round, "the count of rounds begun", low=1),
        posterior=posterior,
        optima=_Optima(points.cpu().numpy()[kept], float(values[kept[0]])),
        cover=rows,
        beta=beta,
        rng=rng,
        incumbent=lambda: best_known(lambda X: posterior.marginal(X)[0]).point,
        search=best_known,
    )
    return points[kept[:1]], rule.decide(situation)


def _checked_bounds(bounds: Tensor) -> Tensor:
    if bounds.ndim != 2 or len(bounds) != 2 or not bool((bounds[0] < bounds[1]).all()):
        raise ValueError(
            f"`bounds` must be a lower and a larger upper bound of each column of x, (2, d), but "
            f"got {bounds}. The round is no part of them."
        )
    return bounds.double()


@dataclass(frozen=True)
class _Optima:
    """A surface's optima as a rule sees them."""

    modes: Array  # (k, d), the best first
    value: float

    @property
    def point(self) -> Array:
        return self.modes[0]


def _climb(
    acquisition: AcquisitionFunction,
    bounds: Tensor,
    cover: Tensor,
    starts: int,
    fixed: Mapping[int, float],
    options: Mapping[str, Any] | None,
) -> Tensor:
    """Where L-BFGS-B gets to from the first rows of ``cover`` and the best of all, (s, d)."""
    surface = _InSteps(acquisition, bounds, list(fixed))
    with torch.no_grad():
        keen = acquisition(cover).topk(KEEN).indices
    found, _ = optimize_acqf(
        surface,
        surface.u_of(bounds),
        q=1,
        num_restarts=starts + KEEN,
        batch_initial_conditions=surface.u_of(torch.cat([cover[:starts], cover[keen]])),
        fixed_features=dict(fixed) or None,
        return_best_only=False,
        # A start that stalls on a plateau stays where it got to; the others are none the worse.
        retry_on_optimization_warning=False,
        options=None if options is None else dict(options),
    )
    X = surface.x_of(found.detach()).squeeze(-2)
    return torch.minimum(torch.maximum(X, bounds[0]), bounds[1])


class _InSteps(AcquisitionFunction):
    """An acquisition as a function of u, x = origin + step * u: so the optimiser's unit is a step.

    Columns held fixed are left as they are, to the last bit: they may be codes.
    """

    def __init__(self, acquisition: AcquisitionFunction, bounds: Tensor, fixed: list[int]) -> None:
        torch.nn.Module.__init__(self)  # as BoTorch's wrappers do: the model is the acquisition's
        self.acquisition = acquisition
        self.origin, self.step = bounds[0].clone(), STEP * (bounds[1] - bounds[0])
        self.origin[fixed], self.step[fixed] = 0.0, 1.0

    def u_of(self, X: Tensor) -> Tensor:
        return (X - self.origin) / self.step

    def x_of(self, U: Tensor) -> Tensor:
        return self.origin + self.step * U

    def forward(self, U: Tensor) -> Tensor:
        values: Tensor = self.acquisition(self.x_of(U))
        return values
