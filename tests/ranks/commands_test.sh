#!/usr/bin/env bash
# Training commands over ranks that they start themselves: losses, files written once, resuming, errors.
# Usage: commands_test.sh FOLDER_OF_COMMANDS [cpu|cuda]
. "$(dirname "$0")/commands.sh"

train() { run --model gcn --dataset g.h5 --spmm rode --quiet "$@"; }
expect_equal() { expect_near "$1" "$2" 1e-5; }
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
  expect_one_line out.txt
  expect_equal "$(last_loss $ranks.csv)" "$(last_loss one.csv)"
done

train --epochs 10 --ranks 2 --checkpoint c
cp -r c c1
train --epochs 20 --ranks 2 --checkpoint c --resume --csv again.csv --export again.safetensors
cmp 2.safetensors again.safetensors || fail "other bits after resuming with the same number of ranks"
train --epochs 20 --checkpoint c1 --resume --csv other.csv
expect_equal "$(last_loss other.csv)" "$(last_loss one.csv)"

expect_error 2 "leave one out" --ranks 2 --gpus 2
run --model gatv2 --dataset g.h5 --ranks 2 --edge-features && fail "no error: g.h5 has no edge_attr"
grep -q "has no /edge_attr, which --edge-features reads" err.txt || fail "no error in: $(cat err.txt)"
[ "$device" = cuda ] || expect_error 2 "--gpus needs --device cuda" --gpus 2
expect_error 2 "cuts the features among several ranks, and this is one" --batch 32 --features-on peers
expect_error 3 "of 2: \[train\]" --ranks 2 --lr 1e38
expect_error 2 "of 2: .*missing.h5" --ranks 2 --dataset missing.h5

# Mini-batches: --batch is of all ranks together, so their number changes rounding alone.
batches() { run --model sage --dataset g.h5 --quiet --batch 32 --fanout 4,3 "$@" || fail "$*: $(cat err.txt)"; }
batches --epochs 5 --dropout 0 --csv one.csv
for ranks in 2 4; do
  batches --epochs 5 --dropout 0 --ranks $ranks --csv $ranks.csv --report $ranks.html
  expect_one_line out.txt
  expect_equal "$(last_loss $ranks.csv)" "$(last_loss one.csv)"
  grep -q "Memory of each rank" $ranks.html || fail "no memory of each rank in the report"
done
"$bin/rodeo_data" unpack g.h5 plain.h5 > /dev/null
for option in "--features-on host" "--features-on disk" "--features-on peers" "--graph-on host" "--graph-on peers"; do
  run --model sage --dataset plain.h5 --batch 32 --fanout 4,3 --epochs 5 --dropout 0 --ranks 2 $option --csv placed.csv || fail "$option: $(cat err.txt)"
  [ "$(last_loss placed.csv)" = "$(last_loss 2.csv)" ] || fail "$option: loss $(last_loss placed.csv)"
  [ "$option" != "--features-on peers" ] || grep -q "graph, and a part of the features, on each" out.txt || fail "features are not cut: $(cat out.txt)"
  [ "$option" != "--graph-on peers" ] || grep -q "features, and a part of the graph, on each" out.txt || fail "the graph is not cut: $(cat out.txt)"
  [ "$option" != "--features-on host" ] || grep -q "shared by 2 ranks" out.txt || fail "features are not shared: $(cat out.txt)"
done
batches --epochs 8 --ranks 2 --export whole.safetensors
batches --epochs 5 --ranks 2 --checkpoint within --checkpoint-every-batches 3
batches --epochs 8 --ranks 2 --checkpoint within --resume --export rest.safetensors
cmp whole.safetensors rest.safetensors || fail "other bits after resuming mini-batches"
"$bin/rodeo_train" --model gin --dataset g.h5 --device "$device" --batch 32 --epochs 3 --ranks 2 > out.txt
grep -q "ranks *2 over tcp, a share of each batch; graph and features on each" out.txt || fail "no ranks: $(cat out.txt)"

# A report has the times and the memory of each rank, and the predictions of one rank's report.
train --epochs 8 --dropout 0 --report one.html
train --epochs 8 --dropout 0 --report two.html --ranks 2
for text in "rank 1: communication" "Memory of each rank" "by the number of nodes of rank 0"; do
  grep -q "$text" two.html || fail "no '$text' in the report"
done
scores() { sed -n '/Scores by class/,/Macro F1/p' "$1"; }
[ -n "$(scores one.html)" ] && [ "$(scores one.html)" = "$(scores two.html)" ] || fail "other scores: $(scores two.html)"

# Memory of each rank before training; several seeds.
train --dry-run --ranks 2
[ "$(grep -c 'memory *rank [01]: .* data + .* an epoch' out.txt)" = 2 ] || fail "no memory of ranks: $(cat out.txt)"
train --epochs 10 --dropout 0 --seeds 2
cp out.txt seeds.txt
train --epochs 10 --dropout 0 --seeds 2 --ranks 2
cmp out.txt seeds.txt || fail "other results of seeds: $(cat out.txt)"

# Ranks with other options than rank 0.
code=0
"$bin/rank_launch" 2 bash -c 'exec "$0" --model gcn --dataset g.h5 --device "$1" --quiet --lr 0.0$((RODEO_RANK + 1))' \
  "$bin/rodeo_train" "$device" > out.txt 2> err.txt || code=$?
[ "$code" = 2 ] || fail "exit code $code with other options: $(cat err.txt)"
grep -q "rank 1 has other options than rank 0" err.txt || fail "other options: $(cat err.txt)"
[ "$(wc -l < err.txt)" = 1 ] || fail "more than one line: $(cat err.txt)"

# A rank that is killed ends all in less than 30 s, with one message that names it.
"$bin/rodeo_train" --model gcn --dataset g.h5 --device "$device" --quiet --epochs 1000000 --ranks 3 > out.txt 2> err.txt &
launcher=$!
for _ in {1..50}; do [ "$(pgrep -P $launcher | wc -l)" = 3 ] && break; sleep 0.1; done
sleep 1
begin=$SECONDS
kill -KILL "$(pgrep -P $launcher | sed -n 2p)"
code=0
wait $launcher || code=$?
[ "$code" = 137 ] || fail "exit code $code after a rank was killed"
[ $((SECONDS - begin)) -lt 30 ] || fail "$((SECONDS - begin)) s after a rank was killed"
[ "$(cat err.txt)" = "error: rank 1 of 3 was killed by signal 9 (Killed), which ended the others" ] || fail "killed: $(cat err.txt)"

# Ranks without nodes: fewer nodes than ranks; and a graph without edges.
"$bin/rodeo_data" generate --nodes 6 --edges 10 --features 3 --classes 2 --split 50/25/25 small.h5 > /dev/null
"$bin/rodeo_data" generate --nodes 40 --edges 0 --features 3 --classes 2 --split 50/25/25 empty.h5 > /dev/null
most=8
[ "$device" = cpu ] || [ "${NCCL_MULTI_RANK_GPU_ENABLE:-0}" != 0 ] || most=4  # GPUs
for data in small empty; do
  for model in gcn gat sage gin; do
    for ranks in 0 4 $most; do
      "$bin/rodeo_train" --model $model --dataset $data.h5 --device "$device" --dropout 0 --epochs 5 --ranks $ranks --csv $ranks.csv --quiet > out.txt 2> err.txt ||
        fail "$model, $data, $ranks ranks: $(cat err.txt)"
    done
    # Biases before the batch normalisation of GIN have gradients that are rounding errors, and Adam makes whole steps of them.
    [ $model = gin ] && tolerance=3e-4 || tolerance=1e-5
    for ranks in 4 $most; do expect_near "$(last_loss $ranks.csv)" "$(last_loss 0.csv)" $tolerance; done
  done
done

# What was asked for and cannot be is said.
"$bin/rodeo_train" --model gat --dataset g.h5 --device "$device" --epochs 2 --ranks 2 --aggregation columns --explain > out.txt
grep -q "columns, as asked for" out.txt || fail "no form of attention: $(cat out.txt)"
"$bin/rodeo_train" --model gat --dataset g.h5 --device "$device" --epochs 2 --ranks 2 --explain > out.txt
grep -q "attention of 8 heads of 8 columns, f32: " out.txt || fail "no choice for attention: $(cat out.txt)"
"$bin/rodeo_train" --model gcn --dataset g.h5 --device "$device" --epochs 2 --aggregation halo > out.txt
grep -q -- "--aggregation halo says what several ranks exchange, and this is one" out.txt || fail "no warning: $(cat out.txt)"

# Runs on 4 ranks give the same bits, 20 times.
for run in {1..20}; do
  train --epochs 3 --ranks 4 --export bits.$run.safetensors
  cmp bits.1.safetensors bits.$run.safetensors || fail "other bits in run $run"
done
echo "training over ranks: ok"
