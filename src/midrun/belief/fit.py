r"""What is not given is learned: parameters by maximum a posteriori, with analytic gradients.

The answers are first shifted and scaled to mean 0 and variance 1, so the priors fit rewards of any
unit. The free parameters form one vector

.. math::
   \theta = (\ln \ell_1, \dots, \ln \ell_d, \ln s^2, \ln \sigma^2, \mathrm{logit}\,\epsilon, m)

with independent normal priors; those that the user gave are held at their value.

Shapes: ``X`` (n, d), ``times`` and ``y`` (n,), ``theta`` (d + 4,).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, logit

from midrun.belief.forgetting import TIMES, Forgetting
from midrun.belief.kernels import PROFILES, Array, Kernel
from midrun.belief.prior import JITTER, Belief, Parameters

# Prior means and standard deviations of theta's parts, in units of the columns' ranges and of
# standardised answers. Chosen on other seeds than any test's; docs/learning.md has the table.
LENGTHSCALE = (math.log(0.4), 0.7)
SCALE = (math.log(2.0), 0.7)  # what is played varies less than what could be
NOISE = (math.log(0.05), 1.2)
FORGETTING = (float(logit(0.01)), 1.2)  # leans small: too large an epsilon costs far more
MEAN = (-0.3, 1.5)  # what is played is better than the average
BOUND = 4.0  # theta stays within so many prior standard deviations


@dataclass(frozen=True)
class Answers:
    """What was told: rows as the kernel sees them, rounds, values."""

    X: Array  # (n, d)
    times: Array  # (n,)
    y: Array  # (n,)

    def __len__(self) -> int:
        """How many."""
        return len(self.y)


@dataclass(frozen=True)
class Units:
    """Where the answers lie and how far they spread: y = centre + unit * standardised."""

    centre: float
    unit: float

    @classmethod
    def of(cls, y: Array) -> Units:
        """Mean and standard deviation of some answers; 1 where they do not spread.

        Example:
            >>> Units.of(np.array([1e4, 3e4]))
            Units(centre=20000.0, unit=10000.0)
        """
        if not len(y):
            return cls(0.0, 1.0)
        centre, unit = float(np.mean(y)), float(np.std(y))
        return cls(centre, unit if unit > 1e-12 * max(abs(centre), 1e-290) else 1.0)


class Family:
    """All beliefs that the user's ``Belief`` leaves open, indexed by theta.

    Args:
        belief: What is given and what is to be learned.
        categorical: Which columns are unordered, (d,).
        ranges: Extent of each column, the unit of its lengthscale, (d,).
    """

    def __init__(self, belief: Belief, categorical: npt.NDArray[np.bool_], ranges: Array) -> None:
        self.belief = belief
        self.categorical = categorical
        self.d = d = len(categorical)
        self.ranges = np.where(ranges > 0, ranges, 1.0)
        parts = [LENGTHSCALE] * d + [SCALE, NOISE, FORGETTING, MEAN]
        self.prior_mean = np.array([mean for mean, _ in parts])
        self.prior_std = np.array([std for _, std in parts])
        given = belief.lengthscales(d)
        independent = belief.kernel == "independent"
        self.free = np.array(
            [given is None and not independent] * d
            + [belief.scale is None, belief.noise is None]
            + [belief.forgetting is None, belief.mean is None]
        )

    def pin(self, theta: Array, units: Units) -> Array:
        """Theta with what the user gave in its place; given values are in the user's units."""
        belief, theta = self.belief, theta.copy()
        given = belief.lengthscales(self.d)
        if given is not None:
            theta[: self.d] = np.log(given / self.ranges)
        for i, value in ((self.d, belief.scale), (self.d + 1, belief.noise)):
            if value is not None:
                theta[i] = math.log(max(value / units.unit**2, 1e-300))
        if belief.forgetting is not None:
            theta[self.d + 2] = logit(max(belief.forgetting, 1e-300))
        if belief.mean is not None:
            theta[self.d + 3] = (belief.mean - units.centre) / units.unit
        return theta

    def unpack(self, theta: Array, units: Units) -> tuple[Kernel, Forgetting, Parameters]:
        """The belief of a theta, in the user's units."""
        belief, d = self.belief, self.d
        lengthscale = belief.lengthscales(d)
        if lengthscale is None:
            lengthscale = np.exp(theta[:d]) * self.ranges
        scale, noise = (float(v) for v in np.exp(theta[d : d + 2]) * units.unit**2)
        epsilon, mean = float(expit(theta[d + 2])), units.centre + units.unit * float(theta[d + 3])
        return (
            Kernel(belief.kernel, lengthscale, self.categorical),
            TIMES[belief.time](epsilon if belief.forgetting is None else belief.forgetting),
            Parameters(
                scale=scale if belief.scale is None else belief.scale,
                noise=noise if belief.noise is None else belief.noise,
                mean=mean if belief.mean is None else belief.mean,
            ),
        )

    def log_posterior(self, theta: Array, answers: Answers, units: Units) -> tuple[float, Array]:
        r"""Log evidence plus log prior, and the gradient by theta.

        With :math:`A = K + \sigma^2 I` and :math:`\alpha = A^{-1}(y - m)`:
        :math:`\ln p(y) = -\tfrac12 (y-m)^T \alpha - \tfrac12 \ln|A| - \tfrac n2 \ln 2\pi` and
        :math:`\partial \ln p = \tfrac12 \mathrm{tr}((\alpha \alpha^T - A^{-1})\, \partial A)`
        (Rasmussen and Williams, eq. 5.8-5.9).
        """
        d, n = self.d, len(answers)
        X = answers.X / self.ranges
        y = (answers.y - units.centre) / units.unit - theta[d + 3]
        scale, noise = np.exp(theta[d : d + 2])
        noise = max(noise, JITTER * scale)
        epsilon = float(expit(theta[d + 2]))
        lag = np.abs(answers.times[:, None] - answers.times[None, :])
        lag = lag if self.belief.time == "markov" else lag * lag
        rate = math.log1p(-epsilon) if epsilon < 1.0 else -math.inf
        K, parts = self._space_and_slopes(theta[:d], X)
        K *= scale * np.exp(0.5 * rate * lag)
        A = K + noise * np.eye(n)
        factor = cho_factor(A, lower=True)
        alpha = cho_solve(factor, y)
        M = np.outer(alpha, alpha) - cho_solve(factor, np.eye(n))
        z = (theta - self.prior_mean) / self.prior_std
        value = -0.5 * float(y @ alpha) - float(np.log(np.diag(factor[0])).sum())
        value -= 0.5 * n * math.log(2.0 * math.pi) + 0.5 * float((z[self.free] ** 2).sum())
        gradient = np.zeros_like(theta)
        MK = M * K
        for j, part in enumerate(parts):
            gradient[j] = 0.5 * float((MK * part).sum())
        gradient[d] = 0.5 * float(MK.sum())
        gradient[d + 1] = 0.5 * noise * float(np.trace(M))
        gradient[d + 2] = -0.25 * epsilon * float((MK * lag).sum())
        gradient[d + 3] = float(alpha.sum())
        gradient -= z / self.prior_std
        return value, np.where(self.free, gradient, 0.0)

    def _space_and_slopes(self, log_lengthscale: Array, X: Array) -> tuple[Array, list[Array]]:
        """The correlation (n, n), and by each log lengthscale its derivative over itself."""
        lengthscale = np.exp(log_lengthscale)
        kernel = Kernel(self.belief.kernel, lengthscale, self.categorical)
        if self.belief.kernel == "independent":
            return kernel(X, X), []
        squares = {
            j: np.square((X[:, None, j] - X[None, :, j]) / lengthscale[j])
            for j in np.flatnonzero(~self.categorical)
        }
        r2 = sum(squares.values(), np.zeros((len(X), len(X))))
        value, slope = PROFILES[self.belief.kernel](r2)
        relative = np.divide(slope, value, out=np.zeros_like(slope), where=value > 0)
        parts = [
            (X[:, None, j] != X[None, :, j]) / lengthscale[j]
            if self.categorical[j]
            else -2.0 * relative * squares[j]
            for j in range(self.d)
        ]
        for j in np.flatnonzero(self.categorical):
            value = value * np.exp(-parts[j])
        return value, parts


@dataclass(frozen=True)
class Fit:
    """A maximum of the posterior, and how sharp it is."""

    theta: Array  # (p,)
    value: float
    covariance: Array  # (p, p), Laplace's; zero for what is given


def fit(family: Family, answers: Answers, units: Units, start: Array) -> Fit:
    """Maximum a posteriori from two starts, the last fit and the prior's mean, and its curvature.

    Raises:
        LinAlgError: If no factor exists anywhere on the way.
    """
    from scipy.optimize import minimize

    free = family.free
    low = (family.prior_mean - BOUND * family.prior_std)[free]
    high = (family.prior_mean + BOUND * family.prior_std)[free]

    def loss(part: Array) -> tuple[float, Array]:
        theta = base.copy()
        theta[free] = part
        value, gradient = family.log_posterior(theta, answers, units)
        return -value, -gradient[free]

    best: tuple[float, Array] | None = None
    failure: LinAlgError | None = None
    starts = [start] if np.array_equal(start, family.prior_mean) else [start, family.prior_mean]
    for first in starts:
        base = family.pin(first, units)
        try:
            found = minimize(
                loss,
                np.clip(base[free], low, high),
                jac=True,
                method="L-BFGS-B",
                bounds=list(zip(low, high, strict=True)),
                options={"maxiter": 40, "maxfun": 60},
            )
        except LinAlgError as error:
            failure = error
            continue
        if np.isfinite(found.fun) and (best is None or -found.fun > best[0]):
            theta = base.copy()
            theta[free] = found.x
            best = (-float(found.fun), theta)
    if best is None:
        raise failure or LinAlgError("the log posterior is not finite at any start")
    value, theta = best
    base = theta
    return Fit(theta, value, _laplace(loss, theta[free], free, family.prior_std[free]))


def _laplace(
    loss: Callable[[Array], tuple[float, Array]],
    part: Array,
    free: npt.NDArray[np.bool_],
    prior_std: Array,
) -> Array:
    """Inverse Hessian of the loss, from central differences of its gradient, (p, p)."""
    q = len(part)
    H: Array = np.zeros((q, q))
    for j in range(q):
        h = 1e-3 * prior_std[j]
        step = np.zeros(q)
        step[j] = h
        up, down = loss(part + step)[1], loss(part - step)[1]
        H[j] = (up - down) / (2.0 * h)
    H = 0.5 * (H + H.T)
    # Directions the answers say nothing of, or bend upwards in, have the prior's width.
    scaled = H * np.outer(prior_std, prior_std)
    eigenvalues, vectors = np.linalg.eigh(scaled)
    inverse = (vectors / np.maximum(eigenvalues, 1.0)) @ vectors.T
    full = np.zeros((len(free), len(free)))
    full[np.ix_(free, free)] = inverse * np.outer(prior_std, prior_std)
    return full
