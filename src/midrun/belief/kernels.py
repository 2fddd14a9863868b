r"""How alike two settings are: the spatial kernels :math:`k(x, x')` of equations 1-2.

All kernels here are correlations, ``k(x, x) = 1``; the output scale multiplies them elsewhere.
Shapes: ``X`` is ``(n, d)``, ``Z`` is ``(m, d)``, a result is ``(n, m)``. With lengthscales of shape
``(b, d)`` a kernel is a bank of b kernels, and a result is ``(b, n, m)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Profile: TypeAlias = Callable[[Array], tuple[Array, Array]]


def _se(r2: Array) -> tuple[Array, Array]:
    r""":math:`\exp(-r^2 / 2)`."""
    value = np.exp(-0.5 * r2)
    return value, -0.5 * value


def _matern12(r2: Array) -> tuple[Array, Array]:
    r""":math:`\exp(-r)`; at the cusp r = 0 the slope is taken as 0, the mean of both sides."""
    r = np.sqrt(r2)
    value = np.exp(-r)
    return value, np.divide(-0.5 * value, r, out=np.zeros_like(r), where=r > 0)


def _matern32(r2: Array) -> tuple[Array, Array]:
    r""":math:`(1 + a) e^{-a}` with :math:`a = \sqrt{3} r`."""
    a = np.sqrt(3.0 * r2)
    e = np.exp(-a)
    return (1.0 + a) * e, -1.5 * e


def _matern52(r2: Array) -> tuple[Array, Array]:
    r""":math:`(1 + a + a^2/3) e^{-a}` with :math:`a = \sqrt{5} r`."""
    a = np.sqrt(5.0 * r2)
    e = np.exp(-a)
    slope = (1.0 + a) * e
    return slope + (5.0 / 3.0) * r2 * e, (-5.0 / 6.0) * slope


# name -> the profile in r^2 and its derivative by r^2
PROFILES: dict[str, Profile] = {
    "se": _se,
    "matern12": _matern12,
    "matern32": _matern32,
    "matern52": _matern52,
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
        lengthscale: One per column, shape (d,), or (b, d) for a bank.
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
        value = PROFILES[self.name](self._squared_distance(X, Z))[0]
        return value if not self.categorical.any() else value * self._hamming(X, Z)

    def scaled(self, X: Array) -> tuple[Array, Array]:
        """Numeric columns in units of their lengthscales (n, d), and their squared norms (n,)."""
        A = X[:, ~self.categorical] / self.lengthscale[..., None, ~self.categorical]
        return A, np.square(A).sum(axis=-1)

    def with_slope(
        self, X: Array, Z: Array, Z_scaled: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        r"""Correlation and its factor of slope, both (n, m).

        The gradient by a numeric :math:`x_j` is
        :math:`2 (x_j - z_j) / \ell_j^2` times the second array.

        Args:
            X: Rows (n, d).
            Z: Rows (m, d).
            Z_scaled: What :meth:`scaled` gives of Z, if it is at hand.
        """
        # One matrix product for the distances: a few digits fewer than _squared_distance.
        (A, A2), (B, B2) = self.scaled(X), Z_scaled or self.scaled(Z)
        r2 = A @ B.swapaxes(-1, -2)
        r2 *= -2.0
        r2 += A2[..., :, None]
        r2 += B2[..., None, :]
        value, factor = PROFILES[self.name](np.maximum(r2, 0.0, out=r2))
        if self.categorical.any():
            hamming = self._hamming(X, Z)
            value, factor = value * hamming, factor * hamming
        return value, factor

    def _squared_distance(self, X: Array, Z: Array) -> Array:
        # Column by column: exact zeros for equal rows, which x'x + z'z - 2 x'z does not give.
        r2 = np.zeros((*self.lengthscale.shape[:-1], len(X), len(Z)))
        for j in np.flatnonzero(~self.categorical):
            scaled = (X[:, j, None] - Z[None, :, j]) / self.lengthscale[..., j, None, None]
            scaled *= scaled
            r2 += scaled
        return r2

    def _hamming(self, X: Array, Z: Array) -> Array:
        distance = np.zeros((*self.lengthscale.shape[:-1], len(X), len(Z)))
        for c in np.flatnonzero(self.categorical):
            distance += (X[:, c, None] != Z[None, :, c]) / self.lengthscale[..., c, None, None]
        return np.exp(-distance)
