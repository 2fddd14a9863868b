"""Continuous and mixed spaces: ask and tell with nothing else given, and with everything given."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import midrun
from midrun.query.confidence import probability_best, without
from midrun.query.rule import Verdict
from midrun.space import Space

GIVEN = midrun.Belief("matern52", lengthscale=0.3, forgetting=0.02, noise=0.01, scale=1.0, mean=0.0)
MIXED = {
    "crop": (0.5, 1.0),
    "lr": midrun.Float(1e-4, 1e-1, log=True),
    "layers": (1, 8),
    "optim": ["sgd", "adam"],
    "aug": {"flip": bool},
    "epochs": 90,
}


def drifting(params, t):
    """A reward on MIXED whose best `crop` moves slowly."""
    peak = 0.75 + 0.2 * math.sin(t / 40)
    return (
        -4 * (params["crop"] - peak) ** 2
        - 0.1 * (math.log10(params["lr"]) + 2.5) ** 2
        - 0.02 * (params["layers"] - 5) ** 2
        + 0.3 * (params["optim"] == "adam")
        + 0.2 * params["aug.flip"]
    )


def run(tuner, rounds, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        decision = tuner.ask()
        if decision.query:
            tuner.tell(
                decision, reward=drifting(decision.params, decision.round) + noise * rng.normal()
            )
    return tuner


def test_with_nothing_but_the_space_given_a_mixed_problem_is_solved():
    tuner = run(midrun.Tuner(MIXED, query=midrun.Always(), seed=0), 60)
    best = tuner.best()
    assert drifting(best, 61) > 0.3  # the best is 0.5, a random setting has -0.4 on average
    assert (best["optim"], best["aug.flip"], best["epochs"]) == ("adam", True, 90)
    assert abs(best["layers"] - 5) <= 2


def test_values_are_plain_python_and_inside_their_bounds():
    tuner = run(midrun.Tuner(MIXED, seed=1), 25)
    for record in tuner.history:
        kinds = {k: type(v) for k, v in record.params.items()}
        assert kinds == {
            "crop": float,
            "lr": float,
            "layers": int,
            "optim": str,
            "aug.flip": bool,
            "epochs": int,
        }
        assert 0.5 <= record.params["crop"] <= 1.0
        assert 1e-4 <= record.params["lr"] <= 1e-1
        assert record.index is None


def test_rivals_of_a_continuous_choice_are_its_other_modes():
    tuner = midrun.ce_gp_ucb({"x": (0.0, 1.0)}, 0.9, 0.02, belief=GIVEN, seed=0)
    rng = np.random.default_rng(0)
    seen = set()
    for t in range(60):
        decision = tuner.ask()
        seen.add(decision.reason.kind)
        if decision.reason.kind == "confidence":
            assert abs(decision.reason.rival["x"] - decision.params["x"]) > 0.05
        if decision.query:
            x = decision.params["x"]
            tuner.tell(decision, reward=math.sin(9 * x + t / 50) + 0.1 * rng.normal())
    assert {"first", "confidence"} <= seen
    assert 5 < sum(r.query for r in tuner.history) < 60


class WithoutGuard:
    """Only the other modes as rivals: the paper's rule, with its trap."""

    def decide(self, situation):
        x_t = situation.optima.point
        rivals = without(situation.optima.modes, x_t)
        if situation.t == 1 or not len(rivals):
            return Verdict(situation.t == 1, "unguarded")
        p = probability_best(situation.posterior, x_t, rivals, joint=False)
        return Verdict(bool(p.min() < 0.9), "unguarded", float(p.min()), 0.9)


def test_the_single_mode_trap_is_open_on_a_continuous_space():
    belief = midrun.Belief("se", lengthscale=0.25, forgetting=0.03, noise=0.01, scale=1.0, mean=0.0)
    silence = {}
    for name, rule in (("with", midrun.Confidence(0.9)), ("without", WithoutGuard())):
        tuner = midrun.Tuner(
            {"x": (0.0, 1.0)}, belief=belief, query=rule, on_skip="explore", seed=3
        )
        last, longest = 0, 0
        for t in range(300):
            decision = tuner.ask()
            if decision.query:
                longest, last = max(longest, t - last), t
                tuner.tell(decision, reward=2.0 - 8 * (decision.params["x"] - 0.5) ** 2)
        silence[name] = max(longest, 300 - last)
    assert silence["with"] < 70
    assert silence["without"] > 200


def test_start_is_played_first():
    start = {"crop": 0.9, "lr": 3e-3, "layers": 2, "optim": "sgd", "aug": {"flip": False}}
    tuner = midrun.Tuner(MIXED, start=start, seed=0)
    first = tuner.ask()
    assert first.query
    assert first.params["layers"] == 2
    assert first.params["crop"] == pytest.approx(0.9)
    assert first.params["lr"] == pytest.approx(3e-3)
    assert (first.params["optim"], first.params["aug.flip"]) == ("sgd", False)
    arms = midrun.Tuner(candidates=[{"x": 0.0}, {"x": 1.0}], start={"x": 1.0}, seed=0)
    assert arms.ask().params == {"x": 1.0}


@pytest.mark.parametrize("step", [0.05, 0.3])
def test_no_coordinate_moves_further_than_max_step(step):
    tuner = run(midrun.Tuner(MIXED, max_step=step, query=midrun.Always(), seed=0), 30)
    space = Space.of(MIXED)
    points = np.array([space.encode(r.params) for r in tuner.history])
    moves = np.abs(np.diff(points, axis=0))
    stepped = space.levels > 0
    assert (moves[:, ~stepped] <= step + 1e-9).all()
    layers = [r.params["layers"] for r in tuner.history]
    assert np.abs(np.diff(layers)).max() <= max(1, math.floor(step * 7 + 1e-9))
    assert moves[:, 0].max() > 0.5 * step  # it does move
    line = midrun.Tuner(
        candidates=np.linspace(0, 10, 101)[:, None], max_step=step, query=midrun.Always(), seed=0
    )
    xs = []
    for _ in range(30):
        decision = line.ask()
        xs.append(decision.params["x0"])
        line.tell(decision, reward=-((decision.params["x0"] - 3) ** 2))
    assert np.abs(np.diff(xs)).max() <= 10 * step + 1e-9


def test_clip_bounds_what_the_belief_is_told_and_not_the_record():
    one = midrun.Tuner({"x": (0.0, 1.0)}, belief=GIVEN, clip=(-2, 2), query=midrun.Always(), seed=0)
    two = midrun.Tuner({"x": (0.0, 1.0)}, belief=GIVEN, query=midrun.Always(), seed=0)
    for value in (1e6, -1e6, 0.5):
        a, b = one.ask(), two.ask()
        assert a.params == b.params
        one.tell(a, reward=value)
        two.tell(b, reward=min(max(value, -2.0), 2.0))
    assert [r.reward for r in one.history] == [1e6, -1e6, 0.5]
    down = midrun.Tuner({"x": (0.0, 1.0)}, belief=GIVEN, clip=(0, 3), direction="minimize", seed=0)
    down.tell(down.ask(), reward=99.0)
    assert down.predict([down.history[0].params])[0][0] == pytest.approx(3.0, abs=0.2)


@pytest.mark.parametrize(
    "belief", [GIVEN, None, midrun.Belief(lengthscale=0.3)], ids=["given", "learned", "half"]
)
def test_25_and_25_rounds_on_a_space_are_50(belief):
    def make():
        return midrun.Tuner(MIXED, belief=belief, max_step=0.5, query=midrun.Bernoulli(0.7), seed=4)

    def go(tuner, last):
        seen = []
        while not len(tuner.history) or tuner.history[-1].round < last or tuner._again:
            decision = tuner.ask()
            seen.append(decision)
            if decision.query:
                tuner.tell(decision, reward=drifting(decision.params, decision.round))
        return [(d.round, d.params, d.query, d.reason) for d in seen]

    unbroken = go(make(), 24)
    first = make()
    go(first, 12)
    text = json.dumps(first.state_dict(), allow_nan=False)
    assert len(text) < 100_000
    resumed = midrun.Tuner.from_state_dict(json.loads(text))
    later = go(resumed, 24)
    assert later == [d for d in unbroken if d[0] >= later[0][0]]


def test_a_state_of_another_space_says_which_parameter_differs():
    tuner = midrun.Tuner({"x": (0.0, 1.0), "n": (1, 3)}, seed=0)
    tuner.ask()
    other = midrun.Tuner({"x": (0.0, 1.0), "n": (1, 4)}, seed=0)
    with pytest.raises(ValueError, match="'n'"):
        other.load_state_dict(tuner.state_dict())
    with pytest.raises(ValueError, match="not candidates"):
        midrun.Tuner(candidates=[{"x": 0.0}, {"x": 1.0}]).load_state_dict(tuner.state_dict())


def test_a_configspace_is_taken_as_it_is():
    import ConfigSpace

    space = ConfigSpace.ConfigurationSpace({"a": (0.1, 1.5), "b": (2, 10), "c": ["mouse", "cat"]})
    params = midrun.Tuner(space, seed=0).ask().params
    assert set(params) == {"a", "b", "c"}
    assert type(params["c"]) is str


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (midrun.Tuner, ["space", "candidates", "neither"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, candidates=[{"x": 1}]), ["both"]),
        (lambda: midrun.Tuner({"x": (1.0, 0.0)}), ["'x'", "low=1.0", "high=0.0"]),
        (lambda: midrun.Tuner({"x": (1.0, 1.0)}), ["'x'", "low < high"]),
        (lambda: midrun.Tuner({"a": {"x": midrun.Float(1.0, 2.0)}}, start={"a": {"y": 1}}), ["'a.y'"]),
        (lambda: midrun.Float(0.0, 1.0, log=True), ["0 < low", "0.0"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, start={"x": 2.0}), ["'x'", "2.0", "[0.0, 1.0]"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, start={}), ["'x'", "Missing"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, max_step=0.0), ["max_step", "0.0"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, clip=(2, -2)), ["clip", "(2, -2)"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, clip=3), ["clip", "3"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, belief=midrun.Belief("independent")), ["independent", "candidates"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}, choice=midrun.UCB(midrun.TheoryBeta(0.1))).ask(), ["TheoryBeta", "finite"]),
        (lambda: midrun.Tuner({"x": (0.0, 1.0)}).predict(np.zeros(3)), ["(n, 1)"]),
    ],
)  # fmt: skip
def test_bad_input_names_the_parameter_and_the_value(make, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def specs():
    low_high = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(
        lambda p: (p[0], p[0] + p[1])
    )
    logs = st.tuples(st.floats(1e-12, 1e3), st.floats(1.5, 1e6))
    ints = st.tuples(st.integers(-1000, 1000), st.integers(1, 10_000))
    return st.one_of(
        low_high,
        logs.map(lambda p: midrun.Float(p[0], p[0] * p[1], log=True)),
        ints.map(lambda p: midrun.Integer(p[0], p[0] + p[1])),
        ints.map(lambda p: midrun.Integer(abs(p[0]) + 1, abs(p[0]) + 1 + p[1], log=True)),
        st.lists(st.sampled_from("abcdef"), min_size=2, max_size=5, unique=True),
        st.lists(st.integers(0, 9), min_size=2, max_size=5, unique=True).map(midrun.Ordinal),
        st.just(bool),
    )


@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from("uvwxyz"), specs(), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_any_point_of_any_space_is_plain_python_within_bounds_and_comes_back(shorthand, seed):
    space = Space.of(shorthand)
    rng = np.random.default_rng(seed)
    u = rng.uniform(-0.1, 1.1, space.d)
    params = space.decode(u)
    for name, value in params.items():
        spec = space.specs[name]
        if isinstance(spec, midrun.Float):
            assert type(value) is float
            assert spec.low <= value <= spec.high
        elif isinstance(spec, midrun.Integer):
            assert type(value) is int
            assert spec.low <= value <= spec.high
        else:
            assert type(value) in (str, int, bool)
    # a narrow range far from zero has few floats to come back through
    ulps = [np.spacing(abs(s.low) + abs(s.high)) / (s.high - s.low) if isinstance(s, midrun.Float) and not s.log
            else 0.0 for s in map(space.specs.get, space.names)]  # fmt: skip
    assert (np.abs(space.encode(params) - space.snap(u)) <= 1e-9 + 4 * np.array(ulps)).all()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from("uvwxyz"), specs(), min_size=1, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_a_tuner_on_any_space_asks_within_it(shorthand, seed):
    tuner = midrun.Tuner(shorthand, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(6):
        decision = tuner.ask()
        tuner.tell(decision, reward=float(rng.normal()))
        Space.of(shorthand).encode(decision.params)  # refuses what is outside
