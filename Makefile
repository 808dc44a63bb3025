PYTHON ?= python3
BIN := .venv/bin
LIGHT := .venv-light/bin

PYTHONS ?= python3.10 python3.11 python3.12 python3.13 python3.14

.PHONY: help install light demo serve reproduce-tiny test fuzz audit test-ray test-light test-pythons docs check clean

help: ## what each target does
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

install: .venv/installed ## docflat and its development tools into .venv

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

light: .venv-light/installed ## docflat alone, as `pip install docflat` has it, into .venv-light: no torch

.venv-light/installed: pyproject.toml
	test -x $(LIGHT)/python || $(PYTHON) -m venv .venv-light
	$(LIGHT)/python -m pip install --quiet --editable .
	touch $@

demo: light ## translate a document into German, offline, and show what its context changed
	$(LIGHT)/docflat translate examples/island.md -o runs/demo/island.de.md --force --changes \
	  --side-by-side runs/demo/island.html
	@cat runs/demo/island.de.md

serve: install ## the page and the APIs of LibreTranslate and DeepL on http://127.0.0.1:5000
	$(BIN)/docflat serve

reproduce-tiny: install ## all tables and figures of the paper with tiny models on made-up data: does all of it run?
	$(BIN)/docflat reproduce run --scale tiny --out runs/reproduce-tiny

docs: install ## the pages as a site in runs/site, with no warning and no dead link
	$(BIN)/python -m mkdocs build --strict --quiet

check: install ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check ## everything CI runs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

MINUTES ?= 5
fuzz: install ## inputs made to break readers, for MINUTES=5; what breaks one lies in runs/fuzz
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES)

test-ray: install ## bulk translation by Ray Data alone, which make test runs too
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest tests/unit/bulk/test_engines.py

test-light: install ## tests of translating, in a fresh environment with a built docflat and nothing but what it asks for
	rm -rf runs/test-light && $(PYTHON) -m venv runs/test-light
	runs/test-light/bin/python -m pip install --quiet .
	DOCFLAT_LIGHT=$(CURDIR)/runs/test-light/bin/python $(BIN)/python -m pytest tests/integration/test_light_install.py

test-pythons: install ## the same with a wheel and each Python of PYTHONS
	rm -rf runs/pythons && $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir runs/pythons .
	for python in $(PYTHONS); do \
	  $$python -m venv runs/pythons/$$python && \
	  runs/pythons/$$python/bin/python -m pip install --quiet runs/pythons/docflat-*.whl && \
	  DOCFLAT_LIGHT=$(CURDIR)/runs/pythons/$$python/bin/python \
	    $(BIN)/python -m pytest tests/integration/test_light_install.py || exit 1; \
	done

AUDIT := runs/audit
audit: ## what `pip install docflat` brings, as CycloneDX in runs/audit/docflat.cdx.json, and which of it has known holes
	rm -rf $(AUDIT) && $(PYTHON) -m venv $(AUDIT)/tools && $(PYTHON) -m venv --without-pip $(AUDIT)/light
	$(AUDIT)/tools/bin/python -m pip install --quiet pip-audit cyclonedx-bom
	$(AUDIT)/tools/bin/python -m pip --python $(AUDIT)/light/bin/python install --quiet .
	$(AUDIT)/tools/bin/cyclonedx-py environment $(AUDIT)/light/bin/python --pyproject pyproject.toml --of JSON \
	  --output-reproducible -o $(AUDIT)/docflat.cdx.json
	$(AUDIT)/tools/bin/pip-audit --progress-spinner off \
	  --path $$($(AUDIT)/light/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

clean: ## remove environments and caches
	rm -rf .venv .venv-light .mypy_cache .ruff_cache .pytest_cache src/*.egg-info
