"""Runs the benchmarks it finds, prints their tables and writes one JSON each."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks._measure import found, measure_apart
from benchmarks._table import render, verdicts


def main() -> None:
    benchmarks_found = found()
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Seconds per round, peers side by side, as ratios within one run.",
        epilog="\n".join(
            f"{name}:\n  " + " ".join(text.split()) for name, text in benchmarks_found.items()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=list(benchmarks_found),
        help=f"run this one (may be repeated): {', '.join(benchmarks_found)}; all by default",
    )
    parser.add_argument(
        "--quick", action="store_true", help="seconds instead of minutes: a smoke test, no figures"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("runs/benchmarks"),
        help="where NAME.json goes (default: %(default)s)",
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    names = arguments.only or list(benchmarks_found)
    for i, name in enumerate(names, 1):
        print(f"== {i}/{len(names)} {name}{' (quick)' if arguments.quick else ''}", flush=True)
        measured = measure_apart(name, arguments.quick)
        for table in measured["result"]["tables"]:
            print("\n" + render(table))
        print("\n" + verdicts(measured["result"]["asked"]))
        machine = measured["machine"]
        others = machine.get("cpus_busy_with_other_work", "not known how many")
        print(
            f"{measured['seconds']} s on {machine['cpus']} CPUs, {others} of them busy with other "
            f"work; threads: {machine['threads']}\n",
            flush=True,
        )
        path = arguments.out / f"{name}.json"
        path.write_text(json.dumps(measured, indent=1, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
