# SPDX-License-Identifier: Apache-2.0
# Thin fronts: each target is one script or one cmake call. `make test` is everything; see CONTRIBUTING.md.
.PHONY: help setup build demo test lint format docs bench coverage parity restore-model science clean

help:
	@echo "make setup | build | demo [TEXT=path] | test | lint | format | docs | bench | coverage | parity | restore-model | science TABLE=name | clean"

setup:
	@scripts/setup

build: setup
	@scripts/build release

# The program alone: tests are built by `make test`.
demo: setup
	@scripts/build release weft
	@scripts/demo $(if $(TEXT),--text "$(TEXT)")

test: setup
	@scripts/test

lint: setup
	@scripts/lint-all

format: setup
	@scripts/format

# The site of all pages; Sphinx comes into .venv-docs. Nothing has to be built before.
docs:
	@docs/site/build

bench: setup
	@scripts/bench

coverage: setup
	@scripts/coverage

parity: build
	@scripts/setup-parity
	@scripts/parity

# Hours of training on the texts in WEFT_DATA; goes on where it was stopped.
restore-model: setup
	@scripts/build release weft
	@scripts/restore-model

# A table of docs/results.md from the texts in WEFT_DATA, without TABLE their names; goes on where it was stopped.
science: setup
	$(if $(TABLE),@scripts/build release weft)
	@examples/science/science.py $(TABLE)

clean:
	rm -rf build
