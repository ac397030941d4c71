# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test lint types bench pictures clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Rewind needs Python 3.11 or later; '$(PYTHON)' is older. Use: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	@touch $@

demo: $(STAMP)  ## the paper's motivating example, on embedded data, with pictures in demo/
	$(BIN)/rewind toy --out demo

test: $(STAMP)  ## all tests but the long ones
	$(BIN)/python -m pytest -m "not long"

lint: $(STAMP)  ## ruff: style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## mypy, strict, on src
	$(BIN)/mypy

bench: $(STAMP)  ## the memory's cost, as ratios in one run
	$(BIN)/rewind bench memory

pictures: $(STAMP)  ## the pictures of the README and the docs
	$(BIN)/rewind toy --out docs/images
	$(BIN)/rewind sweeps --out docs/images
	$(BIN)/rewind mazes --out docs/images

clean:  ## forget everything that was built
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
