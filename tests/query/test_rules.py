"""One contract for every rule, and the paper's rule against its own words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import norm

import midrun
from midrun.query.confidence import probability_best, without
from midrun.query.rule import Verdict
from tests.worlds import play, world

RULES = [
    midrun.Always(),
    midrun.Every(3),
    midrun.Bernoulli(0.3),
    midrun.Confidence(0.9),
    midrun.Confidence(0.9, joint=True),
    midrun.NoOverlap(),
    midrun.ExpectedRegret(0.05),
]
rules = pytest.mark.parametrize("rule", RULES, ids=repr)


def tuner_on(w, rule, seed=0, **options):
    return midrun.Tuner(
        candidates=w.X, belief=w.belief, query=rule, seed=seed, **{"on_skip": "explore", **options}
    )


@rules
def test_the_first_round_is_worth_a_query(rule):
    for seed in range(5):
        assert tuner_on(world(0, 0.03, m=30, T=2), rule, seed).ask().query


@rules
def test_a_rule_explains_itself_and_stays_within_the_candidates(rule):
    w = world(1, 0.03, m=50, T=60)
    tuner = tuner_on(w, rule)
    play(tuner, w)
    for record in tuner.history:
        assert record.reason.query == record.query
        assert record.reason.words.startswith("query: " if record.query else "skip: ")
        assert record.index in range(50)
        if record.reason.rival is not None:
            assert 0 <= record.reason.rival["x0"] <= 1
            assert record.reason.statistic is not None


@rules
def test_the_same_seed_gives_the_same_run_and_no_rule_touches_the_global_generator(rule):
    w = world(2, 0.03, m=50, T=60)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, two = (tuner_on(w, rule, seed=4) for _ in range(2))
    play(one, w)
    play(two, w)
    assert list(one.history) == list(two.history)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@rules
def test_a_rule_that_is_never_told_does_not_get_stuck(rule):
    tuner = tuner_on(world(0, 0.03, m=30, T=2), rule)
    assert sum(tuner.ask().query for _ in range(50)) >= 10


def test_every_and_bernoulli_query_as_often_as_they_say():
    w = world(0, 0.03, m=20, T=400)
    assert np.flatnonzero(play(tuner_on(w, midrun.Every(7)), w).queries).tolist() == list(
        range(0, 400, 7)
    )
    p, n = 0.3, 400
    cost = play(tuner_on(w, midrun.Bernoulli(p)), w).cost
    assert abs(cost - n * p) < 4 * math.sqrt(n * p * (1 - p))


class Independent:
    """A posterior given by hand, for the closed forms."""

    def __init__(self, mean, std, correlation=0.0):
        self.mean, self.std, self.rho = np.array(mean), np.array(std), correlation

    def marginal(self, points):
        return self.mean[points], self.std[points]

    def covariance(self, points, point):
        same = points == point
        return np.where(same, 1.0, self.rho) * self.std[points] * self.std[point]


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_probability_best_is_what_sampling_says(rho):
    view = Independent([0.4, 0.1], [0.5, 0.3], rho)
    rng = np.random.default_rng(0)
    cov = np.array([[0.25, rho * 0.15], [rho * 0.15, 0.09]])
    f = rng.multivariate_normal([0.4, 0.1], cov, size=200_000)
    got = probability_best(view, 0, np.array([1]), joint=True)[0]
    assert got == pytest.approx((f[:, 0] > f[:, 1]).mean(), abs=0.005)
    if rho == 0:
        assert got == pytest.approx(probability_best(view, 0, np.array([1]), joint=False)[0])


def test_two_certain_values_are_compared_without_a_division_by_zero():
    view = Independent([1.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0])
    got = probability_best(view, 0, np.array([1, 2, 3]), joint=False)
    assert got.tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize("beta", [0.3, 1.0, 4.0])
def test_no_overlap_is_confidence_at_phi_of_sqrt_two_beta_where_stds_are_equal(beta):
    # P >= Phi(sqrt(2 beta)) <=> (mu_t - mu) / (sqrt(2) s) >= sqrt(2 beta) <=> lcb_t >= ucb
    kappa = norm.cdf(math.sqrt(2 * beta))
    for gap in np.linspace(0, 3, 300):  # no multiple of s sqrt(beta): no ties
        s = 0.37
        p = probability_best(Independent([gap, 0.0], [s, s]), 0, np.array([1]), joint=False)[0]
        overlap = gap - math.sqrt(beta) * s < math.sqrt(beta) * s
        assert (p < kappa) == overlap


def test_confidence_near_one_approaches_always_and_queries_fall_with_kappa():
    w = world(3, 0.03, m=200, T=200)
    costs = [play(tuner_on(w, midrun.Confidence(k)), w).cost for k in (0.6, 0.8, 0.95, 1 - 1e-12)]
    assert costs == sorted(costs)
    assert costs[0] < 80
    assert costs[-1] >= 195


def test_no_overlap_is_stricter_than_confidence_at_99_percent():
    # the paper's appendix: "more strict than kappa = 0.99"
    worlds = [world(s, 0.03, m=200, T=200) for s in range(3)]
    strict = [play(tuner_on(w, midrun.NoOverlap()), w).cost for w in worlds]
    sure = [play(tuner_on(w, midrun.Confidence(0.99)), w).cost for w in worlds]
    assert sum(strict) > sum(sure)


def test_no_overlap_needs_a_confidence_bound():
    w = world(0, 0.03, m=20, T=2)
    with pytest.raises(ValueError, match=r"NoOverlap.*UCB"):
        tuner_on(w, midrun.NoOverlap(), choice=midrun.EI()).ask()


@dataclass(frozen=True)
class WithoutGuard:
    """Algorithm 1, line 4, with only the local optima as rivals, as the paper describes it."""

    kappa: float

    def decide(self, situation):
        x_t = situation.optima.point
        rivals = without(situation.optima.modes, x_t)
        if situation.t == 1 or not len(rivals):
            return Verdict(situation.t == 1, "unguarded")
        p = probability_best(situation.posterior, x_t, rivals, joint=False)
        return Verdict(bool(p.min() < self.kappa), "unguarded", float(p.min()), self.kappa)


STUCK = (0, 1, 2, 3, 4, 5)


def longest_silence(queries):
    return max(len(run) for run in "".join("q" if q else "." for q in queries).split("q"))


def test_the_guard_opens_the_trap_of_a_single_mode():
    silences = {"with": [], "without": []}
    for seed in STUCK:
        w = world(seed, 0.03, m=200, T=500)
        for name, rule in (("with", midrun.Confidence(0.9)), ("without", WithoutGuard(0.9))):
            silences[name].append(longest_silence(play(tuner_on(w, rule), w).queries))
    assert max(silences["without"]) > 300  # the trap is real: without the guard runs are stuck
    assert max(silences["with"]) < 60  # less than 2 / epsilon


def test_the_guard_changes_no_decision_where_there_are_rivals():

    @dataclass(frozen=True)
    class Both:
        seen: list

        def decide(self, situation):
            guarded = midrun.Confidence(0.9).decide(situation)
            modes = len(without(situation.optima.modes, situation.optima.point))
            self.seen.append((modes, guarded.query, WithoutGuard(0.9).decide(situation).query))
            return guarded

    both = Both([])
    for seed in STUCK[:3]:
        w = world(seed, 0.03, m=200, T=300)
        play(tuner_on(w, both), w)
    with_rivals = [(g, u) for modes, g, u in both.seen if modes]
    assert len(with_rivals) > 100
    assert all(guarded == unguarded for guarded, unguarded in with_rivals)
    alone = [(g, u) for modes, g, u in both.seen if not modes]
    assert any(
        guarded and not unguarded for guarded, unguarded in alone
    )  # and there it does something


def test_a_low_kappa_queries_again_once_everything_has_faded():
    tuner = midrun.Tuner(
        candidates=np.linspace(0, 1, 50)[:, None],
        belief=midrun.Belief("se", lengthscale=0.2, forgetting=0.05, noise=0.01),
        query=midrun.Confidence(0.3),
        seed=0,
    )
    asked = []
    for t in range(600):
        decision = tuner.ask()
        asked.append(decision.query)
        if decision.query:
            tuner.tell(decision, reward=float(t % 7))
    assert sum(asked[300:]) >= 1
    assert longest_silence(asked) <= math.log(1e3) / 0.05 + 1
