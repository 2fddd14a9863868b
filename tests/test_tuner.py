from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import midrun
from tests import oracle
from tests.worlds import play, world


def test_always_with_log_beta_is_tv_gp_ucb_written_out():
    w = world(0, 0.03, m=80, T=60)
    tuner = midrun.Tuner(
        candidates=w.X, belief=w.belief, choice=midrun.UCB(midrun.LogBeta(0.8, 4)),
        query=midrun.Always(), on_skip="explore", seed=3,
    )  # fmt: skip
    chosen, y = [], []
    for t in range(1, 61):
        mean, cov = oracle.posterior(
            w.X, t, w.X[chosen], np.arange(1.0, t), np.array(y),
            kernel="matern32", lengthscale=np.array([0.2]), epsilon=0.03, noise=0.01,
        )  # fmt: skip
        score = mean + np.sqrt(0.8 * np.log(4 * t) * np.diag(cov).clip(0))
        decision = tuner.ask()
        assert score[decision.index] >= score.max() - 1e-9
        assert decision.reason.score == pytest.approx(score.max())
        assert (decision.reason.mean, decision.reason.std) == pytest.approx(
            (mean[decision.index], np.sqrt(cov[decision.index, decision.index]))
        )
        chosen.append(decision.index)
        y.append(w.F[t - 1, decision.index] + w.noise[t - 1])
        tuner.tell(decision, reward=y[-1])


def test_without_forgetting_it_is_static_gp_ucb():
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    f = np.sin(5 * X).sum(axis=1)
    belief = midrun.Belief("se", lengthscale=0.3, forgetting=0.0, noise=0.01, scale=1.0, mean=0.0)
    tuner = midrun.Tuner(
        candidates=X, belief=belief, choice=midrun.UCB(4.0), query=midrun.Always(), seed=0
    )
    gp = GaussianProcessRegressor(RBF(0.3), alpha=0.01, optimizer=None)
    index, y = [], []
    for _ in range(25):
        decision = tuner.ask()
        if index:
            mean, std = gp.fit(X[index], y).predict(X, return_std=True)
            assert (mean + 2 * std)[decision.index] >= (mean + 2 * std).max() - 1e-7
        index.append(decision.index)
        y.append(f[decision.index])
        tuner.tell(decision, reward=y[-1])


def test_predict_is_equation_1_and_2_at_the_next_round_with_sparse_answers():
    w = world(1, 0.03, m=50, T=80)
    tuner = midrun.ce_gp_ucb(w.X, 0.9, 0.03, belief=w.belief, seed=0)
    play(tuner, w)
    told = [r for r in tuner.history if r.reward is not None]
    assert 10 < len(told) < 80
    for t in (None, 81, 100.5):
        mean, cov = oracle.posterior(
            w.X, t or 81, w.X[[r.index for r in told]], [r.round for r in told],
            np.array([r.reward for r in told]),
            kernel="matern32", lengthscale=np.array([0.2]), epsilon=0.03, noise=0.01,
        )  # fmt: skip
        got = tuner.predict(w.X, round=t)
        np.testing.assert_allclose(got[0], mean, atol=1e-8)
        np.testing.assert_allclose(got[1], np.sqrt(np.diag(cov)), atol=1e-8)
    assert tuner.best() == {"x0": w.X[int(np.argmax(mean)), 0]}


def test_minimize_is_maximize_with_the_sign_turned():
    w = world(2, 0.03, m=50, T=60)
    options = {"candidates": w.X, "belief": w.belief, "query": midrun.Confidence(0.9), "seed": 0}
    up, down = midrun.Tuner(**options), midrun.Tuner(**options, direction="minimize")
    for t in range(60):
        a, b = up.ask(), down.ask()
        assert (a.index, a.query) == (b.index, b.query)
        assert a.reason.mean == -b.reason.mean
        if a.query:
            value = w.F[t, a.index] + w.noise[t]
            up.tell(a, reward=value)
            down.tell(b, metric=-value)
    assert up.best() == down.best()
    np.testing.assert_array_equal(up.predict()[0], -down.predict()[0])


def test_on_skip_exploit_plays_the_argmax_of_the_mean_and_explore_the_acquisitions():
    w = world(3, 0.03, m=100, T=150)
    for on_skip in ("exploit", "explore"):
        tuner = midrun.Tuner(candidates=w.X, belief=w.belief, query=midrun.Bernoulli(0.3),
                             on_skip=on_skip, seed=0)  # fmt: skip
        for t in range(150):
            mean, std = tuner.predict(round=t + 1)
            decision = tuner.ask()
            ucb = mean + np.sqrt(0.8 * np.log(4 * (t + 1))) * std
            best = mean if on_skip == "exploit" and not decision.query else ucb
            assert best[decision.index] == best.max()
            if decision.query:
                tuner.tell(decision, reward=w.F[t, decision.index])


def test_a_run_explained_by_its_history():
    w = world(4, 0.03, m=50, T=30)
    tuner = midrun.Tuner(candidates=w.X, belief=w.belief, seed=0)
    asked = []
    for t in range(30):
        asked.append(tuner.ask())
        if asked[-1].query:
            tuner.tell(asked[-1], reward=w.F[t, asked[-1].index], seconds=0.5)
    assert [r.round for r in tuner.history] == list(range(1, 31))
    for decision, record in zip(asked, tuner.history, strict=True):
        assert (decision.params, decision.query, decision.reason, decision.index) == (
            record.params, record.query, record.reason, record.index
        )  # fmt: skip
        assert (record.reward is None) == (not decision.query)
        assert record.seconds == (0.5 if decision.query else None)
    assert tuner.history[-1] == list(tuner.history)[-1] == tuner.history[29:][0]


def test_a_schedule_is_replayed():
    w = world(5, 0.03, m=50, T=30)
    tuner = midrun.Tuner(candidates=w.X, belief=w.belief, seed=0)
    play(tuner, w)
    schedule = tuner.history.schedule()
    again = midrun.Replay(schedule)
    for record in tuner.history:
        decision = again.ask()
        assert (decision.round, decision.params) == (record.round, record.params)
        assert not decision.query
    assert again.ask().params == schedule[-1]["params"]
    again.tell(decision, metric=0.5)
    assert again.told == [(30, 0.5)]


def test_values_are_plain_python_and_the_users_data_is_left_alone():
    mine = [{"lr": np.float32(0.5), "n": np.int64(3), "on": np.bool_(True), "opt": "sgd"},
            {"lr": np.float64(0.1), "n": 4, "on": False, "opt": "adam"}]  # fmt: skip
    tuner = midrun.Tuner(candidates=mine, seed=0)
    for _ in range(5):
        params = tuner.ask().params
        assert {k: type(v) for k, v in params.items()} == {
            "lr": float,
            "n": int,
            "on": bool,
            "opt": str,
        }
        params["lr"] = 99.0  # the caller's copy
    assert all(r.params["lr"] in (0.5, 0.1) for r in tuner.history)
    array = np.array([[0.0], [1.0]])
    other = midrun.Tuner(candidates=array, seed=0)
    array[:] = 7
    assert type(other.ask().params["x0"]) is float
    assert other.ask().params["x0"] in (0.0, 1.0)


def test_real_time_rounds_and_long_gaps():
    tuner = midrun.Tuner(candidates=[{"x": 0.0}, {"x": 1.0}], query=midrun.Always(), seed=0)
    for t in (-3.5, 0.25, 0.5, 1e6, 1e12):
        decision = tuner.ask(round=t)
        assert decision.round == t
        tuner.tell(decision, reward=1.0)
    assert tuner.ask().round == 10**12 + 1
    assert np.isfinite(tuner.predict()).all()


def test_a_metric_that_is_a_tensor_like_scalar_is_taken():
    tuner = midrun.Tuner(candidates=[{"x": 0.0}, {"x": 1.0}], seed=0)
    tuner.tell(tuner.ask(), metric=np.array(0.25))
    assert tuner.history[0].reward == 0.25


def test_an_untold_query_leaves_the_belief_as_it_was():
    tuner = midrun.Tuner(candidates=np.linspace(0, 1, 9)[:, None], query=midrun.Always(), seed=0)
    before = tuner.predict(round=50)
    for _ in range(10):
        tuner.ask()
    for a, b in zip(before, tuner.predict(round=50), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_round_told_unasked_is_an_answer_like_any_other():
    tuner = midrun.Tuner(candidates=np.linspace(0, 1, 9)[:, None], query=midrun.Every(5), seed=0)
    tuner.ask()
    skipped = tuner.ask()
    assert not skipped.query
    tuner.tell(skipped, reward=2.0)
    mean, std = tuner.predict([skipped.params])
    assert mean[0] > 1.5
    assert std[0] < 0.5


def test_bandit_arms_are_told_apart():
    rng = np.random.default_rng(0)
    tuner = midrun.Tuner(
        candidates=[{"arm": a} for a in "abc"],
        belief=midrun.Belief("independent", forgetting=0.001, noise=0.01),
        seed=0,
    )
    for _ in range(300):
        decision = tuner.ask()
        if decision.query:
            tuner.tell(
                decision,
                reward={"a": 0.1, "b": 0.9, "c": 0.5}[decision.params["arm"]] + 0.1 * rng.normal(),
            )
    assert tuner.best() == {"arm": "b"}
    assert sum(r.query for r in tuner.history) < 150
