#!/usr/bin/env bash
# Runs COMMAND, or skips it where there are fewer than COUNT GPUs or no NCCL. With NCCL_MULTI_RANK_GPU_ENABLE=1,
# which needs NCCL 2.30, one GPU is enough.
#   where_gpus_are.sh COUNT COMMAND...
set -uo pipefail
count=$1
shift
[ "${NCCL_MULTI_RANK_GPU_ENABLE:-0}" = 0 ] || count=1
found=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$found" -lt "$count" ]; then
  echo "Skipped: $count GPU(s) needed, this machine has $found"
  exit 77
fi
if [ -z "${RODEO_NCCL:-}" ] && ! ldconfig -p | grep -q 'libnccl\.so\.2' && ! ls ${LD_LIBRARY_PATH//:/ } 2>/dev/null | grep -q 'libnccl\.so\.2'; then
  echo "Skipped: libnccl.so.2 was not found: install libnccl2, or set RODEO_NCCL to its path"
  exit 77
fi
exec "$@"
