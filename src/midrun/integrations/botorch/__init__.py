r"""CE-GP-UCB inside BoTorch: the forgetting kernel, a time-varying GP, and the query rules.

The time-varying GP of section 4.1 is an ordinary BoTorch model whose last input column is the
round, and a query rule of midrun decides over any model's posterior and any acquisition's local
optima, as the paper had it (its last appendix paragraph). Everything is float64.

Shapes: ``X`` is (n, d) settings, ``XT`` is (n, d + 1) settings with their round in the last column.

Example:
    >>> import numpy as np
    >>> import torch
    >>> from botorch.acquisition import UpperConfidenceBound
    >>> from midrun import Confidence
    >>> from midrun.integrations.botorch import TimeVaryingGP, decide
    >>> XT = torch.tensor([[0.2, 1.0], [0.7, 2.0], [0.4, 5.0]], dtype=torch.float64)
    >>> Y = torch.tensor([[0.1], [0.9], [0.4]], dtype=torch.float64)
    >>> model = TimeVaryingGP(XT, Y, lengthscale=0.2, forgetting=0.03, noise=0.01, scale=1, mean=0)
    >>> ucb = UpperConfidenceBound(model, beta=2.0)
    >>> bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    >>> rng = np.random.default_rng(0)
    >>> x, verdict = decide(Confidence(0.9), model, ucb, bounds, t=6, round=6, generator=rng)
    >>> tuple(x.shape), verdict.query
    ((1, 1), True)
"""

try:
    import gpytorch  # noqa: F401  # asked for here: the files below may be loaded already

    from midrun.integrations.botorch.decision import COVER as COVER
    from midrun.integrations.botorch.decision import KEEN as KEEN
    from midrun.integrations.botorch.decision import STEP as STEP
    from midrun.integrations.botorch.decision import decide as decide
    from midrun.integrations.botorch.kernels import ForgettingKernel as ForgettingKernel
    from midrun.integrations.botorch.kernels import HammingKernel as HammingKernel
    from midrun.integrations.botorch.model import TimeVaryingGP as TimeVaryingGP
    from midrun.integrations.botorch.model import append_round as append_round
    from midrun.integrations.botorch.model import at_round as at_round
    from midrun.integrations.botorch.posterior import SAMPLES as SAMPLES
    from midrun.integrations.botorch.posterior import ModelPosterior as ModelPosterior
except ImportError as error:
    raise ImportError(
        f"`midrun.integrations.botorch` needs BoTorch ({error}): pip install 'midrun[botorch]'"
    ) from error
