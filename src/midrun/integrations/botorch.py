r"""CE-GP-UCB inside BoTorch: the forgetting kernel, a time-varying GP, and the query rules.

The time-varying GP of section 4.1 is an ordinary BoTorch model whose last input column is the
round, and a query rule of midrun decides over any model's posterior and any acquisition's local
optima, as the paper had it (its last appendix paragraph). Everything is float64.

Shapes: ``X`` is (n, d) settings, ``XT`` is (n, d + 1) settings with their round in the last column.

Example:
    >>> XT = torch.tensor([[0.2, 1.0], [0.7, 2.0], [0.4, 5.0]], dtype=torch.float64)
    >>> Y = torch.tensor([[0.1], [0.9], [0.4]], dtype=torch.float64)
    >>> model = TimeVaryingGP(XT, Y, lengthscale=0.2, forgetting=0.03, noise=0.01, scale=1, mean=0)
    >>> ucb = UpperConfidenceBound(model, beta=2.0)
    >>> bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    >>> from midrun import Confidence
    >>> rng = np.random.default_rng(0)
    >>> x, verdict = decide(Confidence(0.9), model, ucb, bounds, t=6, round=6, generator=rng)
    >>> tuple(x.shape), verdict.query
    ((1, 1), True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

try:
    import gpytorch
    import torch
    from botorch.acquisition.acquisition import AcquisitionFunction
    from botorch.acquisition.analytic import UpperConfidenceBound
    from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
    from botorch.acquisition.objective import PosteriorTransform
    from botorch.models import SingleTaskGP
    from botorch.models.model import Model
    from botorch.models.transforms.input import InputTransform
    from botorch.models.transforms.outcome import OutcomeTransform
    from botorch.optim.optimize import optimize_acqf
    from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
    from botorch.posteriors.gpytorch import GPyTorchPosterior
    from botorch.sampling.get_sampler import get_sampler
    from botorch.sampling.pathwise.utils import get_train_inputs
    from botorch.utils.sampling import draw_sobol_samples
    from botorch.utils.types import DEFAULT, _DefaultType
    from gpytorch.constraints import GreaterThan, Interval, Positive
    from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.means import ConstantMean
    from gpytorch.models import ExactGP
    from gpytorch.priors import LogNormalPrior, NormalPrior, Prior
    from torch import Tensor
except ImportError as error:
    raise ImportError(
        f"`midrun.integrations.botorch` needs BoTorch ({error}): pip install 'midrun[botorch]'"
    ) from error

from midrun.belief.fit import FORGETTING, LENGTHSCALE, MEAN, NOISE, SCALE
from midrun.belief.forgetting import TIMES
from midrun.belief.kernels import Array
from midrun.belief.posterior import Point, Points
from midrun.belief.prior import JITTER, Belief
from midrun.checks import number, one_of, protocol, whole
from midrun.choice.optima import mean_shift
from midrun.query.rule import QueryRule, Situation, Verdict

COVER = 256  # Sobol points that stand for the domain; the first `num_restarts` are starts
KEEN = 4  # and so many of the best of them, whatever their place in the sequence
STEP = 0.1  # first step of a climb, of the box: longer ones jump over the optimum nearby
SAMPLES = 512  # for the covariance of a posterior that is not Gaussian


class ForgettingKernel(Kernel):  # type: ignore[misc]  # GPyTorch ships no types
    r"""How alike two rounds are: :math:`(1 - \epsilon)^{|t - t'| / 2}`, on one column.

    ``time="se"`` is :math:`(1 - \epsilon)^{(t - t')^2 / 2}`; both equal those of
    ``midrun.belief.forgetting``.

    Args:
        epsilon: The forgetting per round in [0, 1); it stays fixed if given, and is learned from
            0.01 on if not. ``kernel.raw_epsilon.requires_grad_()`` says otherwise later.
        time: ``"markov"`` or ``"se"``.
        epsilon_prior: A GPyTorch prior on epsilon.
        epsilon_constraint: Interval(0, 1) if None.
        kwargs: For :class:`gpytorch.kernels.Kernel`: ``active_dims``, ``batch_shape``.

    Example:
        >>> kernel = ForgettingKernel(0.1)
        >>> rounds = torch.tensor([[1.0], [11.0]], dtype=torch.float64)
        >>> kernel(rounds).to_dense().detach().numpy().round(2)
        array([[1.  , 0.59],
               [0.59, 1.  ]])
    """

    is_stationary = True

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        time: str = "markov",
        epsilon_prior: Prior | None = None,
        epsilon_constraint: Interval | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.time = one_of("time", time, tuple(TIMES))
        Belief(forgetting=epsilon)  # says what it must be
        raw = torch.zeros(*self.batch_shape, 1, 1, dtype=torch.float64)
        self.register_parameter("raw_epsilon", torch.nn.Parameter(raw))
        self.register_constraint("raw_epsilon", epsilon_constraint or Interval(0.0, 1.0))
        if epsilon_prior is not None:
            self.register_prior("epsilon_prior", epsilon_prior, _epsilon_of, _set_epsilon_of)
        self.epsilon = 0.01 if epsilon is None else epsilon
        self.raw_epsilon.requires_grad_(epsilon is None)

    @property
    def epsilon(self) -> Tensor:
        """The forgetting per round, (*batch_shape, 1, 1)."""
        epsilon: Tensor = self.raw_epsilon_constraint.transform(self.raw_epsilon)
        return epsilon

    @epsilon.setter
    def epsilon(self, value: float | Tensor) -> None:
        value = torch.as_tensor(value, dtype=torch.float64).to(self.raw_epsilon)
        self.initialize(raw_epsilon=self.raw_epsilon_constraint.inverse_transform(value))

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Correlation of rounds (*batch, n, 1) and (*batch, m, 1), as (*batch, n, m)."""
        if x1.shape[-1] != 1:
            raise ValueError(
                f"`ForgettingKernel` looks at one column, the round, but got {x1.shape[-1]}. "
                "Say which with `active_dims=[...]`."
            )
        # Differences, not a distance from an expanded square: rounds may be in the millions. The
        # bound keeps 0 * inf away where a learned epsilon rounds to 1.
        log_rho = 0.5 * torch.log1p(-self.epsilon.clamp_max(1.0 - 1e-15))
        if diag:
            lag, log_rho = (x1 - x2).squeeze(-1), log_rho.squeeze(-1)
        else:
            lag = x1 - x2.transpose(-2, -1)
        return torch.exp(log_rho * (lag.abs() if self.time == "markov" else lag.square()))


def _epsilon_of(kernel: ForgettingKernel) -> Tensor:
    return kernel.epsilon  # functions of the module, not lambdas: a model can be pickled


def _set_epsilon_of(kernel: ForgettingKernel, value: Tensor) -> None:
    kernel.epsilon = value


class HammingKernel(Kernel):  # type: ignore[misc]
    r""":math:`\exp(-\sum_c 1[x_c \ne x'_c] / \ell_c)` over unordered columns.

    BoTorch's ``CategoricalKernel`` takes the mean over the columns in place of the sum.

    Example:
        >>> kernel = HammingKernel()
        >>> kernel.lengthscale = 1.0
        >>> codes = torch.tensor([[0.0, 2.0], [1.0, 2.0]])
        >>> round(kernel(codes).to_dense()[0, 1].item(), 4)
        0.3679
    """

    has_lengthscale = True

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Correlation of codes (*batch, n, d) and (*batch, m, d), as (*batch, n, m)."""
        lengthscale = self.lengthscale  # (*batch_shape, 1, d)
        if not diag:
            x1, x2, lengthscale = x1.unsqueeze(-2), x2.unsqueeze(-3), lengthscale.unsqueeze(-2)
        return torch.exp(-((x1 != x2) / lengthscale).sum(dim=-1))


class TimeVaryingGP(SingleTaskGP):
    r""":math:`f_t(x) \sim GP(m, s^2 k(x, x') k(t, t'))` as a BoTorch model on columns (x, t).

    The arguments are those of :class:`midrun.Belief` (``TimeVaryingGP(XT, Y, **asdict(belief))``
    is the same model): what is given stays fixed, what is left out is learned by
    ``fit_gpytorch_mll``, under the priors that midrun learns with. Without observations,
    shapes (0, d + 1) and (0, 1), it is the prior.

    Args:
        train_X: Settings, best in the unit cube, and their rounds in the last column,
            (*batch, n, d + 1).
        train_Y: Rewards, (*batch, n, 1).
        kernel: ``"matern52"``, ``"matern32"``, ``"matern12"``, ``"se"`` or ``"independent"``.
        lengthscale: A number, or one per column of x.
        forgetting: Epsilon in [0, 1), the share forgotten per round.
        noise: Variance of an answer's noise.
        scale: Prior variance of f.
        mean: Prior mean of f.
        time: ``"markov"`` or ``"se"``.
        categorical: Columns of x that are unordered; their values are codes.
        epsilon_prior: In place of midrun's prior on a forgetting that is learned.
        outcome_transform: BoTorch's default, ``Standardize``, unless one of ``noise``, ``scale``
            and ``mean`` is given: those are in the units of ``train_Y``.
        input_transform: As in BoTorch; it must leave the round alone.
    """

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        *,
        kernel: str = "matern52",
        lengthscale: float | Sequence[float] | None = None,
        forgetting: float | None = None,
        noise: float | None = None,
        scale: float | None = None,
        mean: float | None = None,
        time: str = "markov",
        categorical: Sequence[int] = (),
        epsilon_prior: Prior | None = None,
        outcome_transform: OutcomeTransform | _DefaultType | None = DEFAULT,
        input_transform: InputTransform | None = None,
    ) -> None:
        belief = Belief(
            kernel,
            lengthscale=lengthscale,
            forgetting=forgetting,
            noise=noise,
            scale=scale,
            mean=mean,
            time=time,
        )
        d = _checked(train_X, train_Y)
        if outcome_transform is DEFAULT and (noise, scale, mean) != (None, None, None):
            outcome_transform = None
        # Where the rewards are not standardised, what is learned starts from their own spread.
        centre, unit = 0.0, 1.0
        if outcome_transform is None and train_Y.numel() > 1:
            centre, unit = float(train_Y.mean()), float(train_Y.var()) or 1.0
        _, batch = self.get_batch_dimensions(train_X, train_Y)

        in_space = ScaleKernel(
            _spatial_kernel(belief, d, _columns(categorical, d), batch),
            batch_shape=batch,
            **_settings("outputscale", belief.scale, unit, SCALE),
        )
        _start(in_space, "outputscale", belief.scale, unit * math.exp(SCALE[0]))
        if epsilon_prior is None:
            epsilon_prior = LogNormalPrior(*FORGETTING)  # logit and log agree where it is small
        in_time = ForgettingKernel(
            belief.forgetting,
            time=time,
            epsilon_prior=epsilon_prior if forgetting is None else None,
            active_dims=[d],
            batch_shape=batch,
        )
        likelihood = GaussianLikelihood(
            batch_shape=batch, **_settings("noise", belief.noise, unit, NOISE)
        )
        least = JITTER * (unit if belief.scale is None else belief.scale)
        given = None if belief.noise is None else max(belief.noise, least)
        _start(likelihood.noise_covar, "noise", given, unit * math.exp(NOISE[0]))
        level = (
            None
            if mean is not None
            else NormalPrior(centre + MEAN[0] * math.sqrt(unit), MEAN[1] * math.sqrt(unit))
        )
        constant = ConstantMean(constant_prior=level, batch_shape=batch)
        _start(constant, "constant", belief.mean, centre)
        super().__init__(
            train_X,
            train_Y,
            likelihood=likelihood,
            covar_module=in_space * in_time,
            mean_module=constant,
            outcome_transform=outcome_transform,
            input_transform=input_transform,
        )

    @property
    def forgetting(self) -> Tensor:
        """Epsilon, given or learned, (*batch_shape, 1, 1)."""
        epsilon: Tensor = self.covar_module.kernels[1].epsilon
        return epsilon


def _checked(train_X: Tensor, train_Y: Tensor) -> int:
    """The number of columns of x."""
    for name, tensor in (("train_X", train_X), ("train_Y", train_Y)):
        if tensor.dtype != torch.float64:
            raise ValueError(
                f"`{name}` must be float64, but is {tensor.dtype}: a posterior loses its digits in "
                f"less. Use {name}.double()."
            )
    if train_X.shape[-1] < 2:
        raise ValueError(
            f"`train_X` must hold the columns of x and then the round, but got shape "
            f"{tuple(train_X.shape)}. `append_round(X, t)` appends the round."
        )
    return train_X.shape[-1] - 1


def _columns(categorical: Sequence[int], d: int) -> list[int]:
    """Sorted column numbers, each below d."""
    columns = sorted({whole("categorical", c, "a column of x", low=0) for c in categorical})
    if columns and columns[-1] >= d:
        raise ValueError(
            f"`categorical` must name columns of x, 0 to {d - 1}, but got {columns[-1]}."
        )
    return columns


def _settings(name: str, given: Any, unit: float, prior: tuple[float, float]) -> dict[str, Any]:
    """Constraint of a positive parameter, and its log-normal prior if it is to be learned.

    The prior is one of ``midrun.belief.fit``: mean and width of the logarithm, in some unit.
    """
    # Without a transform a given value is held to its last bit; it has no prior, from which a
    # second attempt of `fit_gpytorch_mll` would draw. A learned one is fitted as its logarithm:
    # the optimiser's steps then have no unit.
    if given is not None:
        return {f"{name}_constraint": Positive(transform=None, inv_transform=None)}
    log_median, width = math.log(unit) + prior[0], prior[1]
    above = GreaterThan(1e-4 * math.exp(log_median), transform=torch.exp, inv_transform=torch.log)
    return {
        f"{name}_constraint": above,
        f"{name}_prior": LogNormalPrior(log_median, width),
    }


def _start(module: Any, name: str, given: Any, start: float) -> None:
    """Set a parameter in double precision: fixed if given, else to be learned from ``start``."""
    module.double()
    value = torch.as_tensor(start if given is None else given, dtype=torch.float64)
    module.initialize(**{name: value})
    getattr(module, f"raw_{name}").requires_grad_(given is None)


def _spatial_kernel(belief: Belief, d: int, categorical: list[int], batch: torch.Size) -> Kernel:
    """The kernel of ``midrun.belief.kernels`` with GPyTorch's own parts, on the columns of x."""
    lengthscales = belief.lengthscales(d)
    if belief.kernel == "independent":
        # exp(-1 / 0.001) is 0 in float64: rows are alike only if they are equal.
        lengthscales, categorical = np.full(d, 1e-3), list(range(d))
    product = None
    numeric = [j for j in range(d) if j not in categorical]
    for make, columns in ((_NUMERIC.get(belief.kernel), numeric), (HammingKernel, categorical)):
        if make is None or not columns:
            continue
        given = None if lengthscales is None else lengthscales[columns]
        part = make(
            ard_num_dims=len(columns),
            active_dims=columns,
            batch_shape=batch,
            **_settings("lengthscale", given, 1.0, LENGTHSCALE),
        )
        _start(part, "lengthscale", given, math.exp(LENGTHSCALE[0]))
        product = part if product is None else product * part
    return product


_NUMERIC: dict[str, Callable[..., Kernel]] = {
    "se": RBFKernel,
    "matern12": partial(MaternKernel, nu=0.5),
    "matern32": partial(MaternKernel, nu=1.5),
    "matern52": partial(MaternKernel, nu=2.5),
}


def append_round(X: Tensor, t: float) -> Tensor:
    """Settings (..., d) with their round as the last column, (..., d + 1).

    Example:
        >>> append_round(torch.tensor([[0.25]]), 7)
        tensor([[0.2500, 7.0000]])
    """
    return torch.cat([X, X.new_full((*X.shape[:-1], 1), t)], dim=-1)


def at_round(
    acquisition: AcquisitionFunction, t: float, d: int | None = None
) -> FixedFeatureAcquisitionFunction:
    """An acquisition of x alone: the round, the last column of its model's inputs, is ``t``.

    The other way is ``optimize_acqf(..., fixed_features={d: t})`` with bounds on all columns.

    Args:
        acquisition: An acquisition on columns (x, t).
        t: The round to be decided.
        d: Number of columns of x; read from the acquisition's model if None.
    """
    if d is None:
        d = get_train_inputs(acquisition.model)[0].shape[-1] - 1
    t = number("t", t, "the round to be decided")
    return FixedFeatureAcquisitionFunction(acquisition, d=d + 1, columns=[d], values=[t])


class ModelPosterior:
    """midrun's view of a BoTorch model at one round: what a query rule looks at.

    What is assumed of the model: a ``posterior(X)`` of one output with a mean and a variance.
    Beyond that,

    - **covariance** is exact if the posterior is Gaussian (or a mixture of Gaussians, as of fully
      Bayesian models), else from 512 quasi-random samples;
    - **correlation**, **prior_std** and **remembered** come from the prior of an exact GPyTorch
      model (``SingleTaskGP`` and its kin, lists of them). Of any other model nothing is known
      before the answers, so the least certain point of ``cover`` stands for the prior, and
      correlations are those of the posterior. These are smaller as a rule, and a model that is
      equally sure everywhere seems to know nothing: both err on the side of a query.

    The model is looked at, not copied: a later change of its data shows.

    Args:
        model: A BoTorch model.
        t: The round, appended to every point as the last column; None for a model without time.
        cover: Points that stand for the domain, (m, d); needed by models without a known prior.
        posterior_transform: As in BoTorch: to one output, or with weight -1 to minimise.
    """

    def __init__(
        self,
        model: Model,
        t: float | None = None,
        *,
        cover: Points | None = None,
        posterior_transform: PosteriorTransform | None = None,
    ) -> None:
        self.model = model
        self.t = None if t is None else number("t", t, "the round looked at")
        self._cover = cover
        self._transform = posterior_transform
        self._parts: list[Model] = list(getattr(model, "models", [model]))
        self._exact = all(isinstance(part, ExactGP) for part in self._parts)

    def marginal(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation of f at each point, each (n,)."""
        mean, covariance = self._moments(self._rows(points).unsqueeze(-2))
        return mean[:, 0], np.sqrt(np.maximum(covariance[:, 0, 0], 0.0))

    def covariance(self, points: Points, point: Point) -> Array:
        """Posterior covariance of f at each point with f at one point, (n,)."""
        return self._moments(self._pairs(points, point))[1][:, 0, 1]

    def correlation(self, points: Points, point: Point) -> Array:
        """Prior correlation of each point with one point, (n,)."""
        C = self._moments(self._pairs(points, point), prior=self._exact)[1]
        scale = np.sqrt(C[:, 0, 0] * C[:, 1, 1])
        return C[:, 0, 1] / np.maximum(scale, 1e-300)

    @cached_property
    def prior_std(self) -> float:
        """Standard deviation of f where nothing is known."""
        return float(np.sqrt(self._variances[0].max()))

    @cached_property
    def remembered(self) -> float:
        """Largest share of the prior variance that the answers still explain, in [0, 1]."""
        prior, now = self._variances
        return float(np.clip(1.0 - now / prior, 0.0, 1.0).max())

    @cached_property
    def _variances(self) -> tuple[Array, Array]:
        """Prior and posterior variance where answers were given, or over the cover, (m,) each."""
        rows = self._answered() if self._exact else None
        if rows is None or not len(rows):
            if self._cover is None:
                raise ValueError(
                    f"what {type(self.model).__name__} knew before its answers cannot be read off "
                    "it: give `cover`, points that stand for the domain."
                )
            rows = self._rows(self._cover)
        batch = rows.unsqueeze(-2)
        now = self._moments(batch)[1][:, 0, 0]
        if self._exact:
            return self._moments(batch, prior=True)[1][:, 0, 0], now
        return np.full_like(now, now.max()), now

    def _answered(self) -> Tensor:
        """Inputs that answers were given for, moved to this round, each once."""
        XT = torch.cat([get_train_inputs(part)[0].flatten(0, -2) for part in self._parts])
        if self.t is not None:
            XT = append_round(XT[:, :-1], self.t)
        return torch.unique(XT, dim=0)

    def _rows(self, points: Points) -> Tensor:
        like = next(self.model.parameters(), torch.empty(0))
        X = torch.as_tensor(np.asarray(points), dtype=torch.float64, device=like.device)
        return X if self.t is None else append_round(X, self.t)

    def _pairs(self, points: Points, point: Point) -> Tensor:
        rows, one = self._rows(points), self._rows(np.asarray(point)[None])
        return torch.stack([rows, one.expand_as(rows)], dim=-2)  # (n, 2, d)

    def _moments(self, X: Tensor, *, prior: bool = False) -> tuple[Array, Array]:
        """Means (n, q) and covariances (n, q, q) of n batches of q points."""
        # (n, 1, q, d): a batch of models shows in the second axis, and is not taken for points.
        with torch.no_grad(), gpytorch.settings.prior_mode(prior):
            posterior = self.model.posterior(X.unsqueeze(1), posterior_transform=self._transform)
            mean, covariance = _gaussian_moments(posterior)
        if mean.shape != (len(X), 1, X.shape[-2]):
            raise ValueError(
                f"a rule compares one value per point, but at {len(X)} points the model gives "
                f"means of shape {tuple(mean.shape)}. Several outputs need a "
                "`posterior_transform`; a batch of models is not supported."
            )
        return mean[:, 0].cpu().numpy(), covariance[:, 0].cpu().numpy()


def _gaussian_moments(posterior: Any) -> tuple[Tensor, Tensor]:
    """Means (..., q) and covariances (..., q, q) of a posterior of one output."""
    if isinstance(posterior, GaussianMixturePosterior):
        return posterior.mixture_mean.squeeze(-1), posterior.mixture_covariance_matrix
    if isinstance(posterior, GPyTorchPosterior):
        return posterior.mean.squeeze(-1), posterior.distribution.covariance_matrix
    mean = posterior.mean.squeeze(-1)
    if mean.shape[-1] == 1:
        return mean, posterior.variance
    sampler = get_sampler(posterior, torch.Size([SAMPLES]), seed=0)
    residual = sampler(posterior).squeeze(-1) - mean  # (SAMPLES, ..., q)
    return mean, torch.einsum("s...i,s...j->...ij", residual, residual) / SAMPLES


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


@dataclass(frozen=True)
class _Optima:
    """A surface's optima as a rule sees them."""

    modes: Array  # (k, d), the best first
    value: float

    @property
    def point(self) -> Array:
        return self.modes[0]


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


def _checked_bounds(bounds: Tensor) -> Tensor:
    if bounds.ndim != 2 or len(bounds) != 2 or not bool((bounds[0] < bounds[1]).all()):
        raise ValueError(
            f"`bounds` must be a lower and a larger upper bound of each column of x, (2, d), but "
            f"got {bounds}. The round is no part of them."
        )
    return bounds.double()
