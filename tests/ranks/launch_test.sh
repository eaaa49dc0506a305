#!/usr/bin/env bash
# What launch_ranks() does for its ranks: exit codes, output, signals, environment.
#   launch_test.sh RANK_LAUNCH RANK_TESTS
set -uo pipefail
launch=$1 tests=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail() { echo "FAILED: $*"; cat "$dir/out" "$dir/err"; failures=$((failures + 1)); }
# run RANKS SCRIPT: each rank runs the shell script.
run() {
  timeout 60 "$launch" "$1" bash -c "$2" >"$dir/out" 2>"$dir/err" </dev/null
  code=$?
}
is() { [ "$code" -eq "$1" ] || fail "exit code $code instead of $1"; }
output() { [ "$(cat "$dir/out")" = "$1" ] || fail "the output is not: $1"; }
errors() { [ "$(cat "$dir/err")" = "$1" ] || fail "stderr is not: $1"; }

run 3 'echo "rank $RODEO_RANK of $RODEO_RANKS"; echo warning >&2'
is 0; output "rank 0 of 3"; errors warning
run 3 'exit $((RODEO_RANK == 1 ? 7 : 0))'
is 7; errors "error: rank 1 of 3 ended with exit code 7, which ended the others"
run 3 'if [ $RODEO_RANK = 2 ]; then echo "it says why" >&2; exit 4; fi; sleep 30'
is 4; errors "it says why
error: rank 2 of 3 ended with exit code 4, which ended the others"
run 2 'if [ $RODEO_RANK = 1 ]; then kill -SEGV $$; fi; exec sleep 30'
is 139; errors "error: rank 1 of 2 was killed by signal 11 (Segmentation fault), which ended the others"
run 1 'exit 3'
is 3; errors "error: rank 0 of 1 ended with exit code 3"
OMP_NUM_THREADS=5 run 2 'echo $OMP_NUM_THREADS'
is 0; output 5

timeout 10 "$launch" 2 "$dir/no-such-program" >"$dir/out" 2>"$dir/err"
code=$?
is 2; errors "rank_launch: [launch_ranks] cannot start $dir/no-such-program as rank 0: No such file or directory"
timeout 10 "$launch" 0 true >"$dir/out" 2>"$dir/err"
code=$?
is 2; errors "rank_launch: [launch_ranks] count must be in [1, 1024], got 0"

# A signal to the launcher reaches all ranks, which may take their time to end.
"$launch" 2 bash -c 'trap "sleep 0.3; echo \$RODEO_RANK stopped; exit 143" TERM; echo ready; while :; do sleep 0.1; done' \
  >"$dir/out" 2>"$dir/err" &
for _ in {1..100}; do grep -q ready "$dir/out" && break; sleep 0.1; done
sleep 0.3
kill -TERM $!
wait $!
code=$?
is 143; output "ready
0 stopped"; errors ""

# Ranks end with the launcher.
"$launch" 2 bash -c 'echo $$ >'"$dir"'/pid.$RODEO_RANK; exec sleep 60' >"$dir/out" 2>"$dir/err" &
for _ in {1..100}; do [ -s "$dir/pid.0" ] && [ -s "$dir/pid.1" ] && break; sleep 0.1; done
kill -KILL $!
wait $! 2>/dev/null
sleep 0.5
for rank in 0 1; do
  # A zombie is dead; in a container nobody may fetch its exit code.
  grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$(cat "$dir/pid.$rank")/status" 2>/dev/null &&
    fail "rank $rank outlives its launcher"
done

# The environment of torchrun, which listens on MASTER_PORT itself, and of srun.
port=$((21000 + $$ % 8000))
for rank in 0 1; do
  RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank MASTER_ADDR=localhost MASTER_PORT=$port TORCHELASTIC_RUN_ID=a \
    timeout 60 "$tests" --gtest_filter=CoreRanks.KnowTheirNumber >"$dir/torchrun.$rank" 2>&1 &
  SLURM_PROCID=$rank SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=$rank SLURM_STEP_NODELIST=127.0.0.1 SLURM_JOB_ID=$$ \
    SLURM_STEP_ID=0 timeout 60 "$tests" --gtest_filter=CoreRanks.KnowTheirNumber >"$dir/srun.$rank" 2>&1 &
done
wait
for kind in torchrun srun; do
  grep -q "PASSED.* 1 test" "$dir/$kind.0" || { cat "$dir/$kind".*; fail "ranks of $kind do not join"; }
done

# A rank that does not come is named.
RANK=0 WORLD_SIZE=3 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((port + 40)) RODEO_TEST_TIMEOUT=1 \
  timeout 60 "$tests" >"$dir/out" 2>"$dir/err"
code=$?
is 1
grep -q "error: rank 0 of 3: \[communicator\] ranks 1, 2 of 3 did not join in 1 s" "$dir/err" || fail "no missing ranks"
[ $failures -eq 0 ]
