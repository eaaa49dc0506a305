# make demo: installs missing packages, builds the library and the commands, generates a graph of Cora's size and trains a GCN on it.
#            Without a GPU it compiles no CUDA code, unless the folder has it already (CMAKE_FLAGS=-DRODEO_CUDA=ON compiles it).
# make test: builds everything, runs all tests that this machine can run, and says why the others were skipped. CUDA code is
#            compiled where nvcc is: also in the folder of a demo, once.
# make bench: builds everything and compares the sparse kernels with their baselines.
# make tidy: runs clang-tidy on what differs from origin/main. make format: clang-format on all sources.
SHELL = bash
.SHELLFLAGS = -o pipefail -c
BUILD ?= build
CMAKE_FLAGS ?=
# Tests at a time. Tests that run side by side would share a GPU's memory and disturb each other's timings.
TEST_JOBS ?= $(if $(wildcard /dev/nvidia0),1,2)
# Groups of sources are compiled at once, which takes two thirds of the time of each alone (RODEO_UNITY=OFF: for work on the code).
# ccache needs the sloppiness for precompiled headers.
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja "-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache" \
  -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache -DRODEO_PCH=ON -DRODEO_UNITY=ON $(CUDA) $(CMAKE_FLAGS) --log-level=STATUS | grep Backends
# GPU: CUDA code where there is a GPU, too. Only for a new folder; what was compiled once stays.
demo: CUDA = $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DRODEO_CUDA=GPU)
build: CUDA = $(shell ! grep -qs '^RODEO_CUDA:STRING=GPU' $(BUILD)/CMakeCache.txt || echo -DRODEO_CUDA=AUTO)

.PHONY: build demo test bench tidy format clean packages

build: packages
	@$(CONFIGURE)
	@cmake --build $(BUILD)

packages:
	@scripts/install-packages.sh

demo: packages
	@$(CONFIGURE)
	@cmake --build $(BUILD) --target commands
	@$(BUILD)/bin/rodeo_data generate --preset cora --seed 1 $(BUILD)/demo.h5
	@$(BUILD)/bin/train_gcn --dataset $(BUILD)/demo.h5 --epochs 200

test: build
	@rm -f $(BUILD)/skipped.*.txt $(BUILD)/ctest.xml
	@status=0; OMP_WAIT_POLICY=passive ctest --test-dir $(BUILD) -j $(TEST_JOBS) --output-on-failure --output-junit ctest.xml || status=$$?; \
	tests/skips.sh $(BUILD) $(BUILD)/ctest.xml; exit $$status

bench: build
	@$(BUILD)/bin/sparse_bench

tidy:
	@scripts/tidy.sh

format:
	@find core ops layers models datasets train python bench tests examples \( -name '*.h' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 clang-format -i

clean:
	rm -rf $(BUILD)
