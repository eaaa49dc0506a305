#!/usr/bin/env bash
# Runs the test binaries of all rooms in shards, side by side. Prints a line a shard, and the cases that failed last.
#   scripts/test_shards.sh BUILD SHARDS JOBS [GTEST_FILTER]      e.g. scripts/test_shards.sh build 8 4 '*/cuda*'
# Each binary is cut into SHARDS, of which JOBS run at a time. Where CUDA_VISIBLE_DEVICES names several GPUs, each job has one of
# them. The output of a shard is in BUILD/shards. Exit code: 0 if all passed, 1 if a shard failed or no case has such a name.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$1 shards=$2 jobs=$3 filter=${4:-*}
out=$build/shards
rm -rf "$out"
mkdir -p "$out"

# run_shard BINARY NUMBER
run_shard() {
  local name gpus log
  name=$(basename "$1") log=$out/$(basename "$1").$2.txt
  IFS=, read -ra gpus <<<"${CUDA_VISIBLE_DEVICES:-}"
  [ ${#gpus[@]} -lt 2 ] || export CUDA_VISIBLE_DEVICES=${gpus[SLOT % ${#gpus[@]}]}
  local start=$SECONDS status=0
  OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$2 RODEO_SKIPPED=$log.skipped \
    "$1" --gtest_brief=1 --gtest_filter="$filter" >"$log" 2>&1 || status=$?
  echo "$name $(($2 + 1))/$shards: $(grep -E "^[0-9]+ passed, " "$log" || tail -n 1 "$log"), $((SECONDS - start)) s"
  [ $status -eq 0 ] || echo "$name $(($2 + 1))/$shards: exit code $status, see $log" >>"$out/failed.txt"
}
export -f run_shard
export out shards filter

# The rooms that take longest come first.
for room in train ops datasets layers core models bench; do
  binary=$build/tests/${room}_tests
  [ -x "$binary" ] || [ $room != bench ] || continue  # not built with sanitizers
  [ -x "$binary" ] || { echo "test_shards.sh: no $binary: build the target room_tests" >&2; exit 1; }
  cases=$("$binary" --gtest_list_tests --gtest_filter="$filter" | grep -c '^  ' || true)
  for ((shard = 0; shard < shards && shard < cases; ++shard)); do echo "$binary $shard"; done
done >"$out/list.txt"
[ -s "$out/list.txt" ] || { echo "test_shards.sh: no case has a name like $filter" >&2; exit 1; }
xargs -P "$jobs" -L 1 --process-slot-var=SLOT bash -c 'run_shard "$@"' shard <"$out/list.txt"
[ ! -f "$out/failed.txt" ] || {
  echo
  grep -hE '^\[  FAILED  \] [^ ]+\.[^ ]+' "$out"/*.txt | sed 's/ (.*//; s/, where .*//' | LC_ALL=C sort -u || true
  cat "$out/failed.txt"
  exit 1
}
