r"""Functions of the standard normal that keep their digits far into the tails."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, log_ndtr

from midrun.belief.kernels import Array

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_HALF_PI = math.sqrt(0.5 * math.pi)


def log_expected_improvement(z: Array) -> Array:
    r""":math:`\ln(z \Phi(z) + \varphi(z))`, for EI in units of the standard deviation.

    Left of -1 the two terms cancel; there
    :math:`z\Phi + \varphi = \varphi (1 - |z| \sqrt{\pi/2}\, \mathrm{erfcx}(|z|/\sqrt2))`, and far
    left :math:`\varphi / z^2` (Ament et al. 2023).

    Example:
        >>> log_expected_improvement(np.array([0.0, -40.0])).round(3)
        array([  -0.919, -808.299])
    """
    z = np.asarray(z, dtype=np.float64)
    right = np.maximum(z, -1.0)
    phi = np.exp(-0.5 * right**2 - LOG_SQRT_2PI)
    near = np.log(phi + right * np.exp(log_ndtr(right)))
    left = np.maximum(-np.minimum(z, -1.0), 1.0)  # |z|, at least 1
    with np.errstate(over="ignore"):  # beyond 1e154 the answer is -inf
        log_phi = -0.5 * np.square(left) - LOG_SQRT_2PI
    inner = 1.0 - _SQRT_HALF_PI * left * erfcx(left / math.sqrt(2.0))
    # the bracket loses its digits as 1/z^2; the series 1 - 3/z^2 is exact to 1e-12 past 1e3
    bracket = np.where(left < 1e3, np.log(np.maximum(inner, 1e-300)), -2.0 * np.log(left))
    return np.where(z > -1.0, near, log_phi + bracket)
