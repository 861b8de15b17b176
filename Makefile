# Everything sets itself up: a fresh clone needs Python 3.11 and a package index, nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := .venv-peers/.ready

.PHONY: help demo test prove lint format bench peers clean

help:            ## say what can be made
	@grep -E '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## */\t/' | expand -t 12

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("unsnarl needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "setting up $(VENV) (once, about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all,dev]'
	@touch $@

$(PEERS): Makefile
	@test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check pymeshlab
	@touch $@

demo: $(READY)   ## make a tangled sheet, check it, draw it
	$(BIN)/unsnarl demo folded_sheet -o out

test: lint       ## linters and the whole quick suite
	$(BIN)/python -m pytest

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

peers: $(PEERS)  ## the peers' own environment, for `unsnarl bench`

clean:           ## remove the environments and what the demos made
	rm -rf $(VENV) .venv-peers out
