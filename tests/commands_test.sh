#!/usr/bin/env bash
# train_gcn and rodeo_data as a user meets them: good runs, and one clear line for each bad one.
#   commands_test.sh BIN_DIR
set -u
bin=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export RODEO_CACHE_DIR="$dir/cache"
passed=0 failed=0
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAILED: $1"; }

# expect_error TEXT COMMAND...: exit code 2, one line on stderr, and TEXT in it.
expect_error() {
  local text=$1; shift
  local code=0
  "$@" >"$dir/out" 2>"$dir/err" </dev/null || code=$?
  if [ $code -ne 2 ]; then bad "$* exited with $code, not 2"
  elif [ "$(wc -l <"$dir/err")" -ne 1 ]; then bad "$* wrote $(wc -l <"$dir/err") lines on stderr: $(cat "$dir/err")"
  elif ! grep -qF -- "$text" "$dir/err"; then bad "$*: '$text' is not in: $(cat "$dir/err")"
  elif grep -qi 'HDF5-DIAG\|hdf5 error' "$dir/err"; then bad "$*: HDF5's own error dump shows"
  else ok; fi
}
expect_success() {
  local code=0
  "$@" >"$dir/out" 2>"$dir/err" </dev/null || code=$?
  if [ $code -ne 0 ] || [ -s "$dir/err" ]; then bad "$* exited with $code: $(cat "$dir/err")"; else ok; fi
}

data="$dir/tiny.h5"
expect_success "$bin/rodeo_data" generate --preset cora --nodes 2000 --edges 8000 --features 50 --seed 3 "$data"
expect_success "$bin/rodeo_data" --help
expect_error x "$bin/rodeo_data" generate --preset nowhere "$dir/x.h5"
expect_error "$dir/missing" "$bin/rodeo_data" generate --preset cora "$dir/missing/x.h5"

gcn() { "$bin/train_gcn" "$@"; }
expect_success "$bin/train_gcn" --help
expect_success "$bin/train_gcn" --version
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 5
grep -q $'\r\|\033' "$dir/out" && bad "a pipe got carriage returns or escape codes" || ok
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 5 --spmm rode --quiet
[ "$(wc -l <"$dir/out")" -eq 1 ] && ok || bad "--quiet wrote more than one line"

expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --explain
grep -qx 'n=16 f32 unweighted: csr, by rule: on the CPU, from the row lengths' "$dir/out" && ok || bad "--explain does not tell the rule"
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --explain --spmm rode
grep -qx 'spmm rode: asked for' "$dir/out" && ok || bad "--explain does not tell what was asked for"
[ ! -e "$dir/cache" ] && ok || bad "the CPU wrote to the cache folder"

gcn --dataset "$data" --device cpu --epochs 5 --quiet --seed 4 | sed 's/median_ms.*//' >"$dir/first"
gcn --dataset "$data" --device cpu --epochs 5 --quiet --seed 4 | sed 's/median_ms.*//' >"$dir/second"
cmp -s "$dir/first" "$dir/second" && ok || bad "the same seed gave two results"

printf 'this is text\n' >"$dir/text.h5"
head -c 3000 "$data" >"$dir/cut.h5"
expect_error "$dir/none.h5" "$bin/train_gcn" --dataset "$dir/none.h5"
expect_error "$dir" "$bin/train_gcn" --dataset "$dir"
expect_error text.h5 "$bin/train_gcn" --dataset "$dir/text.h5"
expect_error cut.h5 "$bin/train_gcn" --dataset "$dir/cut.h5"
expect_error "--dataset" "$bin/train_gcn"
expect_error "frobnicate" "$bin/train_gcn" --dataset "$data" --frobnicate
expect_error "stray" "$bin/train_gcn" --dataset "$data" stray
expect_error "unknown device 'gpu'" "$bin/train_gcn" --dataset "$data" --device gpu
expect_error "unknown spmm algorithm 'fast'" "$bin/train_gcn" --dataset "$data" --spmm fast
expect_error "[spmm] cusparse runs on CUDA only" "$bin/train_gcn" --dataset "$data" --device cpu --spmm cusparse --epochs 1 --quiet
expect_error "hidden" "$bin/train_gcn" --dataset "$data" --hidden -4
expect_error "dropout" "$bin/train_gcn" --dataset "$data" --dropout 1.5
expect_error "epochs" "$bin/train_gcn" --dataset "$data" --epochs 0
expect_error "split" "$bin/train_gcn" --dataset "$data" --split 90/90/90
if ! nvidia-smi -L >/dev/null 2>&1; then
  expect_error "device 'cuda' is not available" "$bin/train_gcn" --dataset "$data" --device cuda
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
