# Sourced by the tests of training commands over ranks: SCRIPT FOLDER_OF_COMMANDS [cpu|cuda].
set -euo pipefail
bin=$(cd "$1" && pwd)
device=${2:-cpu}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1 RODEO_CACHE_DIR=$work/cache

fail() { echo "FAILED: $*"; exit 1; }
run() { "$bin/rodeo_train" --device "$device" "$@" > out.txt 2> err.txt; }
last_loss() { tail -1 "$1" | cut -d, -f2; }
expect_near() { # two numbers, and by how much they may differ, relative
  awk -v a="$1" -v b="$2" -v d="$3" 'BEGIN { e = a - b; if (e < 0) e = -e; exit !(e <= d * b) }' || fail "$1, not $2"
}
expect_one_line() { [ "$(wc -l < "$1")" = 1 ] || fail "not one line: $(cat "$1")"; }
