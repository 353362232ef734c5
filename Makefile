# Two commands do everything on a fresh machine with make, git and Python >= 3.11:
#   make demo    see it work
#   make test    lint, types and all tests
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
BIN := .venv/bin
LOCKS := requirements/base.txt requirements/dev.txt requirements/bench.txt
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"
export UV_PYTHON_DOWNLOADS := never
# Where the environment forbids bytecode, each of the hundreds of processes of a test run would compile all libraries anew.
export PYTHONDONTWRITEBYTECODE :=
CORES := $(shell nproc 2>/dev/null || echo 2)
# Whole-system tests wait for half of their time: two processes for each core keep the cores busy.
# Quick tests wait little, and each more process costs what it takes to read and import all tests: one more than cores.
PYTEST := $(BIN)/pytest --dist worksteal -n $(if $(FAST),$(shell expr $(CORES) + 1),$(shell expr $(CORES) \* 2))

.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage lint audit format lock clean screenshots places bench

help:  ## Show what each target does
	@awk -F ':.*## ' '/^[a-z%-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready  ## Make the environment in .venv (demo and test call it)

demo: setup  ## See it work: three weeks of two simulated portals, then the dashboard on them
	@$(BIN)/sale-sofia demo

ifdef FAST
test: setup  ## Lint, types and all tests; FAST=1: quick unit and contract tests alone
	$(PYTEST) -m "not slow" tests/unit tests/contract
else
test: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/python tests/dependency_audit.py --warn & \
	$(BIN)/mypy & types=$$!; \
	: "mypy leaves all cores but one idle: browsers, compiled tests and the world many tests wait for are made meanwhile"; \
	{ $(BIN)/python tests/browsers.py; $(BIN)/pytest --collect-only -qq; $(BIN)/python tests/demo_worlds.py; } >/dev/null 2>&1; \
	$(PYTEST) --durations 20; tests=$$?; \
	wait $$types && exit $$tests
endif

test-%: setup  ## The tests of a folder or file: make test-crash, make test-alerts, make test-bench
	$(if $(call slice,$*),,$(error no tests are called $*; give the name of a folder or file below tests))
	$(PYTEST) $(call slice,$*)

slice = $(strip $(wildcard tests/$(1) tests/*/$(1) tests/*/*/$(1)) $(shell find tests -name "test_$(1).py") $(if $(filter bench,$(1)),bench/tests))

coverage: setup  ## All tests with their branch coverage; takes nearly twice as long
	$(PYTEST) --cov --cov-report=term

lint: setup  ## ruff and mypy strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

audit: setup  ## Look the pinned packages up among known vulnerabilities; see docs/security.md
	@$(BIN)/python tests/dependency_audit.py

format: setup  ## Let ruff format and fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

screenshots: setup  ## Pictures of the dashboard for docs/images; needs Chromium
	$(BIN)/python bench/screenshots.py

places: setup  ## The geographic data that is shipped, from collected files: make places FROM=../shared/data/sofia
	$(BIN)/python bench/places.py $(or $(FROM),../shared/data/sofia)

bench: .venv-bench/ready  ## All measurements and docs/benchmarks.md: make bench FULL=1, make bench ONLY=parse
	.venv-bench/bin/python bench/all.py $(if $(FULL),--full) $(addprefix --only ,$(ONLY)) $(ARGS)

bench-%: .venv-bench/ready  ## Run bench/NAME.py beside its peers: make bench-parse ARGS="--quick --check", make bench-guard
	.venv-bench/bin/python bench/$*.py $(ARGS)

lock: $(UV)  ## Renew the pinned, hashed requirements
	$(COMPILE) --upgrade pyproject.toml -o requirements/base.txt
	$(COMPILE) --upgrade --extra dev -c requirements/base.txt pyproject.toml -o requirements/dev.txt
	$(COMPILE) --upgrade --extra bench -c requirements/base.txt pyproject.toml -o requirements/bench.txt
	$(COMPILE) --upgrade -c requirements/dev.txt requirements/build.in -o requirements/build.txt
	$(COMPILE) --upgrade requirements/uv.in -o requirements/uv.txt

clean:  ## Remove the environments and caches
	rm -rf .venv .venv-bench .tools .mypy_cache .ruff_cache .pytest_cache .coverage .coverage.*

# A target folder is the one place pip fills even where the system's Python is closed to it (PEP 668),
# and uv makes environments without ensurepip, which Debian leaves out.
.tools/bin/uv: requirements/uv.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--target .tools -r requirements/uv.txt
	@touch $@

.venv/ready: requirements/dev.txt pyproject.toml | $(UV)
	$(call make_env,.venv,requirements/dev.txt)

.venv-bench/ready: requirements/bench.txt pyproject.toml | $(UV)
	$(call make_env,.venv-bench,requirements/bench.txt)

define make_env
	@test -x $(1)/bin/python || $(UV) venv --quiet --python $(PYTHON) $(1)
	$(UV) pip sync --quiet --require-hashes --python $(1)/bin/python $(2)
	$(UV) pip install --quiet --no-deps --no-build-isolation --python $(1)/bin/python --editable .
	@touch $@
endef
