#!/usr/bin/env bash
# Builds the Debian packages rodeo and librodeo-dev for this distribution and for any x86-64 processor.
#   build_packages.sh [--cpu | --cuda ARCHITECTURES] [FOLDER]      writes them to FOLDER (default: dist)
#   --cuda  code for these GPUs, and PTX of the last for later ones; default: 80;86;89;90;100;120
#   --cpu   no CUDA code
# They have no MPI: ranks join over TCP and NCCL. The build is in build-packages, with code that may be linked into shared libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
cuda=ON architectures="80;86;89;90;100;120"
if [ "${1:-}" = --cpu ]; then
  cuda=OFF
  shift
elif [ "${1:-}" = --cuda ]; then
  architectures=${2:?--cuda needs a list, such as 80;90}
  shift 2
fi
mkdir -p "${1:-dist}"
folder=$(realpath "${1:-dist}")
# Paths below the folder are relative for the compiler cache, which serves equal sources in another folder, such as a container's.
cache="env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_COMPILERCHECK=content;CCACHE_BASEDIR=$PWD;ccache"
cmake -S . -B build-packages -G Ninja "-DCMAKE_CXX_COMPILER_LAUNCHER=$cache" -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache -DRODEO_PCH=ON \
  -DRODEO_NATIVE=OFF -DRODEO_MPI=OFF -DRODEO_PYTHON=OFF -DRODEO_TESTS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DRODEO_SHARED_COMMANDS=ON -DRODEO_CUDA=$cuda "-DCMAKE_CUDA_ARCHITECTURES=${architectures//;/-real;}" |
  grep Backends
cmake --build build-packages --target commands rodeo_h5_check
cpack -G DEB --config build-packages/CPackConfig.cmake -B build-packages/packages >/dev/null
mv build-packages/packages/*.deb "$folder"
