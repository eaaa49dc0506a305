#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy) on host sources of the library.
#   scripts/tidy.sh [--build FOLDER] [--most N] [--all | --sample | FILE...]
# Default: the sources that differ from origin/main, and those beside a header that differs. --sample takes the first source of
# each room, --most the first N files. FOLDER is a configured build without precompiled headers; by default build-tidy, which is
# configured here. Sources that it does not compile are left out.
# Exit code 77: clang-tidy 14 is missing. Other versions have other checks.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build-tidy most=1000 which=changed files=()
while (($# > 0)); do
  case $1 in
    --build) build=${2:?--build needs a folder}; shift 2 ;;
    --most) most=${2:?--most needs a number}; shift 2 ;;
    --all) which=all; shift ;;
    --sample) which=sample; shift ;;
    --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit ;;
    -*) echo "tidy.sh: unknown option '$1'" >&2; exit 2 ;;
    *) which=named files+=("$1"); shift ;;
  esac
done
tidy=$(command -v clang-tidy-14 || command -v clang-tidy || true)
[ -n "$tidy" ] || { echo "skipped: clang-tidy is not installed (scripts/install-packages.sh --dev)"; exit 77; }
version=$("$tidy" --version)
[[ $version =~ version\ 14\. ]] || { echo "skipped: needs clang-tidy 14, found: $(grep -o 'version .*' <<<"$version")"; exit 77; }
database=$build/compile_commands.json
[ "$build" != build-tidy ] || cmake -S . -B build-tidy -G Ninja -DRODEO_PCH=OFF >/dev/null  # clang-tidy cannot read those of g++
[ -f "$database" ] || { echo "tidy.sh: no $database: configure first, or name the build folder with --build" >&2; exit 2; }

sources() { find core ops layers models datasets train -name '*.cpp' | LC_ALL=C sort; }
case $which in
  all) mapfile -t files < <(sources) ;;
  sample) mapfile -t files < <(sources | awk -F/ '{room = $0; sub(/\/[^\/]*$/, "", room)} !seen[room]++') ;;
  changed)
    base=$(git merge-base HEAD origin/main 2>/dev/null) || { echo "tidy.sh: no origin/main to compare with: use --all or --sample" >&2; exit 2; }
    mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- core ops layers models datasets train | sed 's/\.h$/.cpp/' | LC_ALL=C sort -u) ;;
esac
checked=()
for file in "${files[@]}"; do
  [[ $file == *.cpp ]] && grep -qF "\"file\": \"$PWD/$file\"" "$database" && checked+=("$file")
  [ ${#checked[@]} -lt "$most" ] || break
done
[ ${#checked[@]} -gt 0 ] || { echo "clang-tidy: no source to check"; exit 0; }
echo "clang-tidy: ${#checked[@]} sources"
printf '%s\0' "${checked[@]}" | xargs -0 -P "$(nproc)" -n 1 "$tidy" --quiet -p "$build" 2> >(grep -v 'warnings\? generated' >&2)
