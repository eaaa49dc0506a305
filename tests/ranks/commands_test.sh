#!/usr/bin/env bash
# Training commands over ranks that they start themselves: losses, files written once, resuming, errors.
# Usage: commands_test.sh FOLDER_OF_COMMANDS
set -euo pipefail
bin=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

fail() { echo "FAILED: $*"; exit 1; }
train() { "$bin/rodeo_train" --model gcn --dataset g.h5 --device cpu --spmm rode --quiet "$@" > out.txt 2> err.txt; }
last_loss() { tail -1 "$1" | cut -d, -f2; }
expect_equal() { # two losses, 1e-5 relative
  awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= 1e-5 * b) }' || fail "loss $1, not $2"
}
expect_error() { # exit code, text, options
  local code=0
  train "${@:3}" || code=$?
  [ "$code" = "$1" ] || fail "exit code $code, not $1: ${*:3}: $(cat err.txt)"
  grep -q -- "$2" err.txt || fail "no '$2' in: $(cat err.txt)"
  [ "$(wc -l < err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"
}

"$bin/rodeo_data" generate --nodes 200 --edges 800 --features 20 --classes 3 --split 50/25/25 g.h5 > /dev/null
train --epochs 20 --csv one.csv
for ranks in 2 4; do
  train --epochs 20 --ranks $ranks --csv $ranks.csv --export $ranks.safetensors
  [ "$(wc -l < out.txt)" = 1 ] || fail "several ranks print: $(cat out.txt)"
  expect_equal "$(last_loss $ranks.csv)" "$(last_loss one.csv)"
done

train --epochs 10 --ranks 2 --checkpoint c
cp -r c c1
train --epochs 20 --ranks 2 --checkpoint c --resume --csv again.csv --export again.safetensors
cmp 2.safetensors again.safetensors || fail "other bits after resuming with the same number of ranks"
train --epochs 20 --checkpoint c1 --resume --csv other.csv
expect_equal "$(last_loss other.csv)" "$(last_loss one.csv)"

expect_error 2 "leave one out" --ranks 2 --gpus 2
expect_error 2 "--report works on one rank" --ranks 2 --report r.html
expect_error 2 "--gpus needs --device cuda" --gpus 2
expect_error 3 "of 2: \[train\]" --ranks 2 --lr 1e38
expect_error 2 "of 2: .*missing.h5" --ranks 2 --dataset missing.h5
echo "training over ranks: ok"
