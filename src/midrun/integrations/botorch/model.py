"""The time-varying GP as a BoTorch model, and the round as the last column of its inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.sampling.pathwise.utils import get_train_inputs
from botorch.utils.types import DEFAULT, _DefaultType
from gpytorch.kernels import ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.priors import LogNormalPrior, NormalPrior, Prior
from torch import Tensor

from midrun.belief.fit import FORGETTING, MEAN, NOISE, SCALE
from midrun.belief.prior import JITTER, Belief
from midrun.checks import number, whole
from midrun.integrations.botorch.kernels import ForgettingKernel, spatial_kernel
from midrun.integrations.botorch.parameters import constraint_and_prior, hold_or_learn


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
            spatial_kernel(belief, d, _columns(categorical, d), batch),
            batch_shape=batch,
            **constraint_and_prior("outputscale", belief.scale, unit, SCALE),
        )
        hold_or_learn(in_space, "outputscale", belief.scale, unit * math.exp(SCALE[0]))
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
            batch_shape=batch, **constraint_and_prior("noise", belief.noise, unit, NOISE)
        )
        least = JITTER * (unit if belief.scale is None else belief.scale)
        given = None if belief.noise is None else max(belief.noise, least)
        hold_or_learn(likelihood.noise_covar, "noise", given, unit * math.exp(NOISE[0]))
        level = (
            None
            if mean is not None
            else NormalPrior(centre + MEAN[0] * math.sqrt(unit), MEAN[1] * math.sqrt(unit))
        )
        constant = ConstantMean(constant_prior=level, batch_shape=batch)
        hold_or_learn(constant, "constant", belief.mean, centre)
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
