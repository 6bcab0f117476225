PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage sklearn-tests gallery lint types format lock bench clean

help:  ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: $(READY)  ## create .venv with the library and the tools

# uv unpacks the pinned versions several times faster than pip, and is all that the environment needs: to unpack a pip
# of its own would take longer than all packages. It is unpacked where Python comes without pip.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) $(PIP) --python $(BIN)/python install -c constraints.txt uv || \
	{ $(BIN)/python -m ensurepip && $(BIN)/python $(PIP) install -c constraints.txt uv; }
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'
	touch $@

demo: setup  ## run the demonstration
	$(BIN)/representer demo

# A file's tests stay in one process, and those of loops come first, so that few of them are compiled twice.
# Two processes share the cores, so that BLAS has one thread in each: more of them would wait for each other.
# Bytecode is kept: processes that compile all packages anew take 10 seconds each. Plugins that no test needs take a
# millisecond of each of them.
PYTEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder -p no:logging
test: setup  ## run all tests
	$(PYTEST) -p no:cov

# Coverage slows tests down, and cannot see into compiled loops, so their tests run as plain Python.
COVERAGE := --cov --cov-append --cov-report= --cov-fail-under=0
coverage: setup  ## run all tests and report which lines they reach
	rm -f .coverage
	$(PYTEST) $(COVERAGE) --ignore=tests/_loops
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(COVERAGE) --hypothesis-profile=quick tests/_loops
	$(BIN)/coverage report

sklearn-tests: setup  ## run scikit-learn's own tests against representer.drop_in
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/sklearn_tests/run.py -n 2
	$(PYTEST) -p no:cov -W default --disable-warnings tools/sklearn_tests/estimator_checks.py

gallery: setup  ## run scikit-learn's gallery scripts on kernels with representer.drop_in
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/sklearn_tests/gallery.py

lint: setup  ## check style and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup  ## check the types
	$(BIN)/mypy

format: setup  ## rewrite the files in the house format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock:  ## refresh constraints.txt (use the oldest supported Python)
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python $(PIP) install -e '.[dev]'
	{ grep '^#' constraints.txt; build/lock/bin/python $(PIP) freeze --exclude-editable; } > build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -rf build/lock

bench: setup  ## measure speed against other libraries
	for run in benchmarks/*/run.py; do echo "== $$run"; $(BIN)/python $$run || exit 1; done

clean:  ## remove everything that was made here
	rm -rf $(VENV) build dist .coverage* .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
