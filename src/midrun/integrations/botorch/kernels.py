"""The kernels of the time-varying GP: how alike two rounds are, and how alike two settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from gpytorch.priors import Prior
from torch import Tensor

from midrun.belief.fit import LENGTHSCALE
from midrun.belief.forgetting import TIMES
from midrun.belief.prior import Belief
from midrun.checks import one_of
from midrun.integrations.botorch.parameters import constraint_and_prior, hold_or_learn


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


def spatial_kernel(belief: Belief, d: int, categorical: list[int], batch: torch.Size) -> Kernel:
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
            **constraint_and_prior("lengthscale", given, 1.0, LENGTHSCALE),
        )
        hold_or_learn(part, "lengthscale", given, math.exp(LENGTHSCALE[0]))
        product = part if product is None else product * part
    return product


_NUMERIC: dict[str, Callable[..., Kernel]] = {
    "se": RBFKernel,
    "matern12": partial(MaternKernel, nu=0.5),
    "matern32": partial(MaternKernel, nu=1.5),
    "matern52": partial(MaternKernel, nu=2.5),
}
