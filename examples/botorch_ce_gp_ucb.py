"""CE-GP-UCB inside BoTorch: tune a setting whose best value drifts, and look only when in doubt.

Run it with `python examples/botorch_ce_gp_ucb.py`; it needs `pip install 'midrun[botorch]'`.
"""

import math
import sys

import numpy as np
import torch
from botorch.acquisition import UpperConfidenceBound

import midrun
from midrun.integrations.botorch import TimeVaryingGP, append_round, decide

NOISE = 0.05
BOUNDS = torch.tensor([[0.0], [1.0]], dtype=torch.float64)


def reward(x: float, t: int) -> float:
    """A hill that walks to and fro, once in some 200 rounds."""
    return math.exp(-(((x - 0.5 - 0.3 * math.sin(t / 30)) / 0.25) ** 2))


def run(rounds: int = 40, kappa: float | None = 0.9, seed: int = 0) -> tuple[int, float]:
    """Play some rounds; how many were looked at, and the mean regret of all of them."""
    rule = midrun.Always() if kappa is None else midrun.Confidence(kappa)
    beta = midrun.LogBeta(0.8, 4)
    rng = np.random.default_rng(seed)
    XT = torch.empty(0, 2, dtype=torch.float64)  # x, and the round it was played in
    Y = torch.empty(0, 1, dtype=torch.float64)
    regret = 0.0
    for t in range(1, rounds + 1):
        # Everything is given here. To learn what is left out, drop an argument and call
        # `fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))` now and then.
        model = TimeVaryingGP(
            XT, Y, lengthscale=0.3, forgetting=0.05, noise=NOISE**2, scale=0.25, mean=0.3
        )
        ucb = UpperConfidenceBound(model, beta=beta(t, None))  # any acquisition will do
        x, verdict = decide(rule, model, ucb, BOUNDS, t=t, round=t, generator=rng)
        regret += 1.0 - reward(x.item(), t)
        if verdict.query:
            y = reward(x.item(), t) + NOISE * rng.normal()
            XT = torch.cat([XT, append_round(x, t)])
            Y = torch.cat([Y, torch.tensor([[y]], dtype=torch.float64)])
    return len(Y), regret / rounds


def main(rounds: int) -> None:
    print(f"{'rule':>18} {'looked at':>10} {'mean regret':>12}")
    for name, kappa in (("always", None), ("Confidence(0.9)", 0.9)):
        queries, regret = run(rounds, kappa)
        print(f"{name:>18} {queries:>6}/{rounds} {regret:>12.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)  # matrices this small only wait for each other
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
