# Thin names for what CMake presets and scripts/ do.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:

JOBS ?= $(shell nproc)
SECONDS := 60
SEEDS ?= 1000
PREFIX ?= /usr/local
# One more than there are cores: tests wait for processes and disks a quarter of their time.
CTEST := ctest --output-on-failure -j$(shell echo $$(($$(nproc) + 1))) --timeout 600

.PHONY: help bootstrap build demo picture test check tidy bench fuzz sim seeds torture interop install release-check format clean \
    format-check arrows test-scripts test-dev test-asan test-tsan

help: ## List the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | \
	    while IFS=$$'\t' read -r name text; do printf '  make %-13s %s\n' "$$name" "$$text"; done

bootstrap: ## Install the Debian packages that are missing
	@scripts/bootstrap

build: bootstrap build/release/build.ninja ## Build the programs for use (release)
	cmake --build --preset release -j $(JOBS)

demo: bootstrap build/release/build.ninja ## Build holon and show it at work
	cmake --build --preset release -j $(JOBS) --target holon
	scripts/demo

picture: bootstrap build/release/build.ninja ## Record the demonstration as docs/pictures/demo.svg
	cmake --build --preset release -j $(JOBS) --target holon
	scripts/picture

test: bootstrap format-check arrows test-scripts test-asan test-tsan ## Run every check and test that needs no network

check: bootstrap format-check arrows tidy ## Check format, include arrows and changed files with clang-tidy

tidy: bootstrap build/dev/build.ninja ## Run clang-tidy on the changed files (ALL=1: on all)
	@cmake --build --preset dev -j $(JOBS) --target holon_pch holon_test_pch
	scripts/tidy $(if $(ALL),--all)

bench: build ## Build for release and measure
	@if [ -x scripts/bench ]; then scripts/bench; else echo "bench: there is no scripts/bench"; fi

fuzz: bootstrap build/fuzz/build.ninja ## Run each fuzz program for SECONDS=60
	cmake --build --preset fuzz -j $(JOBS) --target tests/fuzz/all
	scripts/fuzz $(SECONDS)

sim: bootstrap build/release/build.ninja ## Run SEEDS=1000 seeds of the simulation
	cmake --build --preset release -j $(JOBS) --target sim_tests sim_children_tests
	for one in sim sim_children; do \
	    HOLON_SIM_SEEDS=$(SEEDS) build/release/tests/sim/$${one}_tests || exit 1; done

seeds: bootstrap build/release/build.ninja ## Run SEEDS=1000 seeds in batches that can be continued
	cmake --build --preset release -j $(JOBS) --target sim_tests
	nice tests/torture/seeds.py build/release/tests/sim/sim_tests --seeds $(SEEDS) --jobs $(JOBS)

interop: bootstrap build/release/build.ninja ## Run real projects, the vendors' definitions and LiteLLM (installs it)
	cmake --build --preset release -j $(JOBS) --target holon
	scripts/interop

torture: bootstrap build/release/build.ninja ## Kill, damage, fill and load the built program (ARGS=...)
	cmake --build --preset release -j $(JOBS) --target holon --target plan_cases_tests
	tests/torture/torture.py build/release/holon $(ARGS)
	HOLON_PREVIEW_PLANS=1000 build/release/tests/plans/plan_cases_tests --gtest_filter='*PlanPreview*'

install: bootstrap build/release/build.ninja ## Build holon and install it (PREFIX=/usr/local, DESTDIR=)
	cmake --build --preset release -j $(JOBS) --target holon extras
	cmake --install build/release --prefix $(PREFIX)

release-check: bootstrap build/release/build.ninja ## Make the packages and try them in fresh Debian roots (as root)
	scripts/release_check

format: bootstrap ## Format the sources in place
	scripts/format

clean: ## Remove what the build made
	rm -rf build

format-check:
	scripts/format --check

arrows:
	scripts/check_arrows

test-scripts:
	python3 -m unittest discover -s tests/scripts

# All tests without sanitizers: the quick loop while working. No part of `test`.
test-dev: build/dev/build.ninja
	cmake --build --preset dev -j $(JOBS)
	$(CTEST) --test-dir build/dev

test-asan: build/asan/build.ninja
	cmake --build --preset asan -j $(JOBS)
	$(CTEST) --test-dir build/asan

# Makes only the programs it runs: on two cores the rest is minutes.
test-tsan: build/tsan/build.ninja
	scripts/build_tests tsan $(JOBS) -L threads
	$(CTEST) --test-dir build/tsan -L threads

# Ninja configures again by itself when a CMake file changes, but does not watch the presets.
build/%/build.ninja: CMakePresets.json
	cmake --preset $*
	@touch $@
