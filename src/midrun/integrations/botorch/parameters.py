"""A parameter of a GPyTorch module: held if it is given, learned under midrun's prior if not."""

from __future__ import annotations

import math
from typing import Any

import torch
from gpytorch.constraints import GreaterThan, Positive
from gpytorch.priors import LogNormalPrior


def constraint_and_prior(
    name: str, given: Any, unit: float, prior: tuple[float, float]
) -> dict[str, Any]:
    """Constraint of a positive parameter, and its log-normal prior if it is to be learned.

    The prior is one of ``midrun.belief.fit``: mean and width of the logarithm, in some unit.
    """
    # Without a transform a given value is held to its last bit; it has no prior, from which a
    # second attempt of `fit_gpytorch_mll` would draw. A learned one is fitted as its logarithm:
    # the optimiser's steps then have no unit.
    if given is not None:
        return {f"{name}_constraint": Positive(transform=None, inv_transform=None)}
    log_median, width = math.log(unit) + prior[0], prior[1]
    above = GreaterThan(1e-4 * math.exp(log_median), transform=torch.exp, inv_transform=torch.log)
    return {
        f"{name}_constraint": above,
        f"{name}_prior": LogNormalPrior(log_median, width),
    }


def hold_or_learn(module: Any, name: str, given: Any, start: float) -> None:
    """Set a parameter in double precision: fixed if given, else to be learned from ``start``."""
    module.double()
    value = torch.as_tensor(start if given is None else given, dtype=torch.float64)
    module.initialize(**{name: value})
    getattr(module, f"raw_{name}").requires_grad_(given is None)
