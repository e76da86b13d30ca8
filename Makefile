# Each target sets up what it needs by itself, from a bare clone, and does so once.
#   make transform   needs the base install; REPO=DIR and REV=COMMIT choose a clone of SGLang
#   PYTHON=python3.12 chooses the interpreter, VENV=DIR where the environment lies, ARGS=... is
#   handed on. EXTRAS=dev does without torch: the pools' tests are left out, and counted.

PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= dev,pool
PY = "$(VENV)/bin/python"
PIP_INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
# Tests start hundreds of interpreters: each would compile all modules anew.
test: export PYTHONDONTWRITEBYTECODE =
.NOTPARALLEL: # two installs into one environment would race
.PHONY: help transform test lint bench docs clean

help:
	@echo "make transform   replay the split of pool_host, then split a real module of SGLang"
	@echo "make test        run the tests (ARGS='-k word' chooses some)"
	@echo "make lint        Ruff, its formatter, and mypy"
	@echo "make bench       measure the mover beside rope, the judge and blame beside git blame, the pools beside lists, free room"
	@echo "make docs        build the documentation as a site, in build/site"
	@echo "make clean       remove the environment, caches and build/"

transform: $(VENV)/base.stamp
	@$(PY) -m verify.release.transform $(if $(REPO),--repo "$(REPO)") $(if $(REV),--at "$(REV)")

test: $(VENV)/dev.stamp
	@$(PY) -m pytest --numprocesses=auto --dist=worksteal $(ARGS)

lint: $(VENV)/dev.stamp
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

bench: $(VENV)/dev.stamp
	@$(PY) -m benchmarks.transforms $(ARGS)
	@$(PY) -m benchmarks.verify
	@$(PY) -m benchmarks.verify.costs
	@$(PY) -m benchmarks.verify.origin
	@$(PY) -m benchmarks.pool_host
	@$(PY) -m benchmarks.hicache

docs: $(VENV)/docs.stamp
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

clean:
	rm -rf "$(VENV)" build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# A half-made environment (no pip in it) is made anew; a good one is kept and brought up to date.
define environment
	@$(PYTHON) -c 'import sys; sys.exit("Repot needs CPython 3.10 or newer: make PYTHON=python3.12" \
	  if sys.version_info < (3, 10) else 0)'
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear "$(VENV)"
endef

$(VENV)/base.stamp: pyproject.toml constraints.txt
	$(environment)
	@echo "installing Repot into $(VENV) ..." >&2
	@$(PIP_INSTALL) -e .
	@touch "$@"

$(VENV)/dev.stamp: pyproject.toml constraints.txt
	$(environment)
	@echo "installing Repot and its tools into $(VENV) ..." >&2
	@$(PIP_INSTALL) -e '.[$(EXTRAS)]'
	@touch "$(VENV)/base.stamp" "$@"

$(VENV)/docs.stamp: pyproject.toml constraints.txt
	$(environment)
	@echo "installing what builds the documentation into $(VENV) ..." >&2
	@$(PIP_INSTALL) -e '.[docs]'
	@touch "$(VENV)/base.stamp" "$@"
