# Two commands on a fresh machine: `make demo` and `make test`. Everything happens in .venv, with the versions
# of constraints.txt, also of what builds the package (hatchling, editables), so that next year's install is
# the one that was tested.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SEED ?= 0
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
CORES := $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count())")

.PHONY: help demo test torch-test lint format bench fuzz docs constraints clean
help:  ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## / - /'

# What a user needs who goes on with the commands of README.md: extra `all` has tune, analyze, serve, --engine ray,
# exports and drift detectors. The demo itself would need no extra.
$(BIN)/.plain: pyproject.toml studies/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) pip hatchling editables
	$(PIP) --no-build-isolation --editable '.[all]' --editable ./studies
	@touch $@

# And what tests, checks and benchmarks need.
$(BIN)/.ready: $(BIN)/.plain
	$(PIP) --no-build-isolation --editable '.[dev]' --editable ./studies
	@touch $@

demo: $(BIN)/.plain  ## train on embedded data and compare methods; ends with a table and a report
	$(BIN)/unalike run examples/digits.toml --out runs/demo --overwrite
	$(BIN)/unalike compare examples/digits.toml --algorithms fedavg,fedprox,scaffold,fedavg+,local --seeds 3 --rounds 20 --out runs/demo-comparison --overwrite

test: $(BIN)/.ready  ## run all tests
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal
	UNALIKE_EXACT=1 $(BIN)/python -m pytest -n $(CORES) --dist worksteal

# Not among `dev`: elsewhere than on a machine for CPUs, PyTorch takes gigabytes. `TORCH=...` names another build.
TORCH ?= torch==2.13.0
$(BIN)/.torch: $(BIN)/.ready
	$(PIP) '$(TORCH)'
	@touch $@

torch-test: $(BIN)/.torch  ## install PyTorch and run the tests that need it
	$(BIN)/python -m pytest tests/torch tests/models/test_pytorch_state_dict.py

lint: $(BIN)/.ready  ## check style and types
	$(BIN)/ruff check src tests studies benchmarks examples tools
	$(BIN)/ruff format --check src tests studies benchmarks examples tools
	$(BIN)/mypy

format: $(BIN)/.ready  ## bring the code into shape
	$(BIN)/ruff check --fix src tests studies benchmarks examples tools
	$(BIN)/ruff format src tests studies benchmarks examples tools

bench: $(BIN)/.ready  ## speed and memory, ours and peers', side by side (installs the peers; takes long)
	$(BIN)/python benchmarks/peers.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/timing.py
	$(BIN)/python benchmarks/personalization.py
	$(BIN)/python benchmarks/network.py
	$(BIN)/python benchmarks/streams.py
	$(BIN)/python benchmarks/trust.py
	$(BIN)/python benchmarks/engines.py

fuzz: $(BIN)/.ready  ## try hostile files, command lines, formulas and requests (minutes); SEED=7 draws others
	@failed=0; for one in experiments:60 commands:40 data:120 folders:60 nodes:120 formulas:80; do \
	  $(BIN)/python tools/fuzz/fuzz_$${one%%:*}.py --seed $(SEED) --count $${one##*:} || failed=1; \
	done; exit $$failed

docs: $(BIN)/.ready  ## check that the examples in README and docs run
	$(BIN)/python -m pytest -q tests/test_docs.py

constraints:  ## write down the versions that are installed in .venv, once the tests have passed with them
	$(BIN)/python tools/constraints.py > constraints.new && mv constraints.new constraints.txt

clean:  ## remove what the other targets made
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache benchmarks/.peers
