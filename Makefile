# Everything runs from .venv, which is made here and remade when pyproject.toml changes. All that must be there first
# is Python >= 3.11 (another one than python3: make PYTHON=python3.13 ...) and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SEEDS ?= 300
BENCH_JSON ?=

# uv resolves in seconds what pip may need minutes for; karpy itself installs with either.
# Certificates are the system's, as pip has it: some networks bring their own.
INSTALL := UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet

.PHONY: demo test bench soak docs clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.karpy
	$(BIN)/karpy demo

test: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal

bench: $(VENV)/.karpy
	BENCH_JSON="$(BENCH_JSON)" $(BIN)/python tests/benchmarks

soak: $(VENV)/.karpy
	$(BIN)/python -m karpy.testing --seeds $(SEEDS)
	$(BIN)/python -m karpy.testing --cloud aws --seeds $$(( $(SEEDS) < 100 ? $(SEEDS) : 100 ))
	$(BIN)/python -m tests.soak --seeds $$(( $(SEEDS) < 25 ? $(SEEDS) : 25 ))

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --site-dir site

clean:
	rm -rf $(VENV) site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/.karpy: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "karpy needs Python 3.11 or later; name one: make PYTHON=python3.13")'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(INSTALL) --editable '.[all]'
	touch $@

$(VENV)/.test: $(VENV)/.karpy
	$(INSTALL) --group test
	touch $@

$(VENV)/.docs: $(VENV)/.karpy
	$(INSTALL) --group docs
	touch $@
