#!/usr/bin/env bash
# Prints accuracy tables: trains a model with its default options, over several seeds.
#   scripts/accuracy.sh [--model NAME] [--seeds N] [--device NAME] [--precision NAME,...]
#     [FILE.h5 ...] [-- OPTION ...]
# Default files: cora, citeseer and pubmed in $DATA_DIR. Options after -- go to rodeo_train unchanged. GAT and
# GATv2 on a file named pubmed.h5 get the options that the GAT paper has for PubMed.
# BIN_DIR is the folder of the commands; the default is build/bin.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${BIN_DIR:-$root/build/bin}
data=${DATA_DIR:-${RODEO_SHARED_DATA:-$root/../shared/data}}
model=gcn
seeds=10
device=auto
precisions=fp32
files=()

while (($# > 0)); do
  case $1 in
    --model) model=${2:?--model needs a name}; shift 2 ;;
    --seeds) seeds=${2:?--seeds needs a number}; shift 2 ;;
    --device) device=${2:?--device needs a name}; shift 2 ;;
    --precision) precisions=${2:?--precision needs names}; shift 2 ;;
    --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
    --) shift; break ;;
    -*) echo "accuracy.sh: unknown option '$1'" >&2; exit 2 ;;
    *) files+=("$1"); shift ;;
  esac
done
((${#files[@]})) || files=("$data"/{cora,citeseer,pubmed}.h5)
[[ $seeds =~ ^[1-9][0-9]*$ ]] || { echo "accuracy.sh: --seeds must be a number above 0, got '$seeds'" >&2; exit 2; }
[[ $precisions =~ ^(fp32|tf32|bf16)(,(fp32|tf32|bf16))*$ ]] ||
  { echo "accuracy.sh: --precision must be of fp32, tf32, bf16, got '$precisions'" >&2; exit 2; }
[[ -x $bin/rodeo_train ]] || { echo "accuracy.sh: no rodeo_train in $bin: build first, or set BIN_DIR" >&2; exit 2; }

printf '%-18s %-9s %5s  %-20s %-20s %s\n' dataset precision seeds 'test at best val, %' 'test after last, %' 'ms/epoch (median)'
for file in "${files[@]}"; do
  published=()
  [[ $model == gat* && $(basename "$file") == pubmed.h5 ]] && published=(--out-heads 8 --weight-decay 1e-3 --lr 0.01)
  for precision in ${precisions//,/ }; do
    for ((seed = 0; seed < seeds; ++seed)); do
      "$bin/rodeo_train" --model "$model" --dataset "$file" --device "$device" --seed "$seed" --precision "$precision" --quiet "${published[@]}" "$@"
    done | awk -v name="$(basename "$file" .h5)" -v precision="$precision" '
      function add(key, value) { sum[key] += value; squares[key] += value * value }
      function mean(key) { return sum[key] / NR }
      function deviation(key,  v) {  # of the sample
        v = NR > 1 ? (squares[key] - NR * mean(key) ^ 2) / (NR - 1) : 0
        return v > 0 ? sqrt(v) : 0
      }
      function percent(key) { return sprintf("%.2f +- %.2f", 100 * mean(key), 100 * deviation(key)) }
      {
        for (i = 1; i < NF; i += 2) value[$i] = $(i + 1)
        add("best", value["test"]); add("last", value["final_test"]); ms[NR] = value["median_ms"] + 0
      }
      END {
        if (NR == 0) exit  # rodeo_train failed and printed the reason
        for (i = 2; i <= NR; ++i)
          for (j = i; j > 1 && ms[j - 1] > ms[j]; --j) { t = ms[j]; ms[j] = ms[j - 1]; ms[j - 1] = t }
        median = (ms[int((NR + 1) / 2)] + ms[int(NR / 2) + 1]) / 2
        printf "%-18s %-9s %5d  %-20s %-20s %.3f\n", name, precision, NR, percent("best"), percent("last"), median
      }'
  done
done
