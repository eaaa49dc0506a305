#!/usr/bin/env bash
# Two hosts on one machine: network namespaces joined by a pair of virtual interfaces, each with a host name of
# its own. A rank on each trains to the loss of one rank. Skipped where namespaces cannot be made.
# nccl: as torchrun, each host with one of two GPUs, between which NCCL sends by sockets.
#   hosts_test.sh torchrun|mpirun|nccl FOLDER_OF_COMMANDS RANK_TESTS RANK_FAULTS
set -uo pipefail
launcher=$1 bin=$2 tests=$3 faults=$4 device=cpu cuda=
[ "$launcher" != nccl ] || device=cuda cuda=--cuda

skip() { echo "Skipped: $*"; exit 77; }
if [ -z "${RODEO_TEST_HOST:-}" ]; then
  command -v ip > /dev/null || skip "ip is not installed: install iproute2"
  [ "$launcher" != mpirun ] || command -v mpirun > /dev/null || skip "mpirun is not installed: install openmpi-bin"
  for rights in "" --map-root-user; do # root, or a user who may be root of namespaces
    unshare $rights --net --uts ip link add name veth-a type veth peer name veth-b 2> /dev/null || continue
    RODEO_TEST_HOST=a exec unshare $rights --net --uts bash "$0" "$@"
  done
  skip "this user may not make network namespaces with virtual interfaces"
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"; kill $b' EXIT
fail() { echo "FAILED: $*"; cat "$dir"/*.out; exit 1; }
export OMP_NUM_THREADS=1 RODEO_CACHE_DIR=$dir/cache

unshare --net --uts sleep 600 &
b=$!
on_b() { nsenter --target $b --net --uts "$@"; }
for _ in {1..100}; do [ "$(readlink /proc/$b/ns/net)" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.05; done
ip link add name veth-a type veth peer name veth-b netns $b
hostname host-a && on_b hostname host-b
ip addr add 10.77.0.1/24 dev veth-a && on_b ip addr add 10.77.0.2/24 dev veth-b
for link in lo veth-a; do ip link set $link up; done
for link in lo veth-b; do on_b ip link set $link up; done

# on_both NAME COMMAND...: a rank of COMMAND on each host. The output is in $dir/NAME.out.
on_both_torchrun() {
  local ranks=WORLD_SIZE=2\ LOCAL_RANK=0\ LOCAL_WORLD_SIZE=1\ MASTER_ADDR=10.77.0.1\ MASTER_PORT=29500\ RODEO_KEY=secret
  on_b env RANK=1 $ranks timeout 120 "${@:2}" > "$dir/$1.b.out" 2>&1 &
  env RANK=0 $ranks timeout 120 "${@:2}" > "$dir/$1.out" 2>&1 && wait $!
}
on_both_nccl() {
  local gpus=(env NCCL_SOCKET_IFNAME=veth NCCL_IB_DISABLE=1 bash -c 'CUDA_VISIBLE_DEVICES=$RANK exec "$@"' -)
  on_both_torchrun "$1" "${gpus[@]}" "${@:2}"
}
on_both_mpirun() { # in place of ssh, another namespace
  printf '#!/bin/bash\nshift\nexec nsenter --target %s --net --uts bash -c "$*"\n' $b > "$dir/agent"
  chmod +x "$dir/agent"
  timeout 120 mpirun -np 2 -H 10.77.0.1:1,10.77.0.2:1 --mca plm_rsh_agent "$dir/agent" --mca btl tcp,self "${@:2}" > "$dir/$1.out" 2>&1
}

"$bin/rodeo_data" generate --preset cora "$dir/cora.h5" > /dev/null || fail "no data"
train=("$bin/train_gcn" --dataset "$dir/cora.h5" --device $device --epochs 20 --dropout 0)
"${train[@]}" --csv "$dir/one.csv" > "$dir/one.out" 2>&1 || fail "one rank"
on_both_$launcher two "${train[@]}" --csv "$dir/two.csv" || fail "two hosts"
last_loss() { tail -1 "$dir/$1.csv" | cut -d, -f2; }
awk -v a="$(last_loss two)" -v b="$(last_loss one)" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 <= (1e-5 * b) ^ 2) }' ||
  fail "the loss on two hosts is $(last_loss two), not $(last_loss one)"
on_both_$launcher tests "$tests" $cuda --gtest_filter='CoreRanks.*' || fail "collectives between hosts"
grep -q PASSED "$dir/tests.out" || fail "no collectives between hosts"
grep -hE "^ranks  |PASSED" "$dir/two.out" "$dir/tests.out"
[ $launcher = torchrun ] || exit 0

# The cable is drawn while rank 1 reads.
on_both_torchrun cut "$faults" reads &
for _ in {1..100}; do [ "$(ss -tnH state established | wc -l)" = 2 ] && break; sleep 0.02; done
sleep 0.5 # the last words of joining
ip link set veth-a down
wait $! && fail "no error of a host that is cut off"
said="error: rank 0 of 2: [all_reduce] rank 1 gave no sign of life for 1 s: its process is stopped, or its host cannot be reached"
[ "$(cat "$dir/cut.out")" = "$said" ] || fail "a host was cut off"
