"""From the user's ``Belief`` to a model on a given set of points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from midrun.belief.arms import Arms
from midrun.belief.fit import Family, Units
from midrun.belief.forgetting import Forgetting, Markov
from midrun.belief.grid import Grid
from midrun.belief.kernels import Array, Kernel
from midrun.belief.learned import Build, Learned
from midrun.belief.posterior import Member, Model
from midrun.belief.prior import Belief, Parameters
from midrun.belief.process import Process


def finite_model(belief: Belief, features: Array, categorical: npt.NDArray[np.bool_]) -> Model:
    """The cheapest exact model on a finite set.

    Args:
        belief: What the user gave; what is left out is learned.
        features: What the kernel sees of each candidate, (m, d).
        categorical: Which columns are unordered, (d,).
    """

    def build(kernel: Kernel, forgetting: Forgetting, parameters: Parameters) -> Member:
        if not isinstance(forgetting, Markov):
            return Process(kernel, forgetting, parameters, features)
        if kernel.name == "independent":
            return Arms(len(features), forgetting, parameters)
        return Grid(features, kernel, forgetting, parameters)

    family = Family(belief, categorical, np.ptp(features, axis=0))
    if family.free.any():
        return Learned(family, build, lambda points: features[points], smooth=False)
    return _given(family, build)


def continuous_model(belief: Belief, categorical: npt.NDArray[np.bool_]) -> Model:
    """The exact model on the unit cube.

    Args:
        belief: What the user gave; what is left out is learned.
        categorical: Which coordinates are unordered, (d,).
    """
    if belief.kernel == "independent":
        raise ValueError(
            "`kernel='independent'` tells nothing of points not yet tried and needs a finite set: "
            "give `candidates`."
        )
    family = Family(belief, categorical, np.ones(len(categorical)))
    if family.free.any():
        return Learned(family, Process, lambda points: points, smooth=True)
    return _given(family, Process)


def _given(family: Family, build: Build) -> Model:
    """The one model whose parameters are all given."""
    units = Units(0.0, 1.0)
    return build(*family.unpack(family.pin(family.prior_mean, units), units))
