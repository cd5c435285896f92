# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SPARK := $(VENV)/.spark
CONNECT := $(VENV)/.connect
MODELS := $(VENV)/.models

# Kinds of tests to leave out, such as WITHOUT=browser.
WITHOUT ?=

# A fresh machine installs packages and the browser at the same time.
MAKEFLAGS += --jobs=2

# A run of the tests starts hundreds of processes: whatever the shell says, they share what one of them compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test fuzz mutants lint style types contracts listed docs bench clean chromium java pictures

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[checks]'
	touch $@

# Spark is as large as everything else together: it arrives while the sources are checked, and only where it is used.
$(SPARK): $(READY)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt pyspark
	touch $@

# The long searches ask through Spark Connect too.
$(CONNECT): $(SPARK)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt 'pyspark[connect]'
	touch $@

demo: $(READY)
	$(BIN)/discreet demo

lint: style types contracts

style: $(READY)
	$(BIN)/ruff check src tests benchmarks docs/conf.py docs/_ext
	$(BIN)/ruff format --check src tests benchmarks docs/conf.py docs/_ext

types: $(READY)
	$(BIN)/mypy

contracts: $(READY)
	$(BIN)/lint-imports

# Read anew each time, since the pages run the code they describe.
docs: $(READY)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/sphinx-build -j auto -E -W --keep-going -q -b html docs docs/_build/html

# Lists the tests beside the type checker, which uses one core only: what this compiles, no worker compiles again.
listed: $(READY)
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null 2>&1 || :

# One thread each: the workers already use all cores, and linear algebra would spin for more.
test: $(if $(filter spark,$(WITHOUT)),,$(SPARK) java) lint listed $(if $(filter browser,$(WITHOUT)),,chromium)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m 'not fuzz$(foreach kind,$(WITHOUT), and not $(kind))'
	@$(if $(strip $(WITHOUT)),echo "NOT RUN: tests marked $(WITHOUT)",:)

# The console is tested in a real browser: the one on the path, or named by CHROMIUM, or Debian's where that may be installed.
chromium:
	@command -v "$${CHROMIUM:-chromium}" > /dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update --quiet --quiet \
		&& DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends chromium > /dev/null; } \
	|| { echo "the tests of the console need a browser: install the package chromium, or run make test WITHOUT=browser" >&2; exit 1; }

# Spark is tested with the Java on the path, or at JAVA_HOME, and JDBC with its driver, or Debian's where these may be installed; two
# packages are not installed at once.
java: $(if $(filter browser,$(WITHOUT)),,chromium)
	@{ command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" > /dev/null && [ -e "$${DISCREET_JDBC:-/usr/share/java/postgresql.jar}" ]; } \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get update --quiet --quiet \
		&& DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends \
			$$(command -v "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" > /dev/null || echo openjdk-17-jre-headless) libpostgresql-jdbc-java > /dev/null; } \
	|| { echo "the tests of Spark and JDBC need the packages openjdk-17-jre-headless and libpostgresql-jdbc-java, or run make test WITHOUT=spark" >&2; exit 1; }

# Pictures of the console for its page in the documentation.
pictures: $(READY) chromium
	$(BIN)/python -m tests.console.pictures

# Long searches with fresh randomness, and every property with ten times the examples: each has a short form
# among the tests.
fuzz: $(CONNECT)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal -m 'fuzz or hypothesis' --hypothesis-profile long --timeout 7200 $(FUZZ)

# Plants small faults in copies of the sources and demands that the tests notice each: those of
# what every answer rests on, or ROOMS="proof walk", or ROOMS=all.
mutants: $(SPARK)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.mutants $(ROOMS)

# The peers live in environments of their own, since their pins contradict each other and ours.
.venv-peers/.ready: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --requirement $<
	touch $@

.venv-smartnoise/.ready: benchmarks/peers/smartnoise.txt
	$(PYTHON) -m venv .venv-smartnoise
	.venv-smartnoise/bin/python -m pip install --quiet --upgrade pip
	.venv-smartnoise/bin/python -m pip install --quiet --requirement $<
	touch $@

.venv-tumult/.ready: benchmarks/peers/tumult.txt
	$(PYTHON) -m venv .venv-tumult
	.venv-tumult/bin/python -m pip install --quiet --requirement $<
	touch $@

# What the peer that makes up records rests on.
$(MODELS): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt mbi
	touch $@

bench: $(SPARK) $(MODELS) .venv-peers/.ready .venv-smartnoise/.ready .venv-tumult/.ready
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH=src $(BIN)/python -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
