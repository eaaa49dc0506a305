#!/usr/bin/env bash
# Builds the files of a release from the last commit, tests them, and writes them with their checksums to dist/.
#   release.sh [--cpu] [PART...]      default: all parts, in this order
# rodeo-VERSION.tar.gz has the sources, and the parts are built from what it holds:
#   packages   rodeo_*.deb and librodeo-dev_*.deb, for this distribution, by scripts/build_packages.sh
#   wheel      rodeo_gnn-*.whl, by scripts/build_wheel.sh; one more for CUDA 12, where CUDACXX12 or /usr/local/cuda-12/bin/nvcc is its nvcc
# --cpu, or where there is no nvcc: without CUDA code. Tests: scripts/check_packages.sh, which needs root rights and debootstrap, and
# scripts/check_wheel.py. The last lines say what was left out.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "release.sh: $*" >&2; exit 1; }
flags=()
if [ "${1:-}" = --cpu ]; then
  flags=(--cpu)
  shift
fi
parts=("$@")
[ $# -gt 0 ] || parts=(packages wheel)
for part in "${parts[@]}"; do
  [[ $part =~ ^(packages|wheel)$ ]] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
done

version=$(sed -n 's/^project(rodeo VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed: commit or stash them"
grep -qF "\"$version\"" python/rodeo/_version.py || fail "python/rodeo/_version.py has another version than CMakeLists.txt, $version"
heading=$(grep -m 1 '^## ' CHANGELOG.md)
[[ $heading == "## $version"* ]] || fail "CHANGELOG.md begins with '$heading', not with version $version"
[[ $heading != *unreleased* ]] || echo "note: CHANGELOG.md says '${heading#\#\# }': put the date there before the release"

mkdir -p dist
tree=$PWD/dist/rodeo-$version
left_out=()
if [ -n "${flags[*]}" ]; then
  left_out+=("CUDA code, by --cpu")
elif ! command -v nvcc >/dev/null && [ -z "${CUDACXX:-}" ] && ! [ -x /usr/local/cuda/bin/nvcc ]; then
  flags=(--cpu)
  left_out+=("CUDA code: there is no nvcc")
elif ! nvidia-smi -L >/dev/null 2>&1; then
  left_out+=("training on a GPU: there is none")
fi

# Unpacked always in the same folder, where the compiler cache knows it.
rm -rf "$tree" dist/rodeo-*.tar.gz
git archive --prefix="rodeo-$version/" HEAD | gzip -9n >"dist/rodeo-$version.tar.gz"
tar -xf "dist/rodeo-$version.tar.gz" -C dist
(cd "$tree" && find . -type f -o -type l | sed 's/^\.\///' | sort) | cmp -s - <(git -c core.quotePath=off ls-files | sort) ||
  fail "the source tarball has other files than the commit"

run_packages() {
  rm -f dist/*.deb
  "$tree/scripts/build_packages.sh" "${flags[@]}" "$PWD/dist"
  if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
    "$tree/scripts/check_packages.sh" dist
  else
    left_out+=("the test of the packages, scripts/check_packages.sh: it needs root rights and debootstrap")
  fi
}
run_wheel() {
  rm -f dist/*.whl
  (cd "$tree" && scripts/build_wheel.sh "${flags[@]}")
  local nvcc12=${CUDACXX12:-/usr/local/cuda-12/bin/nvcc} wheel
  if [ -x "$nvcc12" ] && [ -z "${flags[*]}" ]; then
    (cd "$tree" && CUDACXX=$nvcc12 scripts/build_wheel.sh)
  else
    left_out+=("the wheel for CUDA 12: it needs CUDA code, and $nvcc12")
  fi
  mv "$tree"/dist/*.whl dist
  for wheel in dist/*.whl; do "$tree/scripts/check_wheel.py" --wheel "$wheel" --torch=; done
  left_out+=("the wheel beside PyTorch, with other Pythons than $(python3 -V), and in other systems: scripts/check_wheel.py")
}

times=
for part in "${parts[@]}"; do
  printf '\n== %s\n' "$part"
  begin=$SECONDS
  "run_$part"
  times+="$part: $((SECONDS - begin)) s"$'\n'
done
cd dist
shopt -s nullglob
sha256sum -- *.tar.gz *.deb *.whl >SHA256SUMS
printf '\n%s' "$times"
du -h -- *.tar.gz *.deb *.whl
for reason in "${left_out[@]}"; do echo "left out: $reason"; done
echo "dist/SHA256SUMS has the checksums of $(wc -l <SHA256SUMS) files of rodeo $version ($(git describe --always --dirty))"
