#!/usr/bin/env bash
# Uses the installed library from the prefix alone, without the source tree.
#   installed_test.sh PART BUILD PREFIX VERSION      exit code 77 means skipped
set -euo pipefail
part=$1 build=$2 prefix=$3 version=${4:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
export RODEO_CACHE_DIR="$dir/cache"
unset CXXFLAGS CPATH CMAKE_PREFIX_PATH

# example NAME: builds and runs an installed example in $dir/app.
example() {
  cp -r "$prefix/share/doc/rodeo/examples/$1" "$dir/app"
  # The project may have a folder core/ of its own: the library's headers must not include its files.
  mkdir -p "$dir/app/core"
  echo '#error "the library included a header of the project that uses it"' | tee "$dir/app/core/tensor.h" >"$dir/app/core/error.h"
  cmake -S "$dir/app" -B "$dir/app/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror -I$dir/app" \
    >"$dir/log" 2>&1 && cmake --build "$dir/app/build" >>"$dir/log" 2>&1 || { cat "$dir/log"; fail "$1 does not build"; }
  grep -q "warning" "$dir/log" && { cat "$dir/log"; fail "$1 builds with warnings"; }
  "$dir/app/build/$1" >"$dir/out" || { cat "$dir/out"; fail "$1 exited with $?"; }
  cat "$dir/out"
}
accuracy_above() {
  awk -v least="$1" '/^test accuracy/ {seen = 1; if ($3 < least) exit 1} END {exit !seen}' "$dir/out" || fail "accuracy is not above $1"
}

case $part in
install)
  rm -rf "$prefix"
  cmake --install "$build" --prefix "$prefix" >"$dir/log" || { cat "$dir/log"; fail "cmake --install"; }
  for command in train_gcn train_gat rodeo_data rodeo_gradcheck; do
    "$prefix/bin/$command" --version >/dev/null || fail "$command does not run"
  done
  "$prefix/bin/rodeo_data" generate --preset cora "$dir/a.h5" >"$dir/log"
  "$prefix/bin/rodeo_data" validate "$dir/a.h5" >"$dir/log" 2>&1 || fail "validate: $(cat "$dir/log")"
  grep -q warning "$dir/log" && fail "the program that checks files from others is not found: $(cat "$dir/log")"
  "$prefix/bin/rodeo_data" import none.npz "$dir/x.h5" >"$dir/log" 2>&1 && fail "rodeo_data imports a file that is not there"
  grep -qF "runs python3 $prefix/bin/to_h5.py none.npz " "$dir/log" || fail "rodeo_data does not find to_h5.py: $(cat "$dir/log")"
  [ -f "$prefix/include/rodeo/version.h" ] || fail "no rodeo/version.h"
  if python3 -c 'import h5py, numpy' 2>/dev/null; then
    (cd "$dir" && PYTHONDONTWRITEBYTECODE=1 "$prefix/bin/to_h5.py" --help >/dev/null) || fail "to_h5.py does not run"
  else
    [ -x "$prefix/bin/to_h5.py" ] && [ -f "$prefix/share/rodeo/scripts/to_h5_parts/write.py" ] || fail "to_h5.py is not installed"
  fi
  [ ! -e "$prefix/include/core" ] || fail "headers are installed outside of include/rodeo"
  # Headers of subfolders are private, and rodeo.h includes all others.
  private=$(cd "$prefix/include" && find rodeo -mindepth 3 -name '*.h*')
  [ -z "$private" ] || fail "private headers are installed: $private"
  (cd "$prefix/include" && find rodeo -mindepth 2 -name '*.h') | sort >"$dir/installed"
  sed -n 's/^#include "\(rodeo\/.*\/.*\)"$/\1/p' "$prefix/include/rodeo/rodeo.h" | sort | diff "$dir/installed" - || fail "rodeo.h includes other headers than those installed"
  # Installing again changes nothing.
  (cd "$prefix" && find . -type f -exec cksum {} + | sort) >"$dir/first"
  cmake --install "$build" --prefix "$prefix" >/dev/null
  (cd "$prefix" && find . -type f -exec cksum {} + | sort) | cmp -s "$dir/first" - || fail "a second cmake --install changes files"
  ;;
documents) # guide, documents, completions and scripts are there, and no link is dead
  doc=$prefix/share/doc/rodeo
  for file in README.md docs/guide.md docs/daily_use.md datasets/README.md examples/custom_op/edge_distance.cu LICENSE; do
    [ -f "$doc/$file" ] || fail "$file is not installed"
  done
  find "$doc" -name '*.md' -exec grep -oHE '\]\([^)#: ]+[)#]' {} + >"$dir/links"
  [ "$(wc -l <"$dir/links")" -ge 100 ] || fail "only $(wc -l <"$dir/links") links found"
  while IFS= read -r link; do
    file=${link%%:*} target=${link##*](}
    target=${target%?}
    [ -e "${file%/*}/$target" ] || fail "${file#"$prefix"/} has a dead link: $target"
  done <"$dir/links"
  # The manual page of each command has all options of its help, and groff finds no fault with it.
  for command in train_gcn train_gat rodeo_train rodeo_predict rodeo_data rodeo_gradcheck; do
    page=$prefix/share/man/man1/$command.1.gz
    [ -f "$page" ] || fail "$command has no manual page"
    gzip -dc "$page" | tr -d '\\' >"$dir/page"
    case $command in
    rodeo_data) helps=("generate --help" "import --help" "subset --help") ;;
    *) helps=("--help" "--help kernels") ;;
    esac
    for help in "${helps[@]}"; do
      # shellcheck disable=SC2086  # words
      "$prefix/bin/$command" $help | sed -nE 's/^ +(-[a-z], )?(--[a-z][a-z-]*).*/\2/p' >"$dir/options"
      while IFS= read -r option; do
        grep -qE "^(fB-[a-z],fR )?fB${option}fR" "$dir/page" || fail "the manual page of $command lacks $option"
      done <"$dir/options"
    done
    if command -v groff >/dev/null; then
      gzip -dc "$page" | groff -man -ww -z >"$dir/log" 2>&1
      [ ! -s "$dir/log" ] || fail "groff finds faults in the manual page of $command: $(head -n 3 "$dir/log")"
    fi
  done
  # complete_last WORD...: what bash completes the last word to, with nothing but the prefix.
  complete_last() {
    PATH="$prefix/bin:$PATH" bash --norc -c 'source "$1/share/bash-completion/completions/$2"; shift
      spec=($(complete -p "$1")); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
      for ((i = 0; i < ${#spec[@]}; i++)); do [ "${spec[i]}" != -F ] || "${spec[i + 1]}" "$1" "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"; done
      echo "${COMPREPLY[*]}"' - "$prefix" "$@"
  }
  completes() { [ "$(complete_last "${@:2}")" = "$1" ] || fail "bash completes '${*:2}' to '$(complete_last "${@:2}")', not to '$1'"; }
  completes --hidden train_gcn --hid
  completes "gat gatv2" rodeo_train --model gat
  completes generate rodeo_data gen
  completes --preset rodeo_data generate --pres
  completes --undirected rodeo_data import --und
  completes --weights rodeo_predict --wei
  completes --layer rodeo_gradcheck --lay
  touch "$dir/graph.h5"
  completes "$dir/graph.h5" rodeo_data inspect "$dir/gra"
  ;;
headers) # all compile in two orders, with nothing but the prefix on the include path; tests/rules_test.py reads what each one includes
  (cd "$prefix/include" && find rodeo -name '*.h') | sort >"$dir/headers"
  [ "$(wc -l <"$dir/headers")" -ge 40 ] || fail "only $(wc -l <"$dir/headers") headers"
  sed 's/.*/#include "&"/' "$dir/headers" >"$dir/forward.cpp"
  tac "$dir/forward.cpp" >"$dir/backward.cpp"
  g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I"$prefix/include" "$dir/forward.cpp" "$dir/backward.cpp" || fail "a header does not compile"
  ;;
custom_layer)
  example custom_layer
  grep -qx ok "$dir/out" || fail "the example prints no 'ok' for its gradient check"
  accuracy_above 0.6
  ;;
custom_op)
  example custom_op
  grep -qx ok "$dir/out" || fail "the example prints no 'ok' for its gradient check"
  ;;
minimal_training_loop)
  example minimal_training_loop
  accuracy_above 0.6
  lines=$(wc -l <"$dir/app/main.cpp")
  [ "$lines" -le 60 ] || fail "main.cpp has $lines lines, more than 60"
  ;;
mini_batches)
  example mini_batches
  accuracy_above 0.6
  ;;
pkg_config)
  command -v pkg-config >/dev/null || { echo "skipped: pkg-config is not installed"; exit 77; }
  export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
  [ "$(pkg-config --modversion rodeo)" = "$version" ] || fail "pkg-config has version $(pkg-config --modversion rodeo)"
  # shellcheck disable=SC2046  # the flags are separate words
  g++ -std=c++20 "$prefix/share/doc/rodeo/examples/minimal_training_loop/main.cpp" -o "$dir/loop" \
    $(pkg-config --cflags --libs rodeo) || fail "pkg-config's flags do not link"
  "$prefix/bin/rodeo_data" generate --preset cora --nodes 500 --edges 2000 --features 50 --split 60/20/20 "$dir/small.h5" >/dev/null
  "$dir/loop" "$dir/small.h5" >"$dir/out"
  accuracy_above 0.3
  ;;
missing) # find_package names a missing dependency, and refuses another version
  mkdir "$dir/app"
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\nfind_package(rodeo ${wanted} REQUIRED)\n' >"$dir/app/CMakeLists.txt"
  configure() { cmake -S "$dir/app" -B "$dir/app/build" --fresh -DCMAKE_PREFIX_PATH="$prefix" "$@" >"$dir/log" 2>&1; }
  says() { tr -s ' \n' '  ' <"$dir/log" | grep -qF -- "$1" || { cat "$dir/log"; fail "the output lacks: $1"; }; }
  configure || { cat "$dir/log"; fail "find_package without a version"; }
  configure -Dwanted="${version%.*}" || fail "version ${version%.*} is not accepted"
  ! configure -Dwanted=99.0 || fail "version 99 is accepted"
  ! configure -DCMAKE_FIND_ROOT_PATH="$dir/none" -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY || fail "find_package succeeds without HDF5"
  says "HDF5 was not found: install libhdf5-dev."
  says "OpenBLAS was not found: install libopenblas-openmp-dev."
  ! configure -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON || fail "find_package succeeds without fmt"
  says "fmt was not found: install libfmt-dev."
  ;;
package)
  command -v dpkg-shlibdeps >/dev/null || { echo "skipped: dpkg-dev is not installed"; exit 77; }
  cd "$dir"
  pack() { cpack --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=none "$@" >"$dir/log" 2>&1; }  # gzip takes half of the time
  if ! pack; then
    # cpack refuses a build for this machine's processor or GPU alone. It is good enough to test the packages.
    grep -q "to package it" "$dir/log" || { cat "$dir/log"; fail "cpack"; }
    pack -D CPACK_RODEO_REFUSE= || { cat "$dir/log"; fail "cpack"; }
  fi
  commands=$(ls rodeo_"$version"_*.deb) dev=$(ls librodeo-dev_"$version"_*.deb) tarball=$(ls rodeo-"$version"-*.tar.gz)
  depends=$(dpkg-deb -f "$commands" Depends)
  libraries="libc6 libgomp1 libhdf5 libfmt libopenblas"
  # libstdc++ is a dependency only where the compiler comes from a package.
  ! dpkg -S "$(realpath "$(${CXX:-c++} -print-file-name=libstdc++.so)")" >/dev/null 2>&1 || libraries+=" libstdc++6"
  for library in $libraries; do
    [[ $depends == *$library* ]] || fail "rodeo does not depend on $library: $depends"
  done
  [[ $(dpkg-deb -f "$dev" Depends) == *libhdf5-dev*libopenblas* ]] || fail "librodeo-dev depends on $(dpkg-deb -f "$dev" Depends)"
  # The unpacked packages work in any folder.
  dpkg-deb -x "$commands" root && dpkg-deb -x "$dev" root && tar -xf "$tarball"
  root/usr/bin/rodeo_data generate --preset cora --nodes 200 --edges 800 --features 20 --split 60/20/20 "$dir/small.h5"
  root/usr/bin/train_gcn --dataset "$dir/small.h5" --epochs 2 --device cpu --quiet
  [ -f root/usr/share/doc/rodeo/copyright ] && [ -f root/usr/share/doc/librodeo-dev/copyright ] || fail "no copyright"
  [ -f "${tarball%.tar.gz}/include/rodeo/rodeo.h" ] && "${tarball%.tar.gz}/bin/train_gcn" --version
  echo "$commands: $depends"
  ;;
*) fail "unknown part $part" ;;
esac
