# Makefile -- the front door: each target installs what is missing, builds, then runs.
# make test | demo | tour | bench | check | soak | mutants | kernels | interop | oracle | format     (PRESET=debug make test builds another preset)
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := test

PRESET ?= release
JOBS ?= $(shell nproc)
BUILD := build/$(PRESET)
BIN := $(BUILD)/bin
CONFIGURE = cmake --preset $(PRESET) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }

# Kernels that tests and demos make stay in the build folder.
export RESILIN_CACHE_DIR := $(CURDIR)/$(BUILD)/kernel-cache

.PHONY: test demo tour bench check soak mutants kernels interop oracle format build
build:
	@tools/install.sh build
	@mkdir -p build
	@$(CONFIGURE)
	cmake --build $(BUILD) --parallel $(JOBS)

test: build
	ctest --preset $(PRESET) --parallel $(JOBS) $(CTEST_ARGS)

# Four ranks learn the King James text, one of them is killed, nothing is lost. Another text: make demo TEXT=file.
TEXT ?= build/demo/kjv.txt
demo: build $(TEXT)
	$(BIN)/resilin demo examples/demo.toml data.text=$(TEXT)

build/demo/kjv.txt:
	@tools/install.sh demo
	@mkdir -p build/demo
	bible -f Gen1:1-Rev22:21 </dev/null | sed 's/^[^ ]* //' >$@.part
	@mv $@.part $@

tour: build
	$(BIN)/resilin tour

bench: build
	@tools/install.sh bench
	cmake --build $(BUILD) --parallel $(JOBS) --target benchmarks
	@for name in $$(cat $(BUILD)/benchmarks.txt); do $(BIN)/$$name; done

# Everything a review wants: the yard's rules, headers that compile alone, the oldest clang, the sanitizers.
check:
	@tools/install.sh check
	tools/check.sh

# What takes too long for every test run: a million simulated schedules, ten thousand reconfigures, hundreds of kills. At most an hour.
soak: build
	timeout 2400 env RESILIN_DIST_SCHEDULES=1000000 $(BIN)/dist_test --test-case='the invariants hold after every event*'
	timeout 2400 $(BIN)/dist_test --test-suite=soak --no-skip
	timeout 2400 $(BIN)/tool_test --test-suite=soak --no-skip

# Each fault injected into the generator must turn the ops of its form red.
mutants: build
	$(BIN)/sweep --test-suite=mutants --no-skip

# Prints the generated kernels of the sweep.
kernels: build
	@$(BIN)/sweep --test-suite=kernels --no-skip

# PyTorch computes what our GPT computed: logits, gradients, twenty steps of AdamW.
interop: build
	@tools/install.sh interop
	@mkdir -p build/interop
	RESILIN_INTEROP_DIR=build/interop $(BIN)/training_test --test-suite=interop --no-skip
	/usr/bin/python3 tests/interop/gpt_torch.py build/interop/gpt.safetensors

# Our ops against PyTorch's answers to the samples of its operator database; the result is build/oracle.json.
oracle: build build/oracle/index.jsonl
	RESILIN_ORACLE_DIR=build/oracle $(BIN)/training_test --test-suite=oracle --no-skip

build/oracle/index.jsonl: tests/oracle/make_vectors.py
	@tools/install.sh oracle
	/usr/bin/python3 $< build/oracle

format:
	@tools/install.sh check
	find $(wildcard src tests tools bench examples python) -name '*.h' -o -name '*.cpp' | xargs -r -n 20 -P $(JOBS) clang-format-14 -i
