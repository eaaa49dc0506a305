#!/usr/bin/env bash
# The CPU backend under ThreadSanitizer: tests, and two training runs.   scripts/tsan.sh [GTEST_FILTER]
# Nearly all threads are OpenMP's. GCC's runtime is not instrumented, and every parallel loop would look like a race; LLVM's tells
# ThreadSanitizer of its barriers through Archer. So this is a build of its own (preset tsan, build-tsan) by clang++ with libomp:
#   scripts/install-packages.sh --tsan
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
# More threads than cores: they are interrupted anywhere. Calls of libraries that were not compiled with it (OpenBLAS, HDF5) are not
# looked into: it would miss how they synchronise.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4} TSAN_OPTIONS="ignore_noninstrumented_modules=1 allocator_may_return_null=1 ${TSAN_OPTIONS:-}"
run=()  # Clang's runtime of before 2024 wants the old randomisation of addresses
if setarch -R true 2>/dev/null; then run=(setarch -R); fi

# First that it can tell: a race is found, and a barrier is understood.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/check.cpp" <<'CODE'
#include <vector>
int main(int argc, char**) {
  int sum = 0;
  std::vector<int> x(1000), y(1000);
#pragma omp parallel for
  for (int i = 0; i < 1000; ++i) x[i] = i;
#pragma omp parallel for  // another thread's x: the barrier between the loops is what makes it right
  for (int i = 0; i < 1000; ++i) {
    y[i] = x[999 - i];
    if (argc > 1) sum += y[i];  // the race
  }
  return sum == 1;
}
CODE
clang++ -O1 -g -fopenmp -fsanitize=thread -o "$dir/check" "$dir/check.cpp" || skip "clang++ links no OpenMP program with it"
"${run[@]}" "$dir/check" || { echo "FAILED: ThreadSanitizer does not understand OpenMP's barriers here"; exit 1; }
if "${run[@]}" "$dir/check" race 2>/dev/null; then echo "FAILED: ThreadSanitizer finds no race here"; exit 1; fi

launcher=$(command -v ccache || true)
cmake --preset tsan ${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER=ccache} >/dev/null
cmake --build build-tsan --target rodeo_tests train_gcn train_gat rodeo_data
"${run[@]}" build-tsan/bin/rodeo_tests --gtest_brief=1 --gtest_filter="$filter:-*/cuda*"
"${run[@]}" build-tsan/bin/rodeo_data generate --preset cora --nodes 1000 --edges 5000 --features 50 --split 60/20/20 "$dir/cora.h5"
for command in train_gcn train_gat; do
  "${run[@]}" build-tsan/bin/$command --dataset "$dir/cora.h5" --device cpu --epochs 20 --quiet --checkpoint "$dir/$command" \
    --log "$dir/$command.jsonl" --report "$dir/$command.html"
done
echo "ThreadSanitizer found no race"
