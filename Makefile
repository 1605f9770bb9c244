# Everything a fresh machine with Python >= 3.11 and a C++ compiler needs:
#   make demo    set up, fit the bundled corpus, print its topics
#   make test    set up, run all tests
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export ISOTOPIC_REQUIRE_CORE = 1
CORE   := CMakeLists.txt pyproject.toml $(wildcard src/isotopic/_core/*.cpp src/isotopic/_core/*.hpp)

.PHONY: demo test lint format bench clean

demo: $(VENV)/.built
	$(BIN)/isotopic demo

test: $(VENV)/.test
	$(BIN)/python -m pytest

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks --only solution --quick

clean:
	rm -rf $(VENV) build

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "isotopic needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	touch $@

$(VENV)/.built: $(VENV)/.created $(CORE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.test: $(VENV)/.built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

# A peer that cannot be installed is left out of the comparison, which says so.
$(VENV)/.bench: $(VENV)/.test
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	-$(PYTHON) -m venv $(VENV)/peers/salamander
	-$(VENV)/peers/salamander/bin/python -m pip install --quiet --disable-pip-version-check salamander-learn
	touch $@

$(VENV)/.lint: $(VENV)/.built
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lint]'
	touch $@
