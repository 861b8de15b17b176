# Everything sets itself up: a fresh clone needs Python 3.11 and a package index, nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WORKERS ?= auto
PEERS  := .venv-peers/.ready
BPY_LIBRARIES := libx11-6 libxrender1 libxfixes3 libxi6 libxkbcommon0 libsm6 libgl1 libegl1

.PHONY: help demo test fuzz prove lint format bench browser peers clean

help:            ## say what can be made
	@grep -E '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("unsnarl needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV) (once, about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all,dev]'
	@touch $@

$(PEERS): Makefile
	@echo "setting up .venv-peers (once, 1.7 GB) ..."
	@test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	@all=yes; for peer in pymeshlab==2025.7.post1 bpy==5.0.1 'newton==1.8.0 warp-lang==1.19.0'; do \
		.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check 'numpy<2' $$peer \
		|| { echo "$$peer: not to be had here (bpy wants Python 3.11); benches skip it"; all=; }; done; \
	.venv-peers/bin/python -c 'import bpy' 2>/dev/null || { test -n "$$CI" && command -v apt-get >/dev/null && test "$$(id -u)" = 0 \
		&& apt-get update -qq && apt-get install -y -qq $(BPY_LIBRARIES) >/dev/null; } \
		|| { echo "bpy does not start here; on Debian it needs: apt-get install $(BPY_LIBRARIES)"; all=; }; \
	test -z "$$all" || touch $@

demo: $(READY)   ## make a tangled sheet, check it, draw it
	$(BIN)/unsnarl demo folded_sheet -o out

test: lint browser ## linters and the whole quick suite
	$(BIN)/python -m pytest -n $(WORKERS)

fuzz: $(READY)   ## the quick suite on random examples that differ each time
	$(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile=default

prove: $(READY)  ## the slow proofs
	$(BIN)/python -m pytest -m prove

lint: $(READY)   ## ruff and the order of the folders
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

format: $(READY) ## let ruff put the code in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) peers ## measure unsnarl and its peers here
	$(BIN)/unsnarl bench check
	$(BIN)/unsnarl bench paths
	$(BIN)/unsnarl bench falling_sheet

browser:         ## Chromium for the tests of web pages, where Debian's packages are at hand (else they are skipped)
	@command -v chromium >/dev/null || { test -n "$$CI" && command -v apt-get >/dev/null && test "$$(id -u)" = 0 \
		&& apt-get update -qq && apt-get install -y -qq chromium >/dev/null; } || true

peers: $(PEERS)  ## the peers' own environment, for `unsnarl bench`

clean:           ## remove the environments and what the demos made
	rm -rf $(VENV) .venv-peers out
