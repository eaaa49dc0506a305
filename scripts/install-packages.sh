#!/usr/bin/env bash
# Installs the missing packages of the distribution (Debian 12, Ubuntu 24.04): those of the build, and
#   --dev   those of the checks in .ci/run: clang-format, clang-tidy, Doxygen, dpkg-dev for packages, Python for to_h5.py, Open MPI
#   --tsan  those of scripts/tsan.sh: Clang and its OpenMP runtime
# The CUDA toolkit is never installed; the build uses it where it finds nvcc.
set -euo pipefail
packages=(g++ cmake ninja-build ccache pkg-config libhdf5-dev zlib1g-dev libcxxopts-dev libfmt-dev nlohmann-json3-dev libgtest-dev)
[ "${1:-}" != --dev ] || packages+=(make git dpkg-dev debootstrap file clang-format clang-tidy lld libomp-dev doxygen python3 python3-dev python3-venv python3-h5py python3-numpy python3-scipy
                                  python3-networkx python3-pandas libopenmpi-dev openmpi-bin)
[ "${1:-}" != --tsan ] || packages+=(clang libomp-dev)

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
command -v dpkg-query >/dev/null || { echo "not a Debian system: please install the equivalents of ${packages[*]} and OpenBLAS" >&2; exit 0; }

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
# Any build of OpenBLAS works. The OpenMP one shares its thread pool with the library's own loops.
if ! installed libopenblas-openmp-dev && ! installed libopenblas-pthread-dev && ! installed libopenblas-dev; then
  missing+=(libopenblas-openmp-dev)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

echo "Installing ${missing[*]}"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "please install as root: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
