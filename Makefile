# Everything runs in .venv; each target brings it up to date first. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-stamp

# torch is asked for by its exact version before anything else, so that the range in pyproject.toml
# never resolves to a newer and larger build.
TORCH ?= $(shell grep '^torch==' constraints.txt)

# -qq drops pip's progress and warnings, but not its errors.
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

# Never newer ones instead without a word: the tests have not seen them.
UNTESTED := { echo "setup: the tested versions of constraints.txt cannot be installed here;" \
	"untested ones: $(BIN)/pip install -e '.[agents,watch]'" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: setup demo test check lowest browser evidence docs lint format clean help

setup: $(STAMP) ## Create .venv and install the package with its tools (again when a requirement changes)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "errands needs Python 3.11 or newer: make setup PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/pip || { echo "setup: creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "setup: installing $(TORCH)"
	@$(PIP) install -c constraints.txt '$(TORCH)' || $(UNTESTED)
	@echo "setup: installing errands and its tools, in the versions of constraints.txt"
	@$(PIP) install -c constraints.txt -e '.[agents,watch,human,sb3,ray,docs,dev]' || $(UNTESTED)
	@$(BIN)/python tests/pinned.py
	@touch $@
	@echo "setup: done, try $(BIN)/errands --help"

demo: setup ## Watch a trained agent run an errand that it was never trained on, and keep it as demo.gif
	$(BIN)/errands run "pick up the pig, visit the box, transform all cows" \
		--world grid --agent dynamic --seed 7 --gif demo.gif
	@echo "To watch it in the browser, with a list of your own: $(BIN)/errands watch"

# Two workers, one thread each (tests/conftest.py). Neighbours share fixtures, so each worker starts
# with half of the tests in order; the first to finish takes over some of the other's.
# Bytecode is kept, whatever the environment says: each worker would compile the tests for 7 seconds.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 2 --dist worksteal

test: lint browser ## Check style and types, then run all tests
	$(PYTEST)

check: lint ## Check style and types, then run the fast tests: for use between edits
	$(PYTEST) -m "not slow"

# In an environment of their own, without PyTorch. Numba's cache is separate, too: it keeps one version.
LOWEST := .venv-lowest
LOWEST_VERSIONS = $$($(PYTHON) tests/lowest.py)

lowest: $(LOWEST)/.setup-stamp ## Run the protocol tests on the lowest versions that pyproject.toml allows
	PYTHONPATH=src NUMBA_CACHE_DIR=$(LOWEST)/cache $(LOWEST)/bin/python -m pytest -q \
		-p no:cacheprovider tests/worlds/test_gym.py tests/worlds/test_gym_vector.py

$(LOWEST)/.setup-stamp: pyproject.toml tests/lowest.py
	@$(PYTHON) -m venv --clear $(LOWEST)
	@echo "lowest: installing $(LOWEST_VERSIONS)"
	@$(LOWEST)/bin/python -m pip --disable-pip-version-check -qq install $(LOWEST_VERSIONS)
	@touch $@

# Playwright drives Debian's Chromium, and ffmpeg encodes films. Where they cannot be installed, the
# tests that need them are skipped, except in CI, where they must run.
browser: ## Install Chromium and ffmpeg for the tests of the page and of films, if they are missing
	@{ command -v chromium && command -v ffprobe; } > /dev/null || { \
		echo "browser: installing Chromium and ffmpeg"; \
		SUDO=$$([ "$$(id -u)" = 0 ] || echo "sudo -n"); \
		{ $$SUDO apt-get update -qq && \
			$$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
			--no-install-recommends chromium ffmpeg > /dev/null; } || \
		if [ "$$CI" ]; then echo "browser: Chromium and ffmpeg could not be installed" >&2; exit 1; \
		else echo "browser: without Chromium and ffmpeg, their tests will be skipped" >&2; fi; }

# All sweeps share a folder: the report then has all of their runs. Run it again to resume.
EVIDENCE ?= runs/evidence

evidence: setup ## Train and measure the agents of results/sweeps again: about 19 hours on two cores
	for sweep in grid block ablations; do \
		$(BIN)/errands sweep results/sweeps/$$sweep.toml --out $(EVIDENCE) || exit 1; done
	mkdir -p $(EVIDENCE)/planners
	for agent in shortest-path near-optimal; do for world in grid block; do \
		for split in train seen unseen; do \
			$(BIN)/errands evaluate instructions --agent $$agent --world $$world --split $$split \
				--lengths $$([ $$split = train ] && echo 4 || echo 1,4,10,20) --episodes 5000 \
				--json $(EVIDENCE)/planners/$$world-$$agent-$$split.json || exit 1; \
		done; done; done
	$(BIN)/errands report --results $(EVIDENCE) --out $(EVIDENCE)

docs: setup ## Build the documentation as a site that needs no network: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "docs: open site/index.html"

lint: setup ## Check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy src

format: setup ## Rewrite the code in the house style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove .venv, caches and build leftovers (runs/ is kept)
	rm -rf $(VENV) $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
