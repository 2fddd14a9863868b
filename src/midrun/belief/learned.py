"""A belief that learns its own parameters, and knows how well it knows them.

Maximum a posteriori from a handful of answers makes a belief certain and deaf. So a fit gives a
small bank of parameter sets: its maximum, and draws from Laplace's normal around it, weighted by
what the posterior says of each (importance weights); between fits each answer reweighs them by
Bayes' rule. The fit is repeated whenever the answers have grown by ``GROWTH``.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import LinAlgError

from midrun.belief.bank import BankPosterior, SmoothBankPosterior
from midrun.belief.fit import Answers, Family, Fit, Units, fit
from midrun.belief.forgetting import Forgetting
from midrun.belief.kernels import Array, Kernel
from midrun.belief.packing import pack, unpack
from midrun.belief.posterior import Member, Point, Points
from midrun.belief.prior import Parameters

Build: TypeAlias = Callable[[Kernel, Forgetting, Parameters], Member]

logger = logging.getLogger(__name__)

DRAWS = 6  # members besides the maximum; in pairs on opposite sides of it
WINDOW = 256  # most answers kept; the oldest quarter goes when it is reached
EARLY, NEWEST = 60, 100  # the answers that a fit looks at: see `_fitted`
FIRST = 4  # answers before the first fit; until then the bank is drawn from the prior
GROWTH = 1.3  # answers grow by this factor, or by a fifth of the window, between fits
SURPRISE = 3.0  # an answer so many standard deviations off for every member calls for a fit
NEGLIGIBLE = 1e-3  # members of a smaller weight are left out of a posterior


class Learned:
    """A bank of models on the same answers.

    Args:
        family: The beliefs that are possible.
        build: Makes a member from its parameters.
        rows: What the kernel sees of points, (q, d); the identity on a continuous space.
        smooth: Whether members have gradients.
    """

    def __init__(
        self, family: Family, build: Build, rows: Callable[[Points], Array], *, smooth: bool
    ) -> None:
        self._family = family
        self._build = build
        self._rows = rows
        self._smooth = smooth
        self._points: list[Any] = []
        self._times: list[float] = []
        self._y: list[float] = []
        self._early: list[tuple[Any, float, float]] = []
        self._count = 0  # answers ever
        self._next_fit = FIRST
        self._units = Units(0.0, 1.0)
        self._fit: Fit | None = None
        self._log_weights: Array = np.zeros(DRAWS + 1)
        self._thetas: Array = np.zeros((DRAWS + 1, len(family.prior_mean)))
        self._members: list[Member] = []
        self._built = 0  # answers in the window when the members were last built
        self._draw()

    @property
    def parameters(self) -> dict[str, Any]:
        """The likeliest parameters in the user's units, as plain Python values."""
        kernel, forgetting, rest = self._family.unpack(self._thetas[0], self._units)
        return {
            "lengthscale": kernel.lengthscale.tolist(),
            "forgetting": float(forgetting.epsilon),
            "noise": rest.noise,
            "scale": rest.scale,
            "mean": rest.mean,
        }

    @property
    def weights(self) -> Array:
        """Weights of the bank, the maximum first, (b,)."""
        w = np.exp(self._log_weights - self._log_weights.max())
        return w / w.sum()

    def posterior(self, round: float) -> BankPosterior:
        """The mixture at a round not before the last answer."""
        weights = self.weights
        heard = np.flatnonzero(weights >= NEGLIGIBLE)
        members: list[Any] = [self._members[i].posterior(round) for i in heard]
        kind = SmoothBankPosterior if self._smooth else BankPosterior
        return kind(members, weights[heard] / weights[heard].sum())

    def observe(self, point: Point, value: float, round: float) -> None:
        """Take an answer; refit when it is due, else reweigh the bank by Bayes' rule."""
        self._points.append(point)
        self._times.append(float(round))
        self._y.append(float(value))
        if self._count < EARLY:
            self._early.append((point, float(round), float(value)))
        self._count += 1
        full = len(self._y) > WINDOW
        if full:
            gone = WINDOW // 4
            del self._points[:gone], self._times[:gone], self._y[:gone]
        due = self._count < FIRST or self._count >= self._next_fit or full
        if due or self._surprised(point, float(value), float(round)):
            self._refit()
        else:
            for member in self._members:
                member.observe(point, value, round)

    def _fitted(self) -> Answers:
        """The first answers of the run and the newest ones.

        A tuner that has found a peak asks there again and again, and from such answers alone every
        lengthscale looks long. The first ones, spread over the space, know better.
        """
        newest = list(zip(self._points, self._times, self._y, strict=True))[-NEWEST:]
        early = self._early[: max(self._count - len(newest), 0)]
        points, times, y = zip(*early, *newest, strict=True) if newest else ((), (), ())
        X = self._rows(np.array(points)) if points else np.empty((0, self._family.d))
        return Answers(X, np.array(times), np.array(y))

    def _surprised(self, point: Point, value: float, round: float) -> bool:
        """Reweigh the bank by what each member foretold; True if none foresaw the answer."""
        views = [
            member.posterior(round).marginal(np.asarray(point)[None]) for member in self._members
        ]
        mean, std = (np.array(part)[:, 0] for part in zip(*views, strict=True))
        parts = [self._family.unpack(theta, self._units)[2] for theta in self._thetas]
        variance = std**2 + [part.noise for part in parts]
        squares = (value - mean) ** 2 / variance
        self._log_weights = self._log_weights - 0.5 * (np.log(variance) + squares)
        return bool(squares.min() > SURPRISE**2)

    def _refit(self) -> None:
        self._units = Units.of(self._fitted().y)
        if self._count >= FIRST:
            start = self._family.prior_mean if self._fit is None else self._fit.theta
            try:
                self._fit = fit(self._family, self._fitted(), self._units, start)
            except LinAlgError as error:
                logger.warning("a fit failed (%s); the last parameters are kept", error)
                warnings.warn(
                    f"fitting the belief to {len(self._y)} answers failed ({error}); the last good "
                    "parameters are kept. Repeated answers that disagree need noise: do not give "
                    "`noise=0`.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            self._next_fit = max(
                self._count + 2, min(int(self._count * GROWTH), self._count + WINDOW // 5)
            )
        self._draw()

    def _draw(self) -> None:
        """A new bank around the fit, or from the prior, weighted by importance."""
        family, free = self._family, self._family.free
        if self._fit is None:
            centre = family.prior_mean
            root = np.diag(np.where(free, family.prior_std, 0.0))
        else:
            centre = self._fit.theta
            eigenvalues, vectors = np.linalg.eigh(self._fit.covariance)
            root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        # Draws are the same for the same number of answers: a resumed run repeats them.
        half = np.random.default_rng(self._count).standard_normal((DRAWS // 2, len(centre)))
        z = np.concatenate([np.zeros((1, len(centre))), half, -half])
        low = family.prior_mean - 4.0 * family.prior_std
        high = family.prior_mean + 4.0 * family.prior_std
        thetas = np.where(free, np.clip(centre + z @ root.T, low, high), centre)
        self._thetas = np.array([family.pin(theta, self._units) for theta in thetas])
        log_q = -0.5 * (z[:, np.abs(root).sum(axis=0) > 0] ** 2).sum(axis=1)
        answers = self._fitted()
        self._log_weights = -log_q + [self._log_posterior(theta, answers) for theta in self._thetas]
        if not np.isfinite(self._log_weights).any():
            self._log_weights = np.zeros(len(z))
        self._build_members(len(self._y))

    def _log_posterior(self, theta: Array, answers: Answers) -> float:
        try:
            return self._family.log_posterior(theta, answers, self._units)[0]
        except LinAlgError:  # such parameters cannot have made these answers
            return -np.inf

    def _build_members(self, count: int) -> None:
        """Members made anew of the first answers of the window."""
        self._built = count
        self._members = [
            self._build(*self._family.unpack(theta, self._units)) for theta in self._thetas
        ]
        for member in self._members:
            member.observe_all(
                np.array(self._points[:count]),
                np.array(self._y[:count]),
                np.array(self._times[:count]),
            )

    def state_dict(self) -> dict[str, Any]:
        """The window of answers and the bank's parameters; members follow from them."""
        return {
            "points": np.array(self._points).tolist(),
            "times": list(self._times),
            "y": list(self._y),
            "early": [[np.asarray(x).tolist(), t, y] for x, t, y in self._early],
            "count": self._count,
            "next_fit": self._next_fit,
            "units": [self._units.centre, self._units.unit],
            "fit": None
            if self._fit is None
            else [pack(self._fit.theta), self._fit.value, pack(self._fit.covariance)],
            "thetas": pack(self._thetas),
            "log_weights": [None if np.isinf(w) else w for w in self._log_weights.tolist()],
            "built": self._built,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state of :meth:`state_dict`, bit for bit."""
        b, p = self._thetas.shape
        self._points = [_point(x) for x in state["points"]]
        self._early = [(_point(x), t, y) for x, t, y in state["early"]]
        self._times, self._y = list(state["times"]), list(state["y"])
        self._count, self._next_fit = int(state["count"]), int(state["next_fit"])
        self._units = Units(*state["units"])
        self._fit = None
        if state["fit"] is not None:
            theta, value, covariance = state["fit"]
            self._fit = Fit(unpack(theta, (p,)), value, unpack(covariance, (p, p)))
        self._thetas = unpack(state["thetas"], (b, p))
        self._log_weights = np.array([-np.inf if w is None else w for w in state["log_weights"]])
        self._build_members(int(state["built"]))
        for i in range(self._built, len(self._y)):
            for member in self._members:
                member.observe(self._points[i], self._y[i], self._times[i])


def _point(json: Any) -> Point:
    return np.array(json) if isinstance(json, list) else int(json)
