# The words of this project; `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := words
.PHONY: words run test fmt lint docs bench fuzz test-faults packages

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
MINUTES ?= 60
DATA ?= tenure-data

words:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */\1\t/' | expand -t 14

run: $(STAMP)  ## the product with a sample site, in ./tenure-data (API=ADDR:PORT, DNS=ADDR:PORT, DHCP4=IFACE)
	@$(BIN)/tenure demo --data $(DATA) $(if $(DHCP4),--dhcp4 $(DHCP4)) $(if $(API),--api $(API)) $(if $(DNS),--dns $(DNS))

test: $(STAMP) packages  ## everything CI runs: formatting, lint, types, contracts, all functional proofs
	@$(BIN)/ruff format --quiet --check src tests bench
	@$(BIN)/ruff check --quiet src tests bench
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo >.venv/contracts.txt || { cat .venv/contracts.txt; exit 1; }
	@$(BIN)/pytest -q -n auto --maxprocesses 4 --dist worksteal

fmt: $(STAMP)  ## format the code and mend what ruff can mend
	@$(BIN)/ruff format src tests bench
	@$(BIN)/ruff check --fix src tests bench

lint: $(STAMP)  ## formatting, lint, types and contracts, without the tests
	@$(BIN)/ruff format --check src tests bench
	@$(BIN)/ruff check src tests bench
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

docs: $(STAMP)  ## check the documents: links, lists, and every example, run
	@$(BIN)/pytest -q tests/house/test_documents.py tests/docs

bench: $(STAMP)  ## measure allocation (long), placement, routing tables, the past, machines and DNS
	@$(BIN)/python -m bench.allocate
	@$(BIN)/python -m bench.placement
	@$(BIN)/python -m bench.routes
	@$(BIN)/python -m bench.history
	@$(BIN)/python -m bench.machines
	@$(BIN)/python -m bench.dns_visible
	@$(BIN)/python -m bench.dns_transfers
	@$(BIN)/python -m bench.dns_queries

fuzz: $(STAMP)  ## feed the codecs and the state machine random input for MINUTES (60)
	@FUZZ_MINUTES=$(MINUTES) $(BIN)/pytest -q --timeout=0 -m fuzz tests

test-faults: $(STAMP)  ## planted faults, each caught by its test; and many more kills, cuts and calls than in `test` (long)
	@$(BIN)/pytest -q -m "faults or long" tests

packages:
	@tests/debian-packages

$(STAMP): pyproject.toml
	@tests/make-venv $(PYTHON)
	@touch $@
