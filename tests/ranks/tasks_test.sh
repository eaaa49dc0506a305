#!/usr/bin/env bash
# --task graph, --task link and edge weights over ranks that the command starts: losses of one rank, folds, resuming, Ctrl-C, few graphs.
# Usage: tasks_test.sh FOLDER_OF_COMMANDS [cpu|cuda]
. "$(dirname "$0")/commands.sh"

"$bin/rodeo_data" generate --graphs 120 g.h5 > /dev/null
graphs() { run --task graph --dataset g.h5 --quiet "$@" || fail "$*: $(cat err.txt)"; }
for model in gin gcn; do
  graphs --model $model --fold 0 --epochs 5 --lr 0.001 --csv one.csv
  for ranks in 2 4; do
    graphs --model $model --fold 0 --epochs 5 --lr 0.001 --ranks $ranks --csv $ranks.csv
    expect_one_line out.txt
    expect_near "$(last_loss $ranks.csv)" "$(last_loss one.csv)" 1e-4
  done
done

graphs --model gin --fold 0 --epochs 8 --ranks 2 --export whole.safetensors
graphs --model gin --fold 0 --epochs 4 --ranks 2 --checkpoint c
cp -r c c1
graphs --model gin --fold 0 --epochs 8 --ranks 2 --checkpoint c --resume --export rest.safetensors
cmp whole.safetensors rest.safetensors || fail "other bits after resuming with the same number of ranks"
graphs --model gin --fold 0 --epochs 8 --checkpoint c1 --resume

# Runs on 4 ranks give the same bits.
for run in {1..5}; do
  graphs --model gin --fold 0 --epochs 2 --ranks 4 --export bits.$run.safetensors
  cmp bits.1.safetensors bits.$run.safetensors || fail "other bits in run $run"
done

# All folds; what is printed once; fewer graphs in a batch than ranks; early stopping.
run --task graph --dataset g.h5 --model gcn --folds 3 --epochs 3 --ranks 2 || fail "$(cat err.txt)"
grep -q "^3 runs: test" out.txt || fail "no folds: $(cat out.txt)"
run --task graph --dataset g.h5 --model gin --fold 0 --ranks 2 --dry-run || fail "$(cat err.txt)"
grep -q "ranks *2 over tcp, a share of each batch; graphs and features on each" out.txt || fail "$(cat out.txt)"
graphs --model gin --fold 0 --epochs 1 --batch-graphs 2 --ranks 4
"$bin/rodeo_data" generate --preset mag --nodes 2000 types.h5 > /dev/null
run --model rgcn --dataset types.h5 --undirected --ranks 2 --dry-run || fail "$(cat err.txt)"
grep -q "ranks *2 over tcp, a range of the nodes of each type" out.txt || fail "$(cat out.txt)"
graphs --model gin --fold 0 --epochs 100 --patience 2 --lr 0.5 --ranks 2 --csv stopped.csv
[ "$(wc -l < stopped.csv)" -lt 101 ] || fail "no early stopping"

# SIGINT to every rank, as a terminal sends it: all end after an epoch, with a checkpoint to go on from.
set -m # else a background job ignores SIGINT
"$bin/rodeo_train" --device "$device" --task graph --dataset g.h5 --model gin --fold 0 --quiet --epochs 100000 --ranks 2 --checkpoint i > out.txt 2> err.txt &
launcher=$!
set +m
for _ in {1..100}; do [ -e i ] && [ -n "$(ls i)" ] && break; sleep 0.1; done
kill -INT -- -$launcher
code=0
wait $launcher || code=$?
[ "$code" = 130 ] || fail "exit code $code after SIGINT: $(cat err.txt)"
graphs --model gin --fold 0 --epochs 100000 --patience 1 --checkpoint i --resume --ranks 2

# Link prediction: the losses and the metrics of one rank.
"$bin/rodeo_data" generate --nodes 200 --edges 1600 --features 20 --classes 3 --split 50/25/25 l.h5 > /dev/null
links() { run --task link --dataset l.h5 --quiet --lr 0.001 "$@" || fail "$*: $(cat err.txt)"; }
for model in gcn gat sage; do
  links --model $model --epochs 5 --csv one.csv
  cp out.txt one.txt
  for ranks in 2 4; do
    links --model $model --epochs 5 --ranks $ranks --csv $ranks.csv
    expect_one_line out.txt
    expect_near "$(last_loss $ranks.csv)" "$(last_loss one.csv)" 1e-4
    expect_near "$(grep -o 'test [0-9.]*' out.txt | cut -d' ' -f2)" "$(grep -o 'test [0-9.]*' one.txt | cut -d' ' -f2)" 0.01
  done
done
links --model gcn --decoder mlp --epochs 8 --ranks 2 --export whole.safetensors
links --model gcn --decoder mlp --epochs 4 --ranks 2 --checkpoint k
cp -r k k1
links --model gcn --decoder mlp --epochs 8 --ranks 2 --checkpoint k --resume --export rest.safetensors
cmp whole.safetensors rest.safetensors || fail "other bits after resuming link prediction"
links --model gcn --decoder mlp --epochs 8 --ranks 4 --checkpoint k1 --resume
run --task link --dataset l.h5 --model gcn --ranks 2 --dry-run || fail "$(cat err.txt)"
[ "$(grep -c 'memory *rank [01]: .* data + .* an epoch' out.txt)" = 2 ] || fail "no memory of ranks: $(cat out.txt)"
links --model gcn --epochs 3 --ranks 2 --seeds 2
links --model gcn --epochs 3 --ranks 2 --aggregation columns

# Edge weights by columns: the losses of one rank.
awk 'function r() { return (seed = seed * 16807 % 2147483647) / 2147483647 } BEGIN { seed = 10000; print "source,target,weight" > "edges.csv"; print "id,label,x1,x2" > "nodes.csv"
  for (i = 0; i < 60; ++i) { print i "," i % 3 "," r() "," i % 3 > "nodes.csv"; for (k = 1; k < 4; ++k) print i "," (i * k + 3) % 60 "," 0.5 + r() > "edges.csv" } }'
"$bin/rodeo_data" import csv --nodes nodes.csv --edges edges.csv w.h5 > /dev/null
for model in gcn appnp; do
  run --model $model --dataset w.h5 --split 50/25/25 --epochs 5 --lr 0.001 --csv one.csv || fail "$(cat err.txt)"
  for ranks in 2 4; do
    run --model $model --dataset w.h5 --split 50/25/25 --epochs 5 --lr 0.001 --ranks $ranks --aggregation columns --explain --csv $ranks.csv || fail "$(cat err.txt)"
    expect_near "$(last_loss $ranks.csv)" "$(last_loss one.csv)" 1e-5
    grep -q "columns, as asked for" out.txt || fail "no form: $(cat out.txt)"
  done
done
run --model gcn --dataset w.h5 --split 50/25/25 --epochs 2 --ranks 2 --explain || fail "$(cat err.txt)"
grep -q "columns with constant weights, f32: " out.txt || fail "no choice for weighted sums: $(cat out.txt)"
echo "tasks over ranks: ok"
