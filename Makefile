# Short names for what CMake presets do. Everything is built under build/<preset>.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= $(shell date +%s)
RELEASE := build/release
TOOL := $(RELEASE)/bin/espalier
TEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: packages build test demo fuzz sanitize format tidy check bench clean

build:             ## the release build; leaves build/release/bin/espalier
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

packages:          ## install what is missing of cmake/packages.txt
	cmake/install-packages.sh

test: build        ## every test, checks included
	cd $(RELEASE) && $(TEST)

demo: build        ## a short search from end to end
	$(TOOL) tune --workload matmul:m=256,n=256,k=256,epilogue=relu --trials 32 --seconds 20 \
	  --records $(RELEASE)/demo.jsonl
	$(TOOL) run --workload matmul:m=256,n=256,k=256,epilogue=relu --records $(RELEASE)/demo.jsonl --check

fuzz: build        ## every fuzzer for FUZZ_SECONDS each, from FUZZ_SEED
	@for fuzzer in $(RELEASE)/bin/fuzz/*; do \
	  [ -x "$$fuzzer" ] || continue; \
	  echo "$$fuzzer --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)"; \
	  "$$fuzzer" --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) || exit 1; \
	done

sanitize:          ## every test under the address, undefined-behaviour and thread sanitizers
	for preset in asan-ubsan tsan; do \
	  cmake --preset $$preset && cmake --build --preset $$preset -j $(JOBS) && \
	  (cd build/$$preset && $(TEST) -E '^check\.') || exit 1; \
	done

format:            ## rewrite all sources in the project's format
	tests/check_format.sh --fix

tidy: build        ## clang-tidy over all sources but tests
	run-clang-tidy-19 -quiet -p $(RELEASE) -j $(JOBS) '^$(CURDIR)/(?!.*_test\.cpp$$)'

check:             ## layers, format and links
	python3 -B tests/check_layers.py
	tests/check_format.sh
	python3 -B tests/check_docs.py

bench: build       ## the operator suite against its peers
	$(TOOL) bench --suite ops

clean:
	rm -rf build
