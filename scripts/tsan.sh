#!/usr/bin/env bash
# Runs the CPU tests and two training runs under ThreadSanitizer.
#   scripts/tsan.sh [GTEST_FILTER]
# Nearly all threads are OpenMP threads. GCC's OpenMP runtime is not instrumented: every parallel loop would look like a race.
# LLVM's runtime reports its barriers to ThreadSanitizer through the library Archer. So this script builds with clang++ and libomp,
# in build-tsan (preset tsan). scripts/install-packages.sh --tsan installs them.
# No race is suppressed. Exit code 77: Clang, libomp or Archer is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
filter=${1:-Core*:Ops*:Layers*:Models*:Train*}
skip() { echo "skipped: $1 (scripts/install-packages.sh --tsan)"; exit 77; }
command -v clang++ >/dev/null || skip "no clang++"
archer=$(clang++ -print-file-name=libarcher.so)
[ -f "$archer" ] || archer=$(dirname "$(readlink -f "$(command -v clang++)")")/../lib/libarcher.so
[ -f "$archer" ] || skip "no libarcher.so"

export OMP_TOOL_LIBRARIES=$archer ARCHER_OPTIONS=report_data_leak=0
# More threads than cores, so that threads are preempted anywhere. Libraries without instrumentation (OpenBLAS, HDF5) are ignored:
# ThreadSanitizer does not see how they synchronise.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4} TSAN_OPTIONS="ignore_noninstrumented_modules=1 allocator_may_return_null=1 ${TSAN_OPTIONS:-}"
run=()  # ThreadSanitizer before Clang 18 fails with the address randomisation of newer kernels
if setarch -R true 2>/dev/null; then run=(setarch -R); fi

# Checks the tool first: it must find a race, and accept the barrier between two parallel loops.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/check.cpp" <<'CODE'
#include <vector>
int main(int argc, char**) {
  int sum = 0;
  std::vector<int> x(1000), y(1000);
#pragma omp parallel for
  for (int i = 0; i < 1000; ++i) x[i] = i;
#pragma omp parallel for  // reads what another thread wrote: correct only because of the barrier between the loops
  for (int i = 0; i < 1000; ++i) {
    y[i] = x[999 - i];
    if (argc > 1) sum += y[i];  // the race
  }
  return sum == 1;
}
CODE
clang++ -O1 -g -fopenmp -fsanitize=thread -o "$dir/check" "$dir/check.cpp" || skip "clang++ cannot link an OpenMP program with ThreadSanitizer"
"${run[@]}" "$dir/check" || { echo "FAILED: ThreadSanitizer reports a race where there is an OpenMP barrier"; exit 1; }
if "${run[@]}" "$dir/check" race 2>/dev/null; then echo "FAILED: ThreadSanitizer does not find a race"; exit 1; fi

launcher=$(command -v ccache || true)
cmake --preset tsan ${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER=ccache} >/dev/null
cmake --build build-tsan --target room_tests train_gcn train_gat rodeo_data
"${run[@]}" scripts/test_shards.sh build-tsan 1 1 "$filter:-*/cuda*"
"${run[@]}" build-tsan/bin/rodeo_data generate --preset cora --nodes 1000 --edges 5000 --features 50 --split 60/20/20 "$dir/cora.h5"
for command in train_gcn train_gat; do
  "${run[@]}" build-tsan/bin/$command --dataset "$dir/cora.h5" --device cpu --epochs 20 --quiet --checkpoint "$dir/$command" \
    --log "$dir/$command.jsonl" --report "$dir/$command.html"
done
echo "ThreadSanitizer found no race"
