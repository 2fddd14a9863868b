"""What is believed before the first answer: the user's ``Belief(...)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from midrun.belief.forgetting import TIMES
from midrun.belief.kernels import KERNELS, Array
from midrun.checks import number

JITTER = 1e-10  # least noise variance used, in units of the output scale


@dataclass(frozen=True)
class Parameters:
    """The numbers of a belief that do not depend on the space."""

    scale: float  # s^2, prior variance of f
    noise: float  # sigma^2, variance of an answer
    mean: float  # prior mean of f


@dataclass(frozen=True)
class Belief:
    r"""A time-varying Gaussian process: :math:`f_t(x) \sim GP(m, s^2 k(x, x') k(t, t'))`.

    Args:
        kernel: Correlation in space: ``"matern52"``, ``"matern32"``, ``"matern12"``, ``"se"``, or
            ``"independent"`` for arms that tell nothing of each other.
        lengthscale: A number, or one per dimension, in the units of the candidates (of the unit
            cube for a space).
        forgetting: :math:`\epsilon` in [0, 1), the share forgotten per round.
        noise: Variance :math:`\sigma^2` of an answer's noise (not its standard deviation).
        scale: Prior variance :math:`s^2` of f.
        mean: Prior mean of f.
        time: ``"markov"`` for :math:`(1-\epsilon)^{|dt|/2}`, ``"se"`` for a squared exponential.

    Example:
        >>> Belief("matern32", lengthscale=0.2, forgetting=0.03, noise=0.01).forgetting
        0.03
    """

    kernel: str = "matern52"
    lengthscale: float | Sequence[float] | None = None
    forgetting: float | None = None
    noise: float | None = None
    scale: float | None = None
    mean: float | None = None
    time: str = "markov"

    def __post_init__(self) -> None:
        """Validate and turn everything into plain Python values."""
        if self.kernel not in KERNELS:
            raise ValueError(f"`kernel` must be one of {KERNELS}, but got {self.kernel!r}.")
        if self.time not in TIMES:
            raise ValueError(f"`time` must be one of {tuple(TIMES)}, but got {self.time!r}.")
        self._tidy("forgetting", "epsilon, the share forgotten per round", low=0.0, below=1.0)
        self._tidy("noise", "the variance of an answer's noise", low=0.0)
        self._tidy("scale", "the prior variance of f", above=0.0)
        self._tidy("mean", "the prior mean of f")
        if self.lengthscale is not None:
            values = np.asarray(self.lengthscale, dtype=object).reshape(-1)
            if values.size == 0:
                raise ValueError("`lengthscale` must hold a number per dimension, but is empty.")
            tidy = tuple(
                number("lengthscale", v, "the distance over which f stays alike", above=0.0)
                for v in values
            )
            scalar = np.ndim(self.lengthscale) == 0
            object.__setattr__(self, "lengthscale", tidy[0] if scalar else tidy)

    def _tidy(self, name: str, meaning: str, **bounds: float) -> None:
        value = getattr(self, name)
        if value is not None:
            object.__setattr__(self, name, number(name, value, meaning, **bounds))

    @property
    def complete(self) -> bool:
        """Whether nothing is left to learn."""
        given = self.lengthscale is not None or self.kernel == "independent"
        rest = (self.forgetting, self.noise, self.scale, self.mean)
        return given and all(value is not None for value in rest)

    def lengthscales(self, d: int) -> Array | None:
        """One lengthscale per dimension, (d,), or None if they are to be learned."""
        if self.lengthscale is None:
            return None
        values = np.asarray(self.lengthscale, dtype=np.float64).reshape(-1)
        if values.size not in (1, d):
            raise ValueError(
                f"`lengthscale` must be a number or hold one per dimension ({d}), but got "
                f"{values.size}: {self.lengthscale}."
            )
        return np.ascontiguousarray(np.broadcast_to(values, (d,)))
