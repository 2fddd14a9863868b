"""What a query rule sees of a BoTorch model: means, covariances and the prior, in NumPy."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import gpytorch
import numpy as np
import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import Model
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.sampling.get_sampler import get_sampler
from botorch.sampling.pathwise.utils import get_train_inputs
from gpytorch.models import ExactGP
from torch import Tensor

from midrun.belief.kernels import Array
from midrun.belief.posterior import Point, Points
from midrun.checks import number
from midrun.integrations.botorch.model import append_round

SAMPLES = 512  # for the covariance of a posterior that is not Gaussian


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
