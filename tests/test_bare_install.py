"""A bare install is numpy, scipy and ConfigSpace, and it tunes: proven in a venv of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

# One worker builds the environment and runs all of these.
pytestmark = [pytest.mark.xdist_group("bare install"), pytest.mark.slow]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run apart from this process's environment: no inherited path, no active venv."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    words = [str(part) for part in command]
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)


class Environment:
    """A fresh venv below `home` with midrun and no extra."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.bin = home / "venv" / ("Scripts" if sys.platform == "win32" else "bin")

        # A copy, so that the build leaves nothing in the tree.
        source = home / "source"
        source.mkdir()
        for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE"):
            shutil.copy(REPOSITORY / name, source)
        shutil.copytree(
            REPOSITORY / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__")
        )

        self.succeed(sys.executable, "-m", "venv", home / "venv")
        self.succeed(
            *(self.bin / "python", "-m", "pip", "install", "--quiet"),
            *("--disable-pip-version-check", "-c", source / "constraints.txt", source),
        )

    def succeed(self, *command: str | Path) -> str:
        done = run(*command, cwd=self.home)
        assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def python(self, code: str) -> str:
        """Standard output of `code`, run in isolated mode with warnings as errors."""
        return self.succeed(self.bin / "python", "-I", "-W", "error", "-c", code)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("bare"))


def test_a_bare_install_brings_numpy_scipy_configspace_and_nothing_else(bare):
    listed = json.loads(
        bare.succeed(
            *(bare.bin / "python", "-m", "pip", "list"),
            *("--format", "json", "--disable-pip-version-check"),
        )
    )
    names = {re.sub(r"[-_.]+", "-", package["name"]).lower() for package in listed}
    assert names - {"pip", "setuptools"} == {
        "midrun",
        "numpy",
        "scipy",
        "configspace",
        *("more-itertools", "pyparsing", "typing-extensions"),  # what ConfigSpace requires
    }


def test_the_installed_package_says_that_it_is_typed(bare):
    file = Path(bare.python("import midrun; print(midrun.__file__)").strip())
    assert bare.home in file.parents
    assert (file.parent / "py.typed").is_file()


def test_importing_midrun_loads_nothing_heavy(bare):
    loaded = json.loads(
        bare.python("import json, sys, midrun; print(json.dumps(sorted(sys.modules)))")
    )
    heavy = {
        "ConfigSpace",
        "matplotlib",
        "rich",
        "scipy.stats",
        "sklearn",
        "torch",
        "typer",
    }
    assert heavy.isdisjoint(loaded)


def test_a_bare_install_asks_and_is_told(bare):
    # A tuner over a space={...} joins this test together with the continuous belief.
    played = json.loads(
        bare.python(
            "import json, midrun\n"
            "tuner = midrun.Tuner(candidates=[{'x': 0.0}, {'x': 1.0}], seed=0)\n"
            "first = tuner.ask()\n"
            "tuner.tell(first, reward=0.5)\n"
            "second = tuner.ask()\n"
            "print(json.dumps([[d.round, d.params, d.query] for d in (first, second)]))\n"
        )
    )
    (round_1, params_1, query_1), (round_2, params_2, _) = played
    assert (round_1, round_2) == (1, 2)
    assert query_1, "the first round is always worth a query"
    assert all(params in ({"x": 0.0}, {"x": 1.0}) for params in (params_1, params_2))


def test_the_command_without_its_extra_says_what_to_install(bare):
    done = run(bare.bin / "midrun", "--help", cwd=bare.home)
    assert done.returncode != 0
    assert "pip install 'midrun[cli]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
