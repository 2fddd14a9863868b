"""The command line. It needs the extra ``midrun[cli]``; without it, ``main`` says so."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import midrun
from midrun.checks import number

if TYPE_CHECKING:
    import typer

MISSING = "the command line needs two more packages: pip install 'midrun[cli]'"


def main() -> None:
    """Entry point of the command ``midrun``."""
    try:
        app = application()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        print(MISSING, file=sys.stderr)
        sys.exit(1)
    app(prog_name="midrun")


def application() -> typer.Typer:
    """The commands, built on demand: this module imports without typer and rich."""
    import typer
    from rich.console import Console

    from midrun import demo as demonstration

    app = typer.Typer(
        help="Hyperparameters tuned mid-run; a validation pass is paid for only when it can "
        "change the next decision.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_show_locals=False,
    )

    def checked(name: str, meaning: str, **bounds: float) -> Callable[[float], float]:
        """A callback that turns the library's own message into the command line's."""

        def check(value: float) -> float:
            try:
                return number(name, value, meaning, **bounds)
            except ValueError as error:
                raise typer.BadParameter(str(error)) from error

        return check

    def show_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"midrun {midrun.__version__}")
            raise typer.Exit

    @app.callback()
    def common(
        version: bool = typer.Option(
            False, "--version", callback=show_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        pass

    @app.command()
    def demo(
        seed: int = typer.Option(0, min=0, help="Seed of the drifting functions."),
        rounds: int = typer.Option(200, min=1, help="Rounds in each of them."),
        epsilon: float = typer.Option(
            0.02,
            callback=checked("epsilon", "the share forgotten per round", low=0.0, below=1.0),
            help="Share forgotten per round, in [0, 1): how fast they drift.",
        ),
        speed: float = typer.Option(
            20.0,
            callback=checked("speed", "rounds per second, 0 for as fast as possible", low=0.0),
            help="Rounds per second of the live view; 0 is as fast as possible.",
        ),
        worlds: int = typer.Option(20, min=2, help="Functions in the closing comparison."),
    ) -> None:
        """Watch a drifting function being tuned, then see what three query rules paid and lost."""
        demonstration.run(
            Console(), seed=seed, rounds=rounds, epsilon=epsilon, speed=speed, worlds=worlds
        )

    return app
