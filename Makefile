# Short names for what CMake presets do. Everything is built under build/<preset>.

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= $(shell date +%s)
RELEASE := build/release
TOOL := $(RELEASE)/bin/espalier
SUITE ?= core
MATMUL := matmul:m=512,n=512,k=512
CONV := conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,epilogue=bias+relu
TEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: packages build test demo fuzz sanitize format tidy check bench research clean

build: packages    ## the release build; leaves build/release/bin/espalier
	cmake --preset release
	cmake --build --preset release -j $(JOBS)

packages:          ## install what is missing of cmake/packages.txt
	cmake/install-packages.sh

test: build        ## every test, checks included
	cd $(RELEASE) && $(TEST)

demo: build        ## a layer of ResNet-50 from its definition to a tuned kernel beside oneDNN
	examples/demo.sh $(RELEASE)

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

bench: build       ## tunes the suite of the README and times it beside the peers; then the compiler's own parts
	bench/tune_suite.py --tool $(TOOL) --suite $(SUITE) --records $(RELEASE)/$(SUITE).jsonl
	$(TOOL) bench --suite $(SUITE) --threads 1 --records $(RELEASE)/$(SUITE).jsonl --json $(RELEASE)/$(SUITE).json
	$(RELEASE)/bin/bench/compile_time --workload $(MATMUL) --workload $(CONV) --records $(RELEASE)/$(SUITE).jsonl
	$(RELEASE)/bin/bench/micro

# The whole comparison, some hours: make research RESEARCH="--seeds 5 --trials 1000 --ablations"
RESEARCH ?= --seeds 1 --trials 200 --share 0.5 --log build/research/search.jsonl.gz --out build/research/search.md
research: build    ## cost models on the pool, then search policies against the baseline, in minutes
	bench/models/research.py
	bench/research/research.py --tool $(TOOL) $(RESEARCH)

clean:
	rm -rf build
