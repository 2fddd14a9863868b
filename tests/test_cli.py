"""The command line and its demo: what is printed is what was measured."""

import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import midrun
from midrun import demo
from midrun.cli import MISSING, application, main

PLAIN = {"TERM": "dumb", "COLUMNS": "100"}  # no colours, whatever the machine asks for


def call(*arguments: str):
    return CliRunner(env=PLAIN).invoke(application(), arguments, prog_name="midrun")


def words(text: str) -> str:
    """Text without boxes and line breaks."""
    return " ".join(re.sub(r"[─-╿]", " ", text).split())


def terminal(file=None, **options) -> Console:
    options = {"force_terminal": True, "width": 80, "height": 40, "_environ": {}, **options}
    return Console(file=io.StringIO() if file is None else file, **options)


# ---------------------------------------------------------------------------------- the commands


def test_version_is_printed():
    result = call("--version")
    assert (result.exit_code, result.output) == (0, f"midrun {midrun.__version__}\n")


def test_help_lists_the_options_of_the_demo():
    result = call("demo", "--help")
    assert result.exit_code == 0
    for option in ("--seed", "--rounds", "--epsilon", "--speed", "--worlds"):
        assert option in result.output


def test_without_a_command_the_help_is_shown():
    assert "demo" in call().output


def test_the_demo_prints_every_tenth_round_to_a_pipe():
    result = call("demo", "--rounds", "20", "--worlds", "2", "--seed", "3", "--speed", "0")
    assert result.exit_code == 0, result.output
    lines = [line for line in result.output.splitlines() if line.startswith("round ")]
    assert [int(line.split()[1]) for line in lines] == [1, 10, 20]
    assert "query: nothing is known yet" in lines[0]
    assert lines[0].endswith("1 of 1 rounds paid for]")
    assert "\x1b" not in result.output


def test_the_printed_table_is_what_compare_measures():
    result = call("demo", "--rounds", "15", "--worlds", "3", "--epsilon", "0.1", "--seed", "5")
    for score in demo.compare(0.1, rounds=15, worlds=3, seed=5):
        (row,) = (line for line in result.output.splitlines() if score.rule in line)
        error = score.average.std(ddof=1) / np.sqrt(3)
        assert f"{score.average.mean():.3f} ± {error:.3f}" in row
        assert row.split()[-3:] == [f"{score.queries:.0f}", f"{100 * score.saved:.0f}", "%"]


@pytest.mark.parametrize("value", ["1", "1.5", "-0.1", "nan"])
def test_a_bad_epsilon_is_named_with_its_bounds_and_the_value_got(value):
    result = call("demo", "--epsilon", value)
    assert result.exit_code == 2
    said = words(result.output)
    assert f"`epsilon` must lie in [0, 1), but got {float(value)}" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--epsilon", "fast"),
        ("--speed", "-1"),
        ("--rounds", "0"),
        ("--rounds", "2.5"),
        ("--worlds", "1"),
        ("--seed", "-1"),
    ],
)
def test_a_bad_value_is_refused_under_the_name_of_its_option(option, value):
    result = call("demo", option, value)
    assert result.exit_code == 2
    assert f"Invalid value for '{option}'" in words(result.output)


def test_tracebacks_do_not_show_local_variables():
    assert application().pretty_exceptions_show_locals is False


# ----------------------------------------------------------------------------- the missing extra


def main_without(package: str) -> subprocess.CompletedProcess[str]:
    """Run ``midrun --version`` in a process where a package cannot be found."""
    code = f"""
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name == {package!r} or name.startswith({package + "."!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
sys.argv = ["midrun", "--version"]
from midrun.cli import main
main()
"""
    env = {**os.environ, **PLAIN, "PYTHONPATH": str(Path(midrun.__file__).parents[1])}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_typer_or_rich_the_command_says_what_to_install(package):
    done = main_without(package)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", MISSING + "\n")
    assert "pip install 'midrun[cli]'" in MISSING


def test_another_missing_module_is_not_blamed_on_the_extra(monkeypatch):
    def broken():
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr("midrun.cli.application", broken)
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        main()


# -------------------------------------------------------------------------------------- the data


def test_play_is_deterministic_for_a_seed():
    def once(seed):
        world = demo.draw_world(0.05, rounds=40, seed=seed)
        return [
            (s.decision.params, s.decision.query, s.regret) for s in demo.play(world, tuner(world))
        ]

    def tuner(world):
        return demo.rules(world, seed=0)[demo.OURS]

    assert once(7) == once(7)
    assert once(7) != once(8)


def test_regret_is_the_distance_of_the_choice_from_the_best_of_its_round():
    world = demo.draw_world(0.05, rounds=30, seed=1)
    for tuner in demo.rules(world, seed=0).values():
        steps = list(demo.play(world, tuner))
        columns = [world.x.tolist().index(step.decision.params["x0"]) for step in steps]
        lost = world.truth.max(axis=1) - world.truth[np.arange(30), columns]
        np.testing.assert_array_equal([step.regret for step in steps], lost)
        assert [record.reward is not None for record in tuner.history] == [
            step.decision.query for step in steps
        ]


def test_a_step_carries_the_belief_its_decision_was_made_on():
    world = demo.draw_world(0.05, rounds=3, seed=1)
    first, second, _ = demo.play(world, demo.rules(world, seed=0)[demo.FULL])
    np.testing.assert_array_equal(first.mean, 0.0)
    np.testing.assert_array_equal(first.std, 1.0)
    assert second.decision.reason.mean == second.mean[second.decision.index]
    assert second.decision.reason.std == second.std[second.decision.index]


def test_a_world_has_the_covariance_it_claims():
    # 4,000 nearly independent rounds: a correlation is known to 1/sqrt(4000) = 0.016; four of them.
    truth = demo.draw_world(0.99, rounds=4000, seed=2).truth
    assert np.mean(truth**2, axis=0)[[0, 100, 199]] == pytest.approx(1.0, abs=4 * 0.0224)
    apart = 0.2 * 199  # points in a lengthscale
    r = round(apart) / apart
    matern32 = (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
    space = np.mean(truth[:, 50] * truth[:, 50 + round(apart)])
    assert space == pytest.approx(matern32, abs=4 * 0.018)
    assert np.mean(truth[1:, 50] * truth[:-1, 50]) == pytest.approx(np.sqrt(0.01), abs=4 * 0.016)


def test_a_world_without_forgetting_does_not_move():
    truth = demo.draw_world(0.0, rounds=5, seed=0).truth
    np.testing.assert_array_equal(truth, np.broadcast_to(truth[0], truth.shape))


def test_compare_plays_every_rule_on_the_same_fresh_worlds():
    done = []
    scores = demo.compare(0.02, rounds=10, worlds=2, seed=4, advance=lambda: done.append(1))
    assert len(done) == 6
    assert [score.rule for score in scores] == [demo.FULL, demo.PAPER, demo.OURS]
    for i in (1, 2):
        world = demo.draw_world(0.02, rounds=10, seed=(4, i))
        for score in scores:
            steps = list(demo.play(world, demo.rules(world, seed=4)[score.rule]))
            assert score.regret[i - 1].tolist() == [step.regret for step in steps]
            assert score.paid[i - 1].tolist() == [step.decision.query for step in steps]
    full = scores[0]
    assert (full.queries, full.saved) == (10.0, 0.0), "every query counts, the first included"


def test_the_note_on_equal_queries_is_made_only_when_they_are_equal():
    regret = np.zeros((2, 3))
    paid = np.array([[True, False, True], [True, True, False]])
    score = [demo.Score(name, regret, paid) for name in (demo.FULL, demo.PAPER, demo.OURS)]
    assert "paid for the same rounds" in demo.notes(score)
    other = demo.Score(demo.OURS, regret, paid[:, ::-1])  # as many, but not the same
    assert "paid for the same rounds" not in demo.notes([*score[:2], other])


# ----------------------------------------------------------------------------------- the drawing


def test_bars_clip_what_leaves_the_range():
    assert demo.bars(np.array([-9.0, 9.0]), 0.0, 1.0, height=1) == [" █"]


@pytest.mark.parametrize("width", [30, 80, 200])
def test_the_live_view_shows_round_choice_reason_and_cost(width):
    world = demo.draw_world(0.02, rounds=6, seed=0)
    steps = list(demo.play(world, demo.rules(world, seed=0)[demo.OURS]))
    console = terminal(width=width)
    console.print(demo.frame(world, steps, width))
    drawn = console.file.getvalue()
    assert max(map(len, re.sub(r"\x1b\[[\d;]*m", "", drawn).splitlines())) <= width
    said = words(re.sub(r"\x1b\[[\d;]*m", "", drawn))
    assert "round 6 of 6" in said
    assert f"plays {steps[-1].decision.params['x0']:.3f}" in said
    assert steps[-1].decision.reason.words in said
    assert f"{sum(step.decision.query for step in steps)} of 6 rounds paid for" in said


def test_on_a_terminal_the_view_is_redrawn_in_place():
    console = terminal()
    demo.run(console, rounds=4, worlds=2, speed=0)
    drawn = console.file.getvalue()
    assert "\x1b[1A" in drawn  # the cursor goes up
    for t in range(1, 5):
        assert f"round   {t} of 4" in drawn
    assert "2 fresh worlds of 4 rounds" in drawn


def test_a_terminal_that_knows_only_ascii_gets_plain_lines():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    demo.run(terminal(file), rounds=4, worlds=2, speed=0)
    file.flush()
    assert " +- " in file.buffer.getvalue().decode("ascii")


def test_speed_is_rounds_per_second():
    world = demo.draw_world(0.02, rounds=6, seed=0)
    start = time.monotonic()
    demo.show(terminal(), world, demo.rules(world, seed=0)[demo.OURS], speed=20.0)
    assert time.monotonic() - start >= 6 / 20
