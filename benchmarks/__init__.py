"""Seconds per round, peers side by side: ``python -m benchmarks --help``.

Every public module here is a benchmark: a docstring that says what is compared and what was asked,
and ``run(quick) -> dict``. Figures are ratios within one run; nothing here fails on a slow machine.
"""
