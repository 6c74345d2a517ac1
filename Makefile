# `make demo` and `make test` set up all they need on a fresh machine: a virtual environment with pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FRESH := tools/fresh_home.sh
OF ?= unit wide cluster federation browser

.PHONY: help demo test test-all rest static lint types imports docs unit wide cluster federation browser paper coverage picture bench resolve clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'fedradio needs Python 3.11 or newer (set PYTHON=...)'; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo 'installing fedradio (a few minutes on a fresh machine) ...'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo 'installing the development tools ...'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(VENV)/.installed  ## run a federated experiment on embedded data
	$(BIN)/fedradio run rawhfl_cache
	@echo; echo "RawHFL's devices (cellular) have no floors, so these joules are far below those of hardware. One edge round on both, in which senders wait for its end after 150 s:"
	@$(BIN)/fedradio plan rawhfl_cache --fleet cellular,handset --quiet
	@echo 'fedradio is in $(BIN); in this shell: export PATH="$(CURDIR)/$(BIN):$$PATH"'

test: static unit  ## the quick, complete check: style, types, layering, docs and the default tests

test-all: test rest  ## everything: also wide matrices, statistics, notebooks, cluster, federation and browser

rest: wide cluster federation browser  ## what test-all runs after test

static: $(VENV)/.installed-dev  ## lint, types, imports and docs side by side
	@$(MAKE) --no-print-directory -j 4 lint types imports docs

lint: $(VENV)/.installed-dev  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev  ## static types
	$(BIN)/mypy

imports: $(VENV)/.installed-dev  ## layering
	$(BIN)/lint-imports --no-logo

docs: $(VENV)/.installed-dev  ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

unit: $(VENV)/.installed-dev  ## default tests
	$(FRESH) $(BIN)/pytest -n 2 --ignore=tests/browser --ignore=tests/cluster

wide: $(VENV)/.installed-dev  ## tests that take longer than make test can wait for
	$(FRESH) $(BIN)/pytest -n 2 -m 'wide and not hypothesis' --ignore=tests/browser --ignore=tests/cluster
	$(FRESH) $(BIN)/pytest -n 2 --hypothesis-profile wide -m 'hypothesis and not paper' tests/property tests/unit

cluster: $(VENV)/.installed-dev  ## sweeps and runs on a Ray of this machine, one test after the other
	$(FRESH) $(BIN)/pytest tests/cluster

federation: $(VENV)/.installed-dev  ## real federations on this machine: TLS, keys, deaths, lateness, garbage, interruptions
	$(FRESH) $(BIN)/pytest -m federation tests/federation

browser: $(VENV)/.installed-dev  ## tests of the report page in Chromium; skipped without one
	$(FRESH) $(BIN)/pytest -n 2 --dist loadfile tests/browser

paper: $(VENV)/.installed-dev  ## slow checks against published and expected numbers (fetches MNIST)
	$(BIN)/fedradio data fetch mnist
	$(BIN)/pytest -m paper -n 2

coverage: $(VENV)/.installed-dev  ## line coverage of the tests, of all processes: make coverage OF=unit; takes longer than they do
	rm -rf .coverage && mkdir .coverage
	COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml COVERAGE_FILE=$(CURDIR)/.coverage/lines \
	  $(MAKE) --no-print-directory --keep-going $(OF); tests=$$?; \
	export COVERAGE_FILE=$(CURDIR)/.coverage/lines; \
	$(BIN)/coverage combine --quiet && $(BIN)/coverage report --sort=cover && exit $$tests

picture: $(VENV)/.installed  ## draw the README's first picture again
	$(BIN)/python examples/first_picture.py

bench: $(VENV)/.installed  ## one table of speed, beside plain torch and the machine's peak
	$(BIN)/fedradio data fetch mnist
	$(BIN)/fedradio data fetch cifar10
	$(BIN)/python benchmarks/table.py

resolve: $(VENV)/bin/python  ## do all extras, present and coming, fit together under the pins? (asks the package index)
	$(BIN)/python tools/resolve.py

clean:  ## remove what make made
	rm -rf $(VENV) site .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
