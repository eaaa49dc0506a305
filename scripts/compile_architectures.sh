#!/usr/bin/env bash
# Compiles the CUDA code for several GPU architectures, with warnings as errors. Nothing is linked or run.
#   scripts/compile_architectures.sh [--sample] [ARCHITECTURE...]      default: 80 86 89 90 100 120
# --sample compiles one file of each room with CUDA code, the smallest. Code for wgmma is compiled for 90a, always.
# All of it takes an hour on two cores; objects go to build-architectures and, where there is one, into ccache.
set -euo pipefail
cd "$(dirname "$0")/.."
sample=
if [ "${1:-}" = --sample ]; then sample=yes; shift; fi
architectures=("$@")
[ $# -gt 0 ] || architectures=(80 86 89 90 100 120)
for architecture in "${architectures[@]}"; do
  [[ $architecture =~ ^[0-9]+[a-z]?$ ]] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
done

build=build-architectures
launcher=$(command -v ccache || true)
cmake -S . -B $build -G Ninja -DRODEO_CUDA=ON -DRODEO_WERROR=ON -DRODEO_TESTS=OFF ${launcher:+-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache} \
  "-DCMAKE_CUDA_ARCHITECTURES=$(IFS=';'; echo "${architectures[*]/%/-real}")" >/dev/null

mapfile -t objects < <(ninja -C $build -t targets all | sed -n 's/\.cu\.o: CUDA_COMPILER.*/.cu.o/p')
if [ -n "$sample" ]; then
  # By folder and size: the first file of each folder is its smallest.
  mapfile -t objects < <(
    for object in "${objects[@]}"; do
      source=${object#CMakeFiles/*.dir/} source=${source%.o}
      echo "$(dirname "$source") $(stat -c %s "$source") $object"
    done | sort -k1,1 -k2,2n | awk '!seen[$1]++ {print $3}')
fi
[ ${#objects[@]} -gt 0 ] || { echo "compile_architectures.sh: no CUDA code found" >&2; exit 1; }
cmake --build $build --target "${objects[@]}" -- -k 0
echo "${#objects[@]} files compile for ${architectures[*]} without a warning"
