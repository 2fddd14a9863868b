r"""How alike two settings are: the spatial kernels :math:`k(x, x')` of equations 1-2.

All kernels here are correlations, ``k(x, x) = 1``; the output scale multiplies them elsewhere.
Shapes: ``X`` is ``(n, d)``, ``Z`` is ``(m, d)``, a result is ``(n, m)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Profile: TypeAlias = Callable[[Array], Array]


def _se(r2: Array) -> Array:
    r""":math:`\exp(-r^2 / 2)`."""
    return np.exp(-0.5 * r2)


def _se_slope(r2: Array) -> Array:
    return -0.5 * np.exp(-0.5 * r2)


def _matern12(r2: Array) -> Array:
    r""":math:`\exp(-r)`."""
    return np.exp(-np.sqrt(r2))


def _matern12_slope(r2: Array) -> Array:
    # Unbounded at r = 0, where the kernel has a cusp; zero there is the mean of both sides.
    r = np.sqrt(r2)
    return np.where(r > 0, -0.5 * np.exp(-r) / np.where(r > 0, r, 1.0), 0.0)


def _matern32(r2: Array) -> Array:
    r""":math:`(1 + a) e^{-a}` with :math:`a = \sqrt{3} r`."""
    a = np.sqrt(3.0 * r2)
    return (1.0 + a) * np.exp(-a)


def _matern32_slope(r2: Array) -> Array:
    return -1.5 * np.exp(-np.sqrt(3.0 * r2))


def _matern52(r2: Array) -> Array:
    r""":math:`(1 + a + a^2/3) e^{-a}` with :math:`a = \sqrt{5} r`."""
    a = np.sqrt(5.0 * r2)
    return (1.0 + a + a * a / 3.0) * np.exp(-a)


def _matern52_slope(r2: Array) -> Array:
    a = np.sqrt(5.0 * r2)
    return -(5.0 / 6.0) * (1.0 + a) * np.exp(-a)


# name -> (profile in r^2, its derivative by r^2)
PROFILES: dict[str, tuple[Profile, Profile]] = {
    "se": (_se, _se_slope),
    "matern12": (_matern12, _matern12_slope),
    "matern32": (_matern32, _matern32_slope),
    "matern52": (_matern52, _matern52_slope),
}
KERNELS = (*PROFILES, "independent")


@dataclass(frozen=True, eq=False)
class Kernel:
    r"""A stationary kernel times a Hamming kernel on the categorical columns.

    .. math:: k(x, x') = \varphi\Bigl(\sum_j (x_j - x'_j)^2 / \ell_j^2\Bigr)
              \exp\Bigl(-\sum_c 1[x_c \ne x'_c] / \ell_c\Bigr)

    with :math:`j` over the numeric and :math:`c` over the categorical columns.
    ``"independent"`` is the identity: two rows are alike only if they are equal (bandit arms).

    Args:
        name: One of :data:`KERNELS`.
        lengthscale: One per column, shape (d,).
        categorical: Which columns are unordered, shape (d,).

    Example:
        >>> k = Kernel("se", np.array([1.0]), np.array([False]))
        >>> k(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
        array([[1.    , 0.1353]])
    """

    name: str
    lengthscale: Array
    categorical: npt.NDArray[np.bool_]

    def __call__(self, X: Array, Z: Array) -> Array:
        """Correlation of each row of ``X`` with each row of ``Z``, shape (n, m)."""
        if self.name == "independent":
            return np.all(X[:, None, :] == Z[None, :, :], axis=2).astype(np.float64)
        value = PROFILES[self.name][0](self._squared_distance(X, Z))
        return value if not self.categorical.any() else value * self._hamming(X, Z)

    def with_slope(self, X: Array, Z: Array) -> tuple[Array, Array]:
        r"""Correlation and its factor of slope, both (n, m).

        The gradient by a numeric :math:`x_j` is
        :math:`2 (x_j - z_j) / \ell_j^2` times the second array.
        """
        r2 = self._squared_distance(X, Z)
        profile, slope = PROFILES[self.name]
        value, factor = profile(r2), slope(r2)
        if self.categorical.any():
            hamming = self._hamming(X, Z)
            value, factor = value * hamming, factor * hamming
        return value, factor

    def _squared_distance(self, X: Array, Z: Array) -> Array:
        # Column by column: exact zeros for equal rows, which x'x + z'z - 2 x'z does not give.
        r2 = np.zeros((len(X), len(Z)))
        for j in np.flatnonzero(~self.categorical):
            scaled = (X[:, j, None] - Z[None, :, j]) / self.lengthscale[j]
            scaled *= scaled
            r2 += scaled
        return r2

    def _hamming(self, X: Array, Z: Array) -> Array:
        distance = np.zeros((len(X), len(Z)))
        for c in np.flatnonzero(self.categorical):
            distance += (X[:, c, None] != Z[None, :, c]) / self.lengthscale[c]
        return np.exp(-distance)
