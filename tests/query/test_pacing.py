from __future__ import annotations

import json

import numpy as np
import pytest

import midrun
import midrun.account
import midrun.tuner
from tests.worlds import play, world


def tuner_on(w, rule, seed=0):
    return midrun.Tuner(candidates=w.X, belief=w.belief, query=rule, seed=seed)


@pytest.mark.parametrize(
    "rule", [midrun.ExpectedRegret(), midrun.Confidence(0.9), midrun.NoOverlap()], ids=repr
)
@pytest.mark.parametrize("share", [0.01, 0.05, 0.2, 0.5, 0.8, 1.0])
def test_a_budget_with_a_horizon_is_spent_to_the_last_query_and_never_exceeded(share, rule):
    rng = np.random.default_rng(int(1000 * share))
    for _ in range(3):
        epsilon = float(rng.choice([0.0, 0.003, 0.03, 0.3]))
        T = int(rng.integers(60, 200))
        w = world(int(rng.integers(1000)), epsilon, m=30, T=T)
        spent = np.cumsum(play(tuner_on(w, midrun.Budget(share, horizon=T, rule=rule)), w).queries)
        budget = max(int(share * T + 1e-9), 1)
        assert spent[-1] == budget


def test_a_count_is_spent_too():
    w = world(0, 0.03, m=30, T=100)
    assert play(tuner_on(w, midrun.Budget(17, horizon=100)), w).cost == 17


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_without_a_horizon_the_rate_holds_over_a_sliding_window(share):
    w = world(3, 0.03, m=30, T=500)
    queries = play(tuner_on(w, midrun.Budget(share)), w).queries.astype(int)
    span = max(50, int(np.ceil(10 / share)))
    windows = np.convolve(queries, np.ones(span, int), mode="valid")
    assert windows.max() <= share * span
    assert queries[span:].mean() == pytest.approx(share, rel=0.15)


def test_a_budget_goes_where_it_matters():
    # at the same spend, less regret than the same number of queries at random (8 worlds)
    worlds = [world(s, 0.01, m=100, T=250) for s in range(8)]
    paced = [play(tuner_on(w, midrun.Budget(0.2, horizon=250)), w) for w in worlds]
    random = [play(tuner_on(w, midrun.Bernoulli(0.2)), w) for w in worlds]
    assert np.mean([r.cost for r in paced]) == 50
    assert np.mean([r.regret for r in paced]) < np.mean([r.regret for r in random])


def test_a_budget_resumes_bit_for_bit():
    w = world(1, 0.03, m=30, T=80)

    def go(tuner, start, stop):
        seen = []
        for t in range(start, stop):
            decision = tuner.ask(round=t + 1)
            seen.append((decision.params, decision.query, decision.reason))
            if decision.query:
                tuner.tell(decision, reward=w.F[t, decision.index])
        return seen

    for rule in (midrun.Budget(0.3, horizon=80), midrun.Budget(0.3)):
        one = tuner_on(w, rule)
        go(one, 0, 40)
        two = midrun.Tuner.from_state_dict(
            json.loads(json.dumps(one.state_dict(), allow_nan=False))
        )
        assert go(one, 40, 80) == go(two, 40, 80)


def test_one_budget_object_serves_two_tuners():
    w = world(1, 0.03, m=30, T=60)
    rule = midrun.Budget(0.2, horizon=60)
    assert [play(tuner_on(w, rule), w).cost for _ in range(2)] == [12, 12]


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        for module in (midrun.account, midrun.tuner):
            monkeypatch.setattr(module, "monotonic", lambda: self.now)


def simulate(clock, tuner, w, train, validate, *, measured):
    """Train and validate in simulated seconds; the share so far after each round."""
    shares = []
    for t in range(len(w.F)):
        decision = tuner.ask()
        clock.now += train(t)
        if decision.query:
            reward = w.F[t, decision.index] + w.noise[t]
            if measured:
                with tuner.evaluating(decision):
                    clock.now += validate(t)
                tuner.tell(decision, reward=reward)
            else:
                clock.now += validate(t)
                tuner.tell(decision, reward=reward, seconds=validate(t))
        shares.append(tuner.account.share)
    return np.array(shares, float)


@pytest.mark.parametrize("measured", [True, False])
def test_the_overhead_is_held_although_an_evaluation_becomes_ten_times_as_dear(
    monkeypatch, measured
):
    clock = Clock(monkeypatch)
    w = world(2, 0.03, m=30, T=800)
    tuner = tuner_on(w, midrun.Overhead(0.1))
    cost = lambda t: 0.3 if t < 400 else 3.0  # noqa: E731
    shares = simulate(clock, tuner, w, lambda t: 2.0, cost, measured=measured)
    assert abs(shares[399] - 0.1) < 0.01
    assert abs(shares[550:] - 0.1).max() < 0.01  # settled after 150 rounds
    spent = 0.1 * tuner.account.training + 3.0
    assert tuner.account.validation <= spent
    account = tuner.account
    assert (account.rounds, account.queries) == (800, sum(r.query for r in tuner.history))
    assert account.training == pytest.approx(2.0 * 799)  # the last round is still going on
    assert account.seconds_saved == pytest.approx(
        account.validation / account.timed * (800 - account.queries)
    )


def test_the_account_goes_with_the_state_and_its_clock_does_not(monkeypatch):
    clock = Clock(monkeypatch)
    tuner = midrun.Tuner(candidates=[{"x": 0.0}, {"x": 1.0}], query=midrun.Always(), seed=0)
    for _ in range(3):
        decision = tuner.ask()
        clock.now += 5.0
        tuner.tell(decision, reward=1.0, seconds=1.0)
    state = json.loads(json.dumps(tuner.state_dict()))
    clock.now += 1e6  # the machine was down
    again = midrun.Tuner.from_state_dict(state)
    again.ask()
    assert again.account.training == pytest.approx(2 * 4.0)
    assert (again.account.validation, again.account.rounds) == (3.0, 4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: midrun.Budget(0.0), ["amount", "0.0"]),
        (lambda: midrun.Budget(1.5), ["amount", "1.5"]),
        (lambda: midrun.Budget(0), ["amount", "0"]),
        (lambda: midrun.Budget(5), ["horizon"]),
        (lambda: midrun.Budget(0.5, horizon=0), ["horizon", "0"]),
        (lambda: midrun.Budget(0.5, rule=midrun.Every(3)), ["rule", "pressure", "Every"]),
        (lambda: midrun.Overhead(0.0), ["share", "0.0"]),
        (lambda: midrun.Overhead(0.1, rule=midrun.Always()), ["rule", "pressure"]),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        make()
    for word in words:
        assert word in str(caught.value)
