# Two commands matter: `make demo` and `make test`. Each makes .venv on a fresh machine; a second
# call finds it ready, and a change of pyproject.toml or constraints.txt refreshes it.

PYTHON ?= python3
MATRIX ?= 3.10 3.12 3.13

BIN   := .venv/bin
READY := .venv/.ready
PIP_INSTALL := install -qq --disable-pip-version-check -c constraints.txt

# The tests that need no PyTorch, for `make matrix`.
CORE_TESTS := tests src -m "not torch" \
	--ignore=src/midrun/integrations --ignore=tests/integrations \
	--ignore=src/midrun/studies/stn --ignore=tests/studies/stn \
	--ignore=src/midrun/studies/simclr --ignore=tests/studies/simclr

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench matrix clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY)  ## tune something small, with a live view
	$(BIN)/midrun demo

test: lint  ## lint, then every test, doctest and README snippet
	$(BIN)/pytest

lint: $(READY)  ## ruff, mypy strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: .venv/.bench  ## peers side by side: seconds per decision, regret
	$(BIN)/python -m benchmarks

matrix: $(MATRIX:%=matrix-%)  ## the torch-free tests under the other Pythons found here

clean:  ## remove environments, caches and builds
	rm -rf .venv .matrix build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(READY): pyproject.toml constraints.txt
	@echo "== making .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip $(PIP_INSTALL) -e '.[dev]'
	@touch $@

.venv/.bench: $(READY)
	@echo "== adding the peers to .venv"
	@$(BIN)/pip $(PIP_INSTALL) -e '.[dev,bench]'
	@touch $@

# A pyenv shim may be on PATH for a version that is not switched on, so each candidate is run.
matrix-%:
	@for python in python$* "$$(pyenv root 2>/dev/null)"/versions/$*.*/bin/python; do \
		"$$python" -c '' 2>/dev/null || continue; \
		$(MAKE) --no-print-directory .matrix/$*/.ready MATRIX_PYTHON="$$python" && \
		echo "== Python $*" && \
		exec .matrix/$*/bin/python -m pytest -q $(CORE_TESTS); \
		exit 1; \
	done; \
	echo "== Python $*: not found here, left out"

.matrix/%/.ready: pyproject.toml constraints.txt
	@echo "== making .matrix/$*"
	@test -x .matrix/$*/bin/python || "$(MATRIX_PYTHON)" -m venv .matrix/$*
	@.matrix/$*/bin/pip $(PIP_INSTALL) -e '.[test]'
	@touch $@
