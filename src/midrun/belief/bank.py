r"""Several beliefs at once, weighted by evidence: what is not known of the parameters is doubt too.

The posterior is a mixture; its first two moments are

.. math:: \mu = \sum_b w_b \mu_b, \qquad
          k(x, x') = \sum_b w_b \bigl(k_b(x, x') + (\mu_b(x) - \mu(x)) (\mu_b(x') - \mu(x'))\bigr),

so that members which disagree about a place make it uncertain, however sure each of them is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from midrun.belief.kernels import Array
from midrun.belief.posterior import Point, Points, Posterior
from midrun.belief.process import ProcessPosterior


class SmoothPosterior(Posterior, Protocol):
    """A posterior on a continuous space: with gradients by the rows."""

    def with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Mean, std (q,) and their gradients (q, d)."""
        ...

    def mean_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Mean (q,) and its gradient (q, d)."""
        ...

    def covariance_with_gradient(self, X: Array, point: Point) -> tuple[Array, Array]:
        """Covariance of rows with one row (q,), and its gradient by the rows (q, d)."""
        ...


@dataclass(frozen=True)
class BankPosterior:
    """The mixture of some posteriors at one round."""

    members: Sequence[Posterior]
    weights: Array  # (b,), sum 1

    @property
    def prior_std(self) -> float:
        """Standard deviation of f where nothing is known, over the members."""
        return float(np.sqrt(self.weights @ [member.prior_std**2 for member in self.members]))

    @property
    def remembered(self) -> float:
        """Share of the prior variance that the answers still explain, over the members."""
        return float(self.weights @ [member.remembered for member in self.members])

    def _each(self, method: str, *args: Any) -> Any:
        """The answers of all members, stacked along a leading axis."""
        answers = [getattr(member, method)(*args) for member in self.members]
        if isinstance(answers[0], tuple):
            return tuple(np.array(part) for part in zip(*answers, strict=True))
        return np.array(answers)

    def marginal(self, points: Points) -> tuple[Array, Array]:
        """Mean and standard deviation of the mixture at each point."""
        means, stds = self._each("marginal", points)  # (b, q)
        mean = self.weights @ means
        return mean, np.sqrt(self.weights @ (stds**2 + (means - mean) ** 2))

    def covariance(self, points: Points, point: Point) -> Array:
        """Covariance of the mixture of each point with one point."""
        means, at = (
            self._each("marginal", where)[0] for where in (points, np.asarray(point)[None])
        )
        between = (means - self.weights @ means) * (at - self.weights @ at)
        covariance: Array = self.weights @ (self._each("covariance", points, point) + between)
        return covariance

    def correlation(self, points: Points, point: Point) -> Array:
        """Prior correlation in space, over the members."""
        correlation: Array = self.weights @ self._each("correlation", points, point)
        return correlation


class SmoothBankPosterior(BankPosterior):
    """The mixture of processes on the same answers: evaluated as one, and with gradients."""

    members: Sequence[ProcessPosterior]

    @cached_property
    def _stack(self) -> ProcessPosterior:
        return ProcessPosterior.stack(self.members)

    def _each(self, method: str, *args: Any) -> Any:
        return getattr(self._stack, method)(*args)

    def with_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """Moments of the mixture at rows, and their gradients."""
        means, stds, dmeans, dstds = self._stack.with_gradient(X)  # (b, q), (b, q, d)
        mean, dmean = self.weights @ means, self._average(dmeans)
        off = means - mean
        std: Array = np.sqrt(self.weights @ (stds**2 + off**2))
        slope = stds[:, :, None] * dstds + off[:, :, None] * (dmeans - dmean)
        return mean, std, dmean, self._average(slope) / std[:, None]

    def mean_with_gradient(self, X: Array) -> tuple[Array, Array]:
        """Mean of the mixture at rows, and its gradient."""
        means, dmeans = self._stack.mean_with_gradient(X)
        return self.weights @ means, self._average(dmeans)

    def covariance_with_gradient(self, X: Array, point: Point) -> tuple[Array, Array]:
        """Covariance of the mixture of rows with one row, and its gradient by the rows."""
        within, slope = self._stack.covariance_with_gradient(X, point)  # (b, q), (b, q, d)
        means, dmeans = self._stack.mean_with_gradient(X)
        at = self._stack.mean_with_gradient(np.asarray(point)[None])[0]  # (b, 1)
        off = at - self.weights @ at
        covariance = self.weights @ (within + off * (means - self.weights @ means))
        return covariance, self._average(slope + off[:, :, None] * dmeans)

    def _average(self, each: Array) -> Array:
        return (self.weights @ each.reshape(len(each), -1)).reshape(each.shape[1:])
