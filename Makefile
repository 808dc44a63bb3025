PYTHON ?= python3
BIN := .venv/bin

.PHONY: help install demo reproduce-tiny test check clean

help: ## what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

install: .venv/installed ## docflat and its development tools into .venv

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: install ## translate a document into German, offline, and show what its context changed
	$(BIN)/docflat translate examples/island.md -o runs/demo/island.de.md --force --changes \
	  --side-by-side runs/demo/island.html
	@cat runs/demo/island.de.md

reproduce-tiny: install ## all tables and figures of the paper with tiny models on made-up data: does all of it run?
	$(BIN)/docflat reproduce run --scale tiny --out runs/reproduce-tiny

check: install ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check ## everything CI runs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

clean: ## remove .venv and caches
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache src/*.egg-info
