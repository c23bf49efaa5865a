# Two commands for a newcomer: `make demo` and `make test`. Both set up all they need in .venv by themselves.
#   make demo     the pipeline on local Spark over a year of real flights (about two minutes)
#   make test     every test but the longest; the slowest are named at the end
#   make unit     several cases of each test that was quick the last time: a minute, once kernels are compiled
#   make thorough every test, the longest too, at full size and with 20 times as many examples (hours)
#   make durations  record what tests took in the last run: tests/durations.json
#   make pythons  the README's first example, and the default index against the oracle, on every further Python here
#   make check    format, lint, types, imports, doctests, the two clients, links, prose, the site
#   make console  the console of the service, from console/ (needs Node 18; ARGS=--stale needs none, and says if it is old)
#   make client   the client that blocks, from the one that awaits
#   make pictures the pictures of docs/console.md, in Chromium
#   make docs     the site, in build/site (make docs ARGS=serve shows it while you write)
#   make fuzz     odd inputs for five minutes (ARGS="--minutes 60 csv"); what fails is kept as a test
#   make bench    benchmarks          make format  let ruff rewrite files
#   make reproduce  the papers' figures (minutes)
#   make clean    remove what the others made

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo-installed
DEV    := $(VENV)/.dev-installed
SETUP  := pyproject.toml constraints.txt scripts/setup.sh

# The tests that `make thorough` also runs with kernels that check every index.
CHECKED := tests/contract tests/index tests/window tests/engine/test_changes.py tests/engine/test_match.py

# One thread for every library that would start its own: tests run side by side.
export OMP_NUM_THREADS ?= 1
# Tests start hundreds of commands, and without kept bytecode each takes half as long again to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test unit thorough durations pythons oldest check client console pictures docs lint format fuzz bench reproduce clean

demo: $(DEMO)
	$(BIN)/tocsin warm
	$(BIN)/tocsin demo $(ARGS)
	@echo "To watch planes in the console of the service: $(BIN)/tocsin demo service --console"

# Tests of Spark and of processes wait for much of their time, so there are three workers for two cores.
test: $(DEV)
	sh scripts/chromium.sh
	sh scripts/oracles.sh
	sh scripts/brokers.sh
	$(BIN)/tocsin warm --papers
	$(BIN)/python -m tests.class_archive
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder --durations 15 -m "not long" $(ARGS)

unit: $(DEV)
	$(BIN)/tocsin warm --papers
	HYPOTHESIS_PROFILE=unit $(BIN)/python -m pytest -n 2 --dist worksteal -q --quick -m "not spark and not slow and not long" $(ARGS)

thorough: $(DEV) oldest
	sh scripts/chromium.sh
	sh scripts/firefox.sh
	sh scripts/oracles.sh
	sh scripts/brokers.sh
	$(BIN)/tocsin warm --papers
	$(BIN)/python -m tests.class_archive
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations 15 $(ARGS)
	TOCSIN_CHECKED=1 $(BIN)/python -m pytest -n 2 --dist loadfile -m "not long" $(CHECKED)

durations: $(DEV)
	$(BIN)/python -m tests.scheduling

pythons: $(DEV)
	sh scripts/pythons.sh

oldest: $(DEV)
	CONSTRAINT=scripts/oldest.txt sh scripts/pythons.sh "$(PYTHON)"

fuzz: $(DEV)
	$(BIN)/tocsin warm --papers
	$(BIN)/python -m tests.fuzz $(ARGS)

check: $(DEV)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q --doctest-modules src -p no:cacheprovider
	$(BIN)/python scripts/synchronous_client.py --check
	$(BIN)/python scripts/check_links.py
	$(BIN)/python scripts/check_prose.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build

console: $(DEV)
	$(BIN)/python scripts/console.py $(ARGS)

client: $(DEV)
	$(BIN)/python scripts/synchronous_client.py

pictures: $(DEV)
	sh scripts/chromium.sh
	$(BIN)/python scripts/console_pictures.py $(ARGS)

docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(or $(ARGS),build)

lint: check

format: $(DEV)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

# The figures of the papers: make reproduce ARGS="opindex/fig-10 --scale 0.05"
reproduce: $(DEV)
	$(BIN)/python -m reproduce $(ARGS)

bench: $(DEV)
	$(BIN)/python -m benchmarks $(ARGS)

$(DEMO): $(SETUP)
	PYTHON="$(PYTHON)" sh scripts/setup.sh "$(VENV)" demo
	touch $@

$(DEV): $(SETUP)
	PYTHON="$(PYTHON)" sh scripts/setup.sh "$(VENV)" dev
	touch $@ $(DEMO)

clean:
	rm -rf $(VENV) .venv-3.* console/node_modules demo-output reproduced .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests benchmarks reproduce -name __pycache__ -type d -prune -exec rm -rf {} +
