"""The paper's algorithm to the letter, for reproduction."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from midrun.belief.prior import Belief
from midrun.choice.acquisition import UCB
from midrun.choice.beta import LogBeta
from midrun.query.confidence import Confidence
from midrun.query.guard import Guard
from midrun.space import Space
from midrun.tuner import Tuner


def ce_gp_ucb(
    space_or_candidates: Any,
    kappa: float,
    epsilon: float,
    **options: Any,
) -> Tuner:
    """CE-GP-UCB, Algorithm 1 to the letter: for reproduction.

    The acquisition's choice is played whether or not it is observed, beta_t = 0.8 ln(4 t), and
    the rivals are the local optima of the upper confidence bound.

    Args:
        space_or_candidates: What may be chosen; a dict (or ConfigurationSpace) is a space.
        kappa: The confidence threshold.
        epsilon: The forgetting rate.
        options: For :class:`Tuner`. The forgetting of ``belief`` is replaced by ``epsilon``, and
            its scale and mean, if left out, are the paper's 1 and 0.

    Example:
        >>> import numpy as np
        >>> tuner = ce_gp_ucb(np.linspace(0, 1, 50)[:, None], kappa=0.9, epsilon=0.03, seed=1)
        >>> tuner.ask().reason.words
        'query: nothing is known yet'
    """
    fixed: dict[str, Any] = {
        "choice": UCB(LogBeta(0.8, 4.0)),
        "query": Confidence(kappa),
        "on_skip": "explore",
    }
    options.setdefault("guard", Guard())
    clash = sorted(set(fixed) & set(options))
    if clash:
        raise TypeError(f"`ce_gp_ucb` is Algorithm 1 and fixes {clash}; use `Tuner` to vary them.")
    belief = options.pop("belief", None) or Belief()
    belief = dataclasses.replace(
        belief,
        forgetting=epsilon,
        scale=1.0 if belief.scale is None else belief.scale,
        mean=0.0 if belief.mean is None else belief.mean,
    )
    is_space = isinstance(space_or_candidates, Mapping | Space)
    where = {"space" if is_space else "candidates": space_or_candidates}
    return Tuner(**where, belief=belief, **fixed, **options)
