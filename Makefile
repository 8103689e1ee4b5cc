# The verbs of this repository. `make` alone lists them. What each does is in infra/local/.
PYTHON ?= python3
VENV := .venv/bin/python
UV := .cache/boot/bin/uv
LAUNCHER := $(VENV) -m infra.local

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.PHONY: help setup setup-run setup-images up demo dev down clean distclean status logs query test test-slow test-images lint format generate sbom audit lock e2e bench

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install and build all that is needed to run, check and test
	@$(PYTHON) -m infra.local setup --for development

setup-run:
	@$(PYTHON) -m infra.local setup --for run

setup-images:
	@$(PYTHON) -m infra.local setup --for images

up: setup-run ## start the whole product here, order the cluster demo, say how to use it
	@$(LAUNCHER) up

demo: setup-run ## as up, and order the cluster demo again after it was deleted
	@$(LAUNCHER) demo

dev: setup-run ## start the whole product with reloaders, in the foreground
	@$(LAUNCHER) dev

status: ## what runs, on which ports, and what crashed
	@$(LAUNCHER) status

logs: ## follow the logs; P=api,worker chooses
	@P='$(P)' $(LAUNCHER) logs

query: export RINGMASTER_QUERY = $(value Q)
query: ## run CQL on the cluster demo: make query Q="SELECT …"
	@$(VENV) -m infra.local query "$$RINGMASTER_QUERY"

down: ## stop everything; data stays
	@$(LAUNCHER) down

clean: ## stop everything and remove its data; caches stay
	@if [ -x $(VENV) ]; then $(LAUNCHER) clean; fi

distclean: clean ## as clean, and remove what set-up installed and built
	rm -rf .cache .venv frontend/node_modules frontend/dist e2e/node_modules

test: ## run all tests; the last line adds them up. T="python agent" chooses
	@$(VENV) -m infra.local test $(T)

test-slow: ## run the tests that take many minutes on real clusters, which make test leaves out
	@$(VENV) -m infra.local test slow

test-images: setup-images ## bake the machine image under QEMU and boot it with throttled disks (a quarter of an hour; root)
	@$(VENV) -m infra.local test images

lint: ## check style, types, imports, generated files and the compose file
	@$(VENV) -m infra.local lint

format: ## put the sources into shape
	@$(VENV) -m ruff check --fix --quiet .
	@$(VENV) -m ruff format --quiet .
	@.venv/bin/npm --prefix frontend run --silent format
	@gofmt -l -w images/agent

generate: ## make the committed files that are made from others
	@$(VENV) -m infra.local generate

sbom: ## what is delivered, as a CycloneDX file: .cache/sbom.json
	@$(VENV) -m infra.local.sbom

audit: ## ask vulnerability databases about what is delivered
	@$(VENV) -m infra.local.audit $(ARGUMENTS)

lock: ## pin Python's packages anew after pyproject.toml changed; U=name upgrades one
	$(UV) pip compile --quiet pyproject.toml --universal --generate-hashes --no-header $(U:%=-P %) -o requirements.txt
	$(UV) pip compile --quiet pyproject.toml --group dev --universal --generate-hashes --no-header $(U:%=-P %) -o requirements-dev.txt

e2e: ## the tests in a real browser against the whole system
	@$(VENV) -m infra.local test e2e

bench: ## measure: make bench B=order_to_cql
	@$(VENV) -m e2e.bench.$(B)
