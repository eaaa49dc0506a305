#!/usr/bin/env bash
# Reads damaged files of every kind (tests/fuzz) under AddressSanitizer and UndefinedBehaviorSanitizer.
#   scripts/fuzz.sh [HOURS [SEED [TARGET]]]     default: 1 hour, a seed from the clock, all targets
# Inputs that crash are written to build-asan/fuzz. `fuzz TARGET @NUMBER SEED` runs one again.
set -euo pipefail
cd "$(dirname "$0")/.."
hours=${1:-1} seed=${2:-$(date +%s)} target=${3:-all}
seconds=$(awk -v hours="$hours" 'BEGIN {if (hours !~ /^[0-9.]+$/ || hours <= 0) exit 1; printf "%d", hours * 3600}') ||
  { echo "fuzz.sh: HOURS must be a positive number, got '$hours'"; exit 2; }
launcher=$(command -v ccache || true)
cmake -S . -B build-asan -DRODEO_CUDA=OFF -DRODEO_PCH=ON -DRODEO_SANITIZE=address,undefined -DCMAKE_CXX_FLAGS_RELEASE=-O1 \
  ${launcher:+-DCMAKE_CXX_COMPILER_LAUNCHER="env;CCACHE_SLOPPINESS=pch_defines,time_macros;$launcher"} >/dev/null
cmake --build build-asan --target fuzz -j "$(nproc)"
mkdir -p build-asan/fuzz
echo "fuzz $target $seconds $seed"
# Damaged headers make HDF5 allocate any size: such an allocation must fail, not end the process.
ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=1024 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
  build-asan/tests/fuzz "$target" "$seconds" "$seed" build-asan/fuzz
