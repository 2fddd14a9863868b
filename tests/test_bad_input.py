"""Each mistake has a message that names the parameter, the value and the remedy."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import midrun

ARMS = [{"x": 0.0}, {"x": 0.5}, {"x": 1.0}]


def tuner(**options):
    return midrun.Tuner(candidates=ARMS, **{"seed": 0, **options})


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: midrun.Confidence(0.0), ValueError, ["kappa", "(0, 1)", "0.0"]),
        (lambda: midrun.Confidence(1.0), ValueError, ["kappa", "(0, 1)", "1.0"]),
        (lambda: midrun.Confidence(math.nan), ValueError, ["kappa", "nan"]),
        (lambda: midrun.Confidence("0.9"), TypeError, ["kappa", "'0.9'", "str"]),
        (lambda: midrun.Bernoulli(-0.1), ValueError, ["`p`", "[0, 1]", "-0.1"]),
        (lambda: midrun.Every(0), ValueError, ["`k`", "0"]),
        (lambda: midrun.Every(2.5), TypeError, ["`k`", "2.5"]),
        (lambda: midrun.Belief(forgetting=1.0), ValueError, ["forgetting", "[0, 1)", "epsilon"]),
        (lambda: midrun.Belief(forgetting=-0.1), ValueError, ["forgetting", "-0.1"]),
        (lambda: midrun.Belief(noise=-1e-9), ValueError, ["noise", "-1e-09", "variance"]),
        (lambda: midrun.Belief(scale=0.0), ValueError, ["scale", "0.0"]),
        (lambda: midrun.Belief(lengthscale=0.0), ValueError, ["lengthscale", "0.0"]),
        (lambda: midrun.Belief(lengthscale=[0.2, -1]), ValueError, ["lengthscale", "-1"]),
        (lambda: midrun.Belief(lengthscale=[]), ValueError, ["lengthscale", "empty"]),
        (lambda: midrun.Belief(mean=math.inf), ValueError, ["mean", "inf"]),
        (lambda: midrun.Belief("rbf"), ValueError, ["kernel", "'rbf'", "matern52"]),
        (lambda: midrun.Belief(time="weekly"), ValueError, ["time", "'weekly'", "markov"]),
        (lambda: midrun.UCB(-1.0), ValueError, ["beta", "-1.0"]),
        (lambda: midrun.LogBeta(0.8, 0.5), ValueError, ["c2", "0.5"]),
        (lambda: midrun.TheoryBeta(0.0), ValueError, ["delta", "0.0"]),
        (lambda: midrun.Tuner(candidates=[]), ValueError, ["candidates", "empty"]),
        (lambda: midrun.Tuner(candidates=np.empty((0, 2))), ValueError, ["candidates", "empty"]),
        (lambda: midrun.Tuner(candidates=np.zeros(3)), TypeError, ["candidates", "(m, d)", "(3,)"]),
        (lambda: midrun.Tuner(candidates=["a", "b"]), TypeError, ["candidates", "dicts"]),
        (lambda: midrun.Tuner(candidates=[{"x": 1}, 3]), TypeError, ["candidates[1]", "3"]),
        (lambda: midrun.Tuner(candidates=[{"x": 1}, {"y": 1}]), ValueError, ["candidates[1]", "'x'", "'y'"]),
        (lambda: midrun.Tuner(candidates=[{"x": 1}, {"x": 2}, {"x": 1}]), ValueError, ["candidates[2]", "[0]", "repeats"]),
        (lambda: midrun.Tuner(candidates=[[0.0], [0.0]]), ValueError, ["candidates[1]", "repeats"]),
        (lambda: midrun.Tuner(candidates=[[0.0], [math.nan]]), ValueError, ["candidates[1]", "nan"]),
        (lambda: midrun.Tuner(candidates=[{"x": [1]}, {"x": 2}]), TypeError, ["'x'", "[1]"]),
        (lambda: tuner(direction="up"), ValueError, ["direction", "'up'", "minimize"]),
        (lambda: tuner(on_skip="rest"), ValueError, ["on_skip", "'rest'", "exploit"]),
        (lambda: tuner(query=midrun.Always), TypeError, ["query", "Always", "call it"]),
        (lambda: tuner(query=0.9), TypeError, ["query", "0.9"]),
        (lambda: tuner(choice="ucb"), TypeError, ["choice", "'ucb'"]),
        (lambda: tuner(belief="matern52"), TypeError, ["belief", "'matern52'"]),
        (lambda: tuner(belief=midrun.Belief(lengthscale=[1.0, 2.0])), ValueError, ["lengthscale", "(1)", "2"]),
        (lambda: tuner().predict([{"y": 1}]), ValueError, ["'x'", "'y'"]),
        (lambda: tuner().predict([{"x": 0.7}]), ValueError, ["0.7", "candidates"]),
        (lambda: tuner().predict(np.array([5])), ValueError, ["5", "[0, 3)"]),
        (lambda: tuner().predict(np.zeros((2, 4))), TypeError, ["(n, 1)", "(2, 4)"]),
        (lambda: tuner().predict(round="soon"), TypeError, ["round", "'soon'"]),
        (lambda: midrun.ce_gp_ucb(ARMS, 0.9, 1.5), ValueError, ["forgetting", "1.5"]),
        (lambda: midrun.ce_gp_ucb(ARMS, 0.9, 0.1, query=midrun.Always()), TypeError, ["query", "Tuner"]),
        (lambda: midrun.Replay([]), ValueError, ["schedule", "empty"]),
        (lambda: midrun.Replay([{"round": 1}]), ValueError, ["schedule[0]", "params"]),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_where_it_is_given(make, error, words):
    with pytest.raises(error) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("told", "error", "words"),
    [
        ({}, ValueError, ["reward", "metric", "nan"]),
        ({"reward": 1.0, "metric": 1.0}, ValueError, ["reward=1.0", "metric=1.0"]),
        ({"reward": "good"}, TypeError, ["reward", "'good'"]),
        ({"metric": [1.0, 2.0]}, TypeError, ["metric", "[1.0, 2.0]"]),
        ({"reward": 1.0, "seconds": -1.0}, ValueError, ["seconds", "-1.0"]),
    ],
)
def test_a_wrong_tell_is_refused_and_the_round_may_still_be_told(told, error, words):
    t = tuner()
    decision = t.ask()
    with pytest.raises(error) as caught:
        t.tell(decision, **told)
    for word in words:
        assert word in str(caught.value)
    t.tell(decision, reward=1.0)
    assert t.history[0].reward == 1.0


def test_a_round_is_told_once_and_to_its_own_tuner():
    one, two = tuner(), tuner()
    decision = one.ask()
    two.ask()
    with pytest.raises(ValueError, match="another tuner"):
        two.tell(decision, reward=1.0)
    one.tell(decision, reward=1.0)
    with pytest.raises(ValueError, match="round 1 was already told"):
        one.tell(decision, reward=1.0)
    with pytest.raises(TypeError, match="`decision`"):
        one.tell(decision.params, reward=1.0)


def test_answers_come_in_the_order_of_their_rounds():
    t = tuner(query=midrun.Always())
    first, second = t.ask(), t.ask()
    t.tell(second, reward=1.0)
    with pytest.raises(ValueError, match=r"round 1 .*too late"):
        t.tell(first, reward=1.0)


def test_a_round_does_not_go_back_in_time():
    t = tuner()
    t.ask(round=5.5)
    for bad in (5.5, 3, -1.0):
        with pytest.raises(ValueError, match=r"`round` .*5\.5"):
            t.ask(round=bad)
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="`round`"):
            t.ask(round=bad)
    assert t.ask().round == 6


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_failed_evaluation_is_recorded_warned_of_once_and_counts_as_unobserved(bad):
    t, clean = tuner(query=midrun.Always()), tuner(query=midrun.Always())
    decision = t.ask()
    with pytest.warns(RuntimeWarning, match="failed"):
        t.tell(decision, reward=bad)
    t.tell(t.ask(), reward=bad)  # not warned of again: a warning would be an error here
    for _ in range(2):
        clean.ask()
    for a, b in zip(t.predict(), clean.predict(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert [(r.failed, r.reward) for r in t.history] == [(True, None), (True, None)]
    json.dumps(t.state_dict(), allow_nan=False)
    t.tell(t.ask(), reward=1.0)
    assert t.history[2].reward == 1.0


def test_a_state_that_cannot_be_read_says_why():
    t = tuner()
    t.ask()
    state = t.state_dict()
    with pytest.raises(ValueError, match=r"schema 99.*newer"):
        midrun.Tuner.from_state_dict({**state, "schema": 99})
    with pytest.raises(ValueError, match="not a tuner's state"):
        midrun.Tuner.from_state_dict([1, 2])
    for key in state:
        cut = {k: v for k, v in state.items() if k != key}
        with pytest.raises(ValueError, match=r"truncated|not a tuner's state"):
            midrun.Tuner.from_state_dict(cut)
    with pytest.raises(ValueError, match="midrun does not know"):
        midrun.Tuner.from_state_dict(
            {**state, "settings": {**state["settings"], "query": {"type": "Mine"}}}
        )
    other = midrun.Tuner(candidates=[{"x": 0.0}, {"x": 0.6}, {"x": 1.0}])
    with pytest.raises(ValueError, match=r"other settings.*0\.6"):
        other.load_state_dict(state)
    with pytest.raises(ValueError, match="another `belief`"):
        tuner(belief=midrun.Belief("se")).load_state_dict(state)
    assert len(other.history) == 0
