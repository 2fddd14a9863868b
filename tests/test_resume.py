"""Stop anywhere, load the state, go on: the same decisions to the last bit."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import midrun
from midrun.belief.grid import REPLAY
from midrun.belief.kernels import KERNELS
from tests.worlds import world

RULES = [
    "midrun.Always()", "midrun.Every(3)", "midrun.Bernoulli(0.4)", "midrun.Confidence(0.9)",
    "midrun.Confidence(0.8, joint=True)", "midrun.NoOverlap()", "midrun.ExpectedRegret(0.05)",
]  # fmt: skip
CASES = [
    *[(rule, "matern32", "markov", "UCB()") for rule in RULES],
    *[("midrun.Confidence(0.9)", kernel, "markov", "UCB()") for kernel in KERNELS],
    *[("midrun.Confidence(0.9)", kernel, "se", "UCB()") for kernel in ("matern52", "independent")],
    *[("midrun.Bernoulli(0.4)", "se", "markov", c) for c in ("EI()", "PI()", "Mean()", "UCB(2.0)")],
    ("midrun.NoOverlap()", "matern12", "markov", "UCB(midrun.TheoryBeta(0.1))"),
]

SCRIPT = """
import json, sys
import midrun
from tests.test_resume import go_on
cases = json.load(sys.stdin)
out = []
for text, rounds in cases:
    tuner = midrun.Tuner.from_state_dict(json.loads(text))
    out.append([go_on(tuner, rounds), tuner.state_dict()])
json.dump(out, sys.stdout)
"""


def make(rule, kernel, time, choice):
    belief = midrun.Belief(kernel, lengthscale=0.2, forgetting=0.03, noise=0.01, time=time)
    X = np.linspace(0, 1, 40)[:, None]
    return midrun.Tuner(
        candidates=X, belief=belief, query=eval(rule), choice=eval(f"midrun.{choice}"), seed=5
    )


def go_on(tuner, last):
    """Play until round `last`; the reward depends on the decision alone, so any process agrees."""
    seen = []
    while not len(tuner.history) or tuner.history[-1].round < last or tuner._again:
        decision = tuner.ask()
        seen.append([decision.round, decision.params, decision.query, repr(decision.reason)])
        if decision.query:
            x, t = decision.params["x0"], decision.round
            tuner.tell(decision, reward=float(np.sin(7 * x + 0.1 * t) + 0.1 * np.cos(1e4 * x * t)))
    return seen


def test_25_and_25_rounds_in_another_process_are_50():
    unbroken, texts = [], []
    for case in CASES:
        tuner = make(*case)
        unbroken.append((go_on(tuner, 50), tuner))
        first = make(*case)
        go_on(first, 25)
        texts.append((json.dumps(first.state_dict(), allow_nan=False), 50))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for case, (decisions, tuner), (later, state) in zip(
        CASES, unbroken, json.loads(done.stdout), strict=True
    ):
        # An unfinished round 25 is handed out again, as it was.
        expected = [d for d in decisions if d[0] >= later[0][0]]
        assert later[0][0] in (25, 26), case
        assert later == json.loads(json.dumps(expected)), case
        resumed = midrun.Tuner.from_state_dict(state)
        for a, b in zip(tuner.predict(round=60), resumed.predict(round=60), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_state_is_small_and_strict_json_and_loading_does_not_change_it():
    w = world(0, 0.01, T=500)
    tuner = midrun.ce_gp_ucb(w.X, 0.95, 0.01, belief=w.belief, seed=0)
    for t in range(500):
        decision = tuner.ask()
        if decision.query:
            tuner.tell(decision, reward=float(w.F[t, decision.index]))
    text = json.dumps(tuner.state_dict(), allow_nan=False)
    assert len(text) < 500_000
    again = midrun.Tuner.from_state_dict(json.loads(text))
    assert json.dumps(again.state_dict()) == text
    assert list(again.history) == list(tuner.history)


@pytest.mark.parametrize("kernel", ["matern32", "independent"])
def test_a_long_run_resumes_from_arrays_of_bounded_size(kernel):
    X = np.linspace(0, 1, 60)[:, None]
    belief = midrun.Belief(kernel, lengthscale=0.2, forgetting=0.001, noise=0.01)
    tuner = midrun.Tuner(candidates=X, belief=belief, query=midrun.Always(), seed=0)
    go_on(tuner, REPLAY + 150)
    state = json.loads(json.dumps(tuner.state_dict(), allow_nan=False))
    assert len(json.dumps(state["model"])) < 200_000
    again = midrun.Tuner.from_state_dict(state)
    assert go_on(again, REPLAY + 250) == go_on(tuner, REPLAY + 250)
    one, two = again.state_dict(), tuner.state_dict()
    assert (
        one.pop("account")["queries"] == two.pop("account")["queries"]
    )  # its seconds are measured
    assert one == two


def test_the_decision_in_hand_is_handed_out_again_after_a_resume():
    tuner = midrun.Tuner(candidates=np.linspace(0, 1, 9)[:, None], seed=0)
    tuner.tell(tuner.ask(), reward=0.3)
    pending = tuner.ask()
    state = json.loads(json.dumps(tuner.state_dict()))
    again = midrun.Tuner.from_state_dict(state)
    assert again.ask() == pending
    again.tell(pending, reward=0.1)  # the old object is as good as the new one
    assert again.ask().round == 3
    by_hand = midrun.Tuner.from_state_dict(state)
    assert by_hand.ask(round=2) == pending
    moved_on = midrun.Tuner.from_state_dict(state)
    assert moved_on.ask(round=3).round == 3
    assert tuner.ask().round == 3  # saving a state does not disturb the run


def test_a_state_goes_back_in_time_on_the_same_tuner():
    tuner = midrun.Tuner(candidates=np.linspace(0, 1, 9)[:, None], query=midrun.Always(), seed=0)
    go_on(tuner, 10)
    state = tuner.state_dict()
    later = go_on(tuner, 20)
    tuner.load_state_dict(state)
    assert len(tuner.history) == 10
    assert go_on(tuner, 20) == later
