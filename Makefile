# What people and CI run. `make help` lists it. GNU make 3.81 or newer, a POSIX shell.
PORT ?= 9092
DATA ?= kafkalite-data
SEEDS ?= 1000
# Options of benchmarks/results.py: `make bench BENCH=--full` for numbers worth keeping.
BENCH ?=
# Processes that run tests side by side; WORKERS=0 for one after the other in pytest's own.
WORKERS ?= $(shell getconf _NPROCESSORS_ONLN)

VENV := .venv
BIN := $(VENV)/bin
ORACLE := compat_tests/oracle
# Each has brokers of its own, some of them JVMs of a gigabyte: so there are never many.
PARALLEL = --numprocesses=$(WORKERS) --maxprocesses=4 --dist=worksteal

.DEFAULT_GOAL := help
.PHONY: help dev serve test check docs compat conformance bench simulate wheel clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# One environment for all. A stamp says what is in it, so the second time nothing runs;
# pyproject.toml is newer than the stamp when something has to be added.
$(VENV)/.serve: pyproject.toml
	@.ci/environment $(VENV) .

$(VENV)/.dev: pyproject.toml
	@.ci/environment $(VENV) '.[dev]'

dev: $(VENV)/.dev ## make .venv, with all that tests and checks need

serve: $(VENV)/.serve ## run the broker on localhost (PORT=9092 DATA=kafkalite-data)
	@exec $(BIN)/kafkalite serve --port $(PORT) --data '$(DATA)'

test: $(VENV)/.dev ## all tests that need no other toolchain
	@$(BIN)/pytest -q $(PARALLEL) tests compat_tests -m 'not (jvm or go or node or rust or kcat)'

check: $(VENV)/.dev ## format, lint, types, import contracts, tidiness
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/pytest -q tests/test_tidy.py

docs: $(VENV)/.dev ## write the pages that are made from code and data: compatibility, configuration
	@$(BIN)/python tools/generate_compatibility.py
	@$(BIN)/python tools/generate_configuration.py

compat: $(VENV)/.dev ## clients in other languages, Kafka's own tools, the real Kafka's jars
	@.ci/compat $(BIN) $(PARALLEL)

conformance: $(VENV)/.dev ## compat_tests, unchanged, against the real Kafka
	@.ci/conformance $(BIN)

bench: $(VENV)/.dev ## kafkalite and the real Kafka side by side; writes benchmarks/RESULTS.md
	@$(ORACLE)/install --no-zookeeper
	@$(BIN)/python benchmarks/results.py $(BENCH)

simulate: $(VENV)/.dev ## the simulations, with SEEDS=1000 different seeds, or with SEED=n alone
	@SIMULATION_SEEDS=$(SEEDS) SIMULATION_SEED=$(SEED) $(BIN)/pytest -q tests/simulation --timeout 0

wheel: $(VENV)/.dev ## build dist/*.whl
	@$(BIN)/pip wheel -q --no-deps --no-build-isolation --wheel-dir dist . && ls dist/*.whl

clean: ## remove all that the commands above made, but no data
	rm -rf compat_tests/go/build compat_tests/node/node_modules compat_tests/rust/target compat_tests/java/*/target
	rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find kafkalite tests compat_tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
