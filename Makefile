# Everything happens in a local .venv; nothing outside this folder is touched.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEMO_STAMP := .venv/.installed-for-demo
# Only what is imported gets compiled to bytecode, and nothing is cached: that halves the time and spares the disk.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-cache-dir --no-compile -c constraints.txt
# Where Matplotlib keeps its list of fonts, which would otherwise be in the home folder.
export MPLCONFIGDIR := $(CURDIR)/.venv/matplotlib
# Without files of bytecode, which go into .venv and __pycache__ here, every process would compile about a thousand modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test check format bench reference docs tutorials site release clean

setup: $(STAMP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "STAX needs Python 3.11 or newer; set PYTHON=python3.11 or the like." >&2; exit 2; }
	$(PYTHON) -m venv .venv

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing STAX with all extras and the tools for development into .venv: about 2.5 GB with a CPU build of PyTorch."
	$(INSTALL) -e '.[dev]'
	@touch $@ $(DEMO_STAMP)

# The demo needs the core and what draws its picture.
$(DEMO_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing STAX and what draws its picture into .venv: about 1.4 GB with a CPU build of PyTorch."
	$(INSTALL) -e '.[plots]'
	@touch $@

# One search on HardMaze, of about two minutes on two cores: the summary is printed, the picture is demo/.../archives.png.
DEMO_BUDGET ?= 45000
demo: $(DEMO_STAMP)
	$(BIN)/stax run hard-maze --budget $(DEMO_BUDGET) --out demo/hard-maze-$$(date +%Y%m%d-%H%M%S)

# Two groups of tests at a time, the longest first (tests/conftest.py).
test: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist loadscope --no-loadscope-reorder --durations 25

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/stax bench

# The whole set of recorded rollouts: make reference REFERENCE=path/to/reference
reference: setup
	$(BIN)/python benchmarks/compare_reference.py --reference $(REFERENCE)

# The pictures and numbers of docs/tasks.md, the parameter tables, and the line numbers in docs/algorithms/stax.md.
docs: setup
	$(BIN)/python docs/make_tasks_page.py
	$(BIN)/python docs/make_algorithm_pages.py

# The outputs and pictures of the tutorials, from doing all that they say: half an hour.
tutorials: setup
	$(BIN)/python docs/make_tutorials.py

# The documentation as pages: site/index.html. A warning is an error.
site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Wheel and sdist in dist/, checked and tried in an empty environment; nothing is published. make release TRIAL=1 before the changelog has a date.
release:
	PYTHON=$(PYTHON) TRIAL=$(TRIAL) .ci/release

clean:
	rm -rf site .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis demo dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
