"""From the user's ``Belief`` to a model on a given set of points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from midrun.belief.arms import Arms
from midrun.belief.forgetting import TIMES, Markov
from midrun.belief.grid import Grid
from midrun.belief.kernels import Array, Kernel
from midrun.belief.posterior import Model
from midrun.belief.prior import Belief, Parameters
from midrun.belief.process import Process


def finite_model(belief: Belief, features: Array, categorical: npt.NDArray[np.bool_]) -> Model:
    """The cheapest exact model on a finite set.

    Args:
        belief: What the user gave.
        features: What the kernel sees of each candidate, (m, d).
        categorical: Which columns are unordered, (d,).
    """
    d = features.shape[1]
    spread = np.ptp(features, axis=0)
    lengthscale = belief.lengthscales(d)
    if lengthscale is None:
        lengthscale = 0.4 * np.where(spread > 0, spread, 1.0)
    kernel = Kernel(belief.kernel, lengthscale, categorical)
    forgetting = TIMES[belief.time](0.01 if belief.forgetting is None else belief.forgetting)
    parameters = Parameters(
        scale=1.0 if belief.scale is None else belief.scale,
        noise=0.05 if belief.noise is None else belief.noise,
        mean=0.0 if belief.mean is None else belief.mean,
    )
    if not isinstance(forgetting, Markov):
        return Process(kernel, forgetting, parameters, features)
    if belief.kernel == "independent":
        return Arms(len(features), forgetting, parameters)
    return Grid(features, kernel, forgetting, parameters)
