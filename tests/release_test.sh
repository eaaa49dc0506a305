#!/usr/bin/env bash
# scripts/release.sh refuses what is no release, before it builds anything; scripts/check_wheel.py finds a wheel from any folder:
#   release_test.sh ROOT    exit code 77 means skipped
set -euo pipefail
root=$1
git -C "$root" rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: not a git clone"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/clone/scripts" "$dir/clone/python/rodeo"
for file in scripts/release.sh CMakeLists.txt python/rodeo/_version.py CHANGELOG.md; do cp "$root/$file" "$dir/clone/$file"; done
cd "$dir/clone"
commit() { git add -A && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a; }
refused() { # refused TEXT ARGUMENT...
  if scripts/release.sh "${@:2}" >"$dir/out" 2>&1; then echo "FAILED: released"; exit 1; fi
  grep -qF -- "$1" "$dir/out" || { cat "$dir/out"; echo "FAILED: the output lacks: $1"; exit 1; }
  [ ! -e dist ] || { echo "FAILED: dist was written"; exit 1; }
}
git init -q . && commit
refused "release.sh [--cpu] [PART...]" nothing
echo >>CHANGELOG.md
refused "there are changes that are not committed"
sed -i 's/__version__ = .*/__version__ = "9.9.9"/' python/rodeo/_version.py && commit
refused "python/rodeo/_version.py has another version"
cp "$root/python/rodeo/_version.py" python/rodeo && sed -i '0,/^## .*/s//## 9.9.9/' CHANGELOG.md && commit
refused "CHANGELOG.md begins with '## 9.9.9'"
cd "$dir"
python3 -c 'import zipfile; zipfile.ZipFile("a.whl", "w").close()'
if "$root/scripts/check_wheel.py" --wheel a.whl >out 2>&1; then echo "FAILED: a wheel with nothing inside passed"; exit 1; fi
grep -q "a.whl has no list of licences" out || { cat out; echo "FAILED: check_wheel.py did not read a.whl"; exit 1; }
