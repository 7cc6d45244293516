# Everything happens in a local .venv; nothing outside this folder is touched.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Where Matplotlib keeps its list of fonts, which would otherwise be in the home folder.
export MPLCONFIGDIR := $(CURDIR)/.venv/matplotlib

.PHONY: setup demo test check format bench reference docs tutorials site clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "STAX needs Python 3.11 or newer; set PYTHON=python3.11 or the like." >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	PIP_CACHE_DIR=.venv/pip-cache $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

# One search on HardMaze, of about two minutes on two cores: the summary is printed, the picture is demo/.../archives.png.
DEMO_BUDGET ?= 45000
demo: setup
	$(BIN)/stax run hard-maze --budget $(DEMO_BUDGET) --out demo/hard-maze-$$(date +%Y%m%d-%H%M%S)

# Two files of tests at a time; those of one file one after the other, since they share what they set up.
test: setup
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/stax bench

# The whole set of recorded rollouts: make reference REFERENCE=path/to/reference
reference: setup
	$(BIN)/python benchmarks/compare_reference.py --reference $(REFERENCE)

# The pictures and numbers of docs/tasks.md, and the parameter table of docs/algorithms/README.md.
docs: setup
	$(BIN)/python docs/make_tasks_page.py
	$(BIN)/python docs/make_algorithm_pages.py

# The outputs and pictures of the tutorials, from doing all that they say: half an hour.
tutorials: setup
	$(BIN)/python docs/make_tutorials.py

# The documentation as pages: site/index.html. A warning is an error.
site: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf site .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis demo dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
