#!/usr/bin/env bash
# scripts/release.sh refuses what is no release, before it builds anything; scripts/check_wheel.py finds a wheel from any folder, and looks at its CUDA:
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
# the CUDA of the name, of the folders that the loader looks into, and of the extra
for cuda in cublas cu13; do g++ -shared -x c++ /dev/null -o $cuda.so -Wl,-rpath,"\$ORIGIN/../nvidia/$cuda/lib"; done
python3 - <<'P'
import zipfile
for name, library, package in ("a+cu12-1.whl", "cublas", "nvidia-cublas<14"), ("b+cu12-1.whl", "cu13", "nvidia-cublas-cu12"), ("c-1.whl", "cublas", "nvidia-cublas<14"):
    with zipfile.ZipFile(name, "w") as wheel:
        wheel.writestr("a.dist-info/licenses/LICENSES-of-libraries.txt", "")
        wheel.writestr("a.dist-info/METADATA", f'Requires-Dist: {package}; extra == "cuda"\n')
        wheel.write(library + ".so", "rodeo/librodeo.so")
P
for wheel in a+cu12-1.whl b+cu12-1.whl c-1.whl; do
  if "$root/scripts/check_wheel.py" --wheel $wheel >out 2>&1; then echo "FAILED: $wheel passed"; exit 1; fi
  grep -q "$wheel looks for CUDA libraries in" out || { cat out; echo "FAILED: check_wheel.py did not refuse $wheel"; exit 1; }
done
