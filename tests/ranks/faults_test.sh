#!/usr/bin/env bash
# A rank that fails ends all ranks, in time, with one message that names it.
#   faults_test.sh tcp RANK_LAUNCH RANK_FAULTS
#   faults_test.sh mpi MPIRUN RANK_FAULTS
#   faults_test.sh nccl RANK_LAUNCH RANK_FAULTS: 2 ranks on GPUs
set -uo pipefail
transport=$1 launcher=$2 program=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail() { echo "FAILED: $*"; cat "$dir/out"; failures=$((failures + 1)); }

# run RANKS FAULT: the exit code is in $code, the output in $dir/out.
run() {
  local start=$SECONDS command=("$launcher" "$1")
  [ "$transport" != mpi ] || command=("$launcher" --oversubscribe -np "$1")
  [ "$transport" != nccl ] || device=--cuda
  timeout 60 "${command[@]}" "$program" "$2" ${device:-} >"$dir/out" 2>&1
  code=$?
  [ $((SECONDS - start)) -lt 30 ] || fail "$2: the others ended after $((SECONDS - start)) s"
}
says() { grep -qF -- "$1" "$dir/out" || fail "the output lacks: $1"; }
errors() { [ "$(grep -c '^error: ' "$dir/out")" -eq "$1" ] || fail "not $1 message(s) of a rank"; }
fails() { [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || fail "$1: exit code $code"; }
is() { [ "$code" -eq "$1" ] || fail "exit code $code instead of $1"; }

if [ "$transport" = nccl ]; then
  run 2 none; is 0
  run 2 throws; fails throws; errors 1
  says "error: rank 1 of 2: [spmm] x must be [3, n], got [4, 5]"
  run 2 memory; fails memory; errors 1
  grep -q "error: rank 1 of 2: \[memory\] cuda:[01] is out of memory" "$dir/out" || fail "no message about memory"
  run 2 differs; fails differs; errors 1
  says "[all_reduce] rank 0 has f32 [5], rank 1 has f32 [6]"
  run 2 hangs; fails hangs; errors 1
  says "error: rank 0 of 2: [all_reduce] rank 0 got no message from rank 1 in 10 s"
  run 2 replay-throws; fails replay-throws; errors 1
  says "error: rank 1 of 2: [spmm] x must be [3, n], got [4, 5]"
  run 2 replay-killed; is 137; errors 1
  says "error: rank 1 of 2 was killed by signal 9 (Killed), which ended the others"
  run 2 replay-hangs; fails replay-hangs; errors 1
  says "error: rank 0 of 2: [communicator] rank 0 has waited for its GPU for 10 s, but rank 1 does something else"
  RODEO_NCCL=/no/libnccl.so.2 run 2 none; fails none; errors 1
  says "rank 0 of 2 on $(hostname): NCCL cannot be loaded (/no/libnccl.so.2"
  NCCL_MULTI_RANK_GPU_ENABLE=0 CUDA_VISIBLE_DEVICES=0 run 2 none; fails none; errors 1
  says "ranks 0 and 1 both use the GPU"
  [ $failures -eq 0 ]
  exit
fi

run 4 none; is 0
run 2 slow; is 0

if [ "$transport" = tcp ]; then # Python closes the files that a program inherits: once rank 0 waited for ever
  timeout 60 "$launcher" 2 python3 -c 'import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)' \
    "$program" none >"$dir/out" 2>&1
  code=$?
  fails "a program between"
  says "was closed by a program between the launcher and rank 0"
fi

run 4 throws; fails throws; errors 1
says "error: rank 3 of 4: [spmm] x must be [3, n], got [4, 5]"
run 2 memory; fails memory; errors 1
says "error: rank 1 of 2: [memory] cpu is out of memory"
run 4 differs; fails differs; errors 1
says "[all_reduce] rank 0 has f32 [5], rank 3 has f32 [6]"
run 2 killed; fails killed
if [ "$transport" = tcp ]; then
  is 137; errors 1
  says "error: rank 1 of 2 was killed by signal 9 (Killed), which ended the others"
else
  grep -qE "process rank 1 .*exited on signal 9" "$dir/out" || fail "mpirun does not name the killed rank"
fi
run 2 exits; fails exits
says "rank 1 has exited, and rank 0 waits for it"
run 2 exits-3; fails exits-3
[ "$transport" = mpi ] || errors 1
run 4 aborts-7; is 7
run 4 returns; fails returns; errors 1
says "error: rank 0 of 4: [all_reduce] rank 3 has exited, and rank 0 waits for it"
run 2 hangs; fails hangs; errors 1
says "error: rank 0 of 2: [all_reduce] rank 0 got no message from rank 1 in 1 s"
if [ "$transport" = tcp ]; then  # a process that computes or reads for long says that it lives
  run 4 reads; is 0
  run 4 stops; fails stops; errors 1
  says "error: rank 0 of 4: [all_reduce] rank 3 gave no sign of life for 1 s: its process is stopped, or its host cannot be reached"
  run 4 stays; fails stays; errors 1 # it has said that it leaves, and does not end
  says "error: rank 0 of 4: [all_reduce] rank 3 has exited, and rank 0 waits for it"
fi
run 2 catches; fails catches
[ "$transport" = mpi ] || says "error: rank 0 of 2 ended with exit code 4"
errors "$([ "$transport" = mpi ] && echo 0 || echo 1)"
says "caught by rank 0: [barrier] rank 1 has exited"
says "again: [barrier] the communicator is not usable, an earlier call failed: rank 1 has exited"
[ $failures -eq 0 ]
