# make demo: install what is missing, build, generate a graph of Cora's size, train a GCN on it.
# make test: build everything and run all tests that this machine can run.
BUILD ?= build
CMAKE_FLAGS ?=
# Tests at a time: one where there is a GPU, whose memory and time they would share.
TEST_JOBS ?= $(if $(wildcard /dev/nvidia0),1,2)
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache $(CMAKE_FLAGS)

.PHONY: build demo test bench format clean packages

build: packages
	@$(CONFIGURE) --log-level=STATUS | grep -E 'Backends|rror' || true
	@cmake --build $(BUILD)

packages:
	@scripts/install-packages.sh

demo: packages
	@$(CONFIGURE) >/dev/null
	@cmake --build $(BUILD) --target rodeo_data train_gcn
	@$(BUILD)/bin/rodeo_data generate --preset cora --seed 1 $(BUILD)/demo.h5
	@$(BUILD)/bin/train_gcn --dataset $(BUILD)/demo.h5 --epochs 200

test: build
	@rm -f $(BUILD)/skipped.*.txt
	@status=0; OMP_WAIT_POLICY=passive ctest --test-dir $(BUILD) -j $(TEST_JOBS) --output-on-failure || status=$$?; \
	if cat $(BUILD)/skipped.*.txt 2>/dev/null | grep -q .; then \
	  echo; echo "Skipped on this machine:"; cat $(BUILD)/skipped.*.txt | sed 's/^/  /'; fi; exit $$status

bench: build
	@$(BUILD)/bin/sparse_bench

format:
	@find core ops layers models datasets train tests examples \( -name '*.h' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' \) -print0 | xargs -0 clang-format -i

clean:
	rm -rf $(BUILD)
