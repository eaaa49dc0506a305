# make demo: installs missing packages, builds the library and the commands, generates a graph of Cora's size and trains a GCN on it.
# make test: builds everything, runs all tests that this machine can run, and says why the others were skipped.
# make bench: builds everything and compares the sparse kernels with their baselines.
# make tidy: runs clang-tidy on what differs from origin/main. make format: clang-format on all sources.
BUILD ?= build
CMAKE_FLAGS ?=
# Tests at a time. Tests that run side by side would share a GPU's memory and disturb each other's timings.
TEST_JOBS ?= $(if $(wildcard /dev/nvidia0),1,2)
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache $(CMAKE_FLAGS)

.PHONY: build demo test bench tidy format clean packages

build: packages
	@$(CONFIGURE) --log-level=STATUS | grep -E 'Backends|rror' || true
	@cmake --build $(BUILD)

packages:
	@scripts/install-packages.sh

demo: packages
	@$(CONFIGURE) >/dev/null
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
	@scripts/tidy.sh --build $(BUILD)

format:
	@find core ops layers models datasets train python bench tests examples \( -name '*.h' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 clang-format -i

clean:
	rm -rf $(BUILD)
