#!/usr/bin/env bash
# Runs the commands and benchmarks as a user does. A correct run exits with 0; an error exits with 2 and one line on stderr.
#   commands_test.sh BIN_DIR
set -u
bin=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
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
  if [ $code -ne 0 ] || grep -qvE "^(note|warning) " "$dir/err"; then bad "$* exited with $code: $(cat "$dir/err")"; else ok; fi
}

data="$dir/tiny.h5"
expect_success "$bin/rodeo_data" generate --preset cora --nodes 2000 --edges 8000 --features 50 --seed 3 "$data"
expect_success "$bin/rodeo_data" --help
expect_error x "$bin/rodeo_data" generate --preset nowhere "$dir/x.h5"
for preset in rmat-8-1K uniform-1K-4 powerlaw-1K-4K grid-27-5; do
  expect_success "$bin/rodeo_data" generate --preset $preset "$dir/pattern.h5"
  expect_success "$bin/rodeo_data" validate "$dir/pattern.h5"
done
expect_error "this grid of 125 nodes has 2197 edges" "$bin/rodeo_data" generate --preset grid-27-5 --edges 100 "$dir/pattern.h5"
expect_error "$dir/missing" "$bin/rodeo_data" generate --preset cora "$dir/missing/x.h5"
limited() { bash -c 'ulimit -f 8; exec "$0" "$@"' "$bin/rodeo_data" "$@"; }  # files of 8 KiB
expect_error "/x cannot be written (File too large)" limited generate --preset cora "$dir/long.h5"
expect_error "/edge_index cannot be copied: it needs " limited unpack "$data" "$dir/long.h5"
[ -z "$(find "$dir" -name 'long.h5*')" ] && ok || bad "a file that is too long stays: $(ls "$dir")"
COLUMNS=80 "$bin/rodeo_data" import --help | grep -qE ".{81}" && bad "rodeo_data import --help is wider than 80 columns" || ok
for command in inspect validate generate import reorder subset features unpack; do expect_success "$bin/rodeo_data" $command --help; done
expect_success "$bin/rodeo_data" inspect "$data"
grep -q '^nodes  *2000$' "$dir/out" && grep -q '^homophily' "$dir/out" && grep -q 'bf16, f16  *[0-9.]* MiB' "$dir/out" && ok ||
  bad "inspect does not print the properties: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" validate "$data"
for order in degree rcm rabbit random; do
  expect_success "$bin/rodeo_data" reorder --by $order "$data" "$dir/$order.h5"
  grep -qE ", by $order in [0-9.]+ ms; edges within 1,024 places " "$dir/out" && ok || bad "reorder does not print what it did: $(cat "$dir/out")"
  expect_success "$bin/rodeo_data" validate "$dir/$order.h5"
done
expect_success "$bin/rodeo_data" generate --preset cora --nodes 300 --edges 1200 --split 60/20/20 --node-order community "$dir/community.h5"
expect_error "--node-order must be shuffled or community, got 'sorted'" "$bin/rodeo_data" generate --split 60/20/20 --node-order sorted "$dir/x.h5"
expect_success "$bin/rodeo_data" generate --graphs 30 "$dir/set.h5"
expect_success "$bin/rodeo_data" inspect "$dir/set.h5"
grep -qE '^graphs  *30 of [0-9]+ to [0-9]+ nodes, median' "$dir/out" && grep -q '^labels  *3 classes of graphs$' "$dir/out" && grep -qE '^ *class 0 +10 \(33.33 %\)' "$dir/out" && ok ||
  bad "inspect does not describe a set of graphs: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" features --random-walk-pe 3 --laplacian-pe 2 "$data" "$dir/encoded.h5"
expect_success "$bin/rodeo_data" validate "$dir/encoded.h5"
expect_success "$bin/rodeo_data" features --laplacian-pe 50 --seed 1 "$dir/set.h5" "$dir/encoded_set.h5"
expect_success "$bin/rodeo_data" inspect "$dir/encoded_set.h5"
expect_error "features needs --random-walk-pe K, --laplacian-pe K or both" "$bin/rodeo_data" features "$data" "$dir/x.h5"
expect_error "--laplacian-pe must be in [1, 128], got 129" "$bin/rodeo_data" features --laplacian-pe 129 "$data" "$dir/x.h5"
expect_error "--random-walk-pe must be in [1, 1024], got 0" "$bin/rodeo_data" features --random-walk-pe 0 "$data" "$dir/x.h5"
expect_error "--seed belongs to --laplacian-pe" "$bin/rodeo_data" features --random-walk-pe 2 --seed 1 "$data" "$dir/x.h5"
expect_success "$bin/rodeo_data" subset --share 40 "$data" "$dir/part.h5"
expect_success "$bin/rodeo_data" inspect "$dir/part.h5"
grep -q '^nodes  *800$' "$dir/out" && ok || bad "subset --share 40 of 2000 nodes does not have 800"
printf '1 2\n0 1\n2 5\n' >"$dir/edges.txt"
expect_success "$bin/rodeo_data" import --undirected edgelist "$dir/edges.txt" "$dir/edges.h5"
printf '3\n1\n2\n' >"$dir/nodes.txt"
expect_success "$bin/rodeo_data" subset --nodes "$dir/nodes.txt" "$dir/edges.h5" "$dir/three.h5"
grep -q '3 of 6 nodes, 2 of 6 edges' "$dir/out" && ok || bad "subset --nodes chose other nodes: $(cat "$dir/out")"
expect_error "one of --nodes, --first and --share" "$bin/rodeo_data" subset "$data" "$dir/x.h5"
expect_error "--by must be degree, rcm, rabbit or random" "$bin/rodeo_data" reorder "$data" "$dir/x.h5"
expect_error "unknown format 'tables'" "$bin/rodeo_data" import tables "$dir/edges.txt" "$dir/x.h5"
# What only Python reads is read by to_h5.py. Here python3 prints its arguments.
mkdir "$dir/python" && printf '#!/bin/sh\necho "$@"\n' >"$dir/python/python3" && chmod +x "$dir/python/python3"
by_python() {
  local want=$1
  shift
  PATH="$dir/python:$PATH" expect_success "$bin/rodeo_data" import "$@"
  printf 'runs python3 %s/to_h5.py %s\n%s/to_h5.py %s\n' "$bin" "$want" "$bin" "$want" | cmp -s - "$dir/out" && ok ||
    bad "import $*: $(cat "$dir/out")"
}
by_python "--undirected pyg:Planetoid:Cora x.h5 --root data" --undirected pyg:Planetoid:Cora x.h5 --root data
by_python "a_data.npz,a_graph.npz x.h5" a_data.npz,a_graph.npz x.h5
by_python "--nodes n.csv --edges e.parquet x.h5" csv --nodes n.csv --edges e.parquet x.h5
by_python "--nodes n.csv --edges e.csv --sparse-features f.json x.h5" csv --nodes n.csv --edges e.csv --sparse-features f.json x.h5
expect_error "cannot run python3, which reads a.npz: No such file" env PATH=/nowhere "$bin/rodeo_data" import a.npz x.h5
expect_error "--relabel is not for what to_h5.py reads: a.npz" "$bin/rodeo_data" import --relabel a.npz x.h5
expect_error "--root belongs to sources that to_h5.py reads" "$bin/rodeo_data" import --root r edgelist "$dir/edges.txt" "$dir/x.h5"
expect_error "unknown suffix '.npz'" "$bin/rodeo_data" import a.npz b.npz
printf 'id,label,train,val,test,size,age\nann,cat,1,0,0,1,2\nbob,"big ""dog""",0,1,0,3,4\ncat,cat,0,0,1,5,6\n' >"$dir/nodes.csv"
printf 'source,target,weight\nann,bob,0.5\nbob,cat,1\n' >"$dir/edges.csv"
tables() { "$bin/rodeo_data" import csv --nodes "$dir/nodes.csv" --edges "$dir/edges.csv" "$@"; }
expect_success tables "$dir/tables.h5" --undirected
grep -qF 'tables.h5: tables, 3 nodes, 4 edges, 2 features, 2 classes' "$dir/out" && ok || bad "import csv prints: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" validate "$dir/tables.h5"
expect_success "$bin/rodeo_data" inspect "$dir/tables.h5"
grep -q '^ *class 0 .* big "dog"$' "$dir/out" && ok || bad "inspect does not print class names: $(cat "$dir/out")"
expect_success "$bin/train_gcn" --dataset "$dir/tables.h5" --device cpu --epochs 2
expect_success tables "$dir/tables.h5" --columns label=age,source=target,target=source --feature-columns 'si*'
grep -qF '1 feature, 3 classes' "$dir/out" && ok || bad "import csv --columns read other columns: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" import csv --edges "$dir/edges.csv" --input-features onehot "$dir/onehot.h5"
grep -qF '3 nodes, 2 edges, 3 features' "$dir/out" && ok || bad "--input-features onehot: $(cat "$dir/out")"
printf '0 0 9\n0 1 1\n2 1 2\n1 1 9\n' >"$dir/loops.txt"
expect_success "$bin/rodeo_data" import edgelist --drop-self-loops "$dir/loops.txt" "$dir/loops.h5"
grep -qF '3 nodes, 2 edges' "$dir/out" && ok || bad "--drop-self-loops: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" inspect "$dir/loops.h5"
grep -q '^self loops  *0$' "$dir/out" && ok || bad "--drop-self-loops left some: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" import edgelist --input-features degree --undirected "$dir/edges.txt" "$dir/degree.h5"
expect_error "--input-features degree: tables has 2 features" tables "$dir/x.h5" --input-features degree --name tables
expect_error "--input-features must be degree, onehot, random or ones, got 'one'" "$bin/rodeo_data" import edgelist --input-features one "$dir/edges.txt" "$dir/x.h5"
expect_error "import csv takes --edges FILE, --nodes FILE and the FILE to write, got 2 arguments" tables a b
expect_error "import edgelist takes SOURCE FILE, got 1 argument" "$bin/rodeo_data" import edgelist "$dir/edges.txt"
expect_error "a CSV import needs --edges FILE" "$bin/rodeo_data" import csv "$dir/x.h5"
expect_error "--edges belongs to csv" "$bin/rodeo_data" import edgelist --edges "$dir/edges.csv" "$dir/edges.txt" "$dir/x.h5"
printf 'eve,ann,1\n' >>"$dir/edges.csv"
expect_error "edges.csv: line 4: column 'source': $dir/nodes.csv has no id 'eve'" tables "$dir/x.h5"
expect_error "--relabel belongs to edgelist" "$bin/rodeo_data" import --relabel mtx "$dir/edges.txt" "$dir/x.h5"
expect_error "edges.txt: line 1" "$bin/rodeo_data" import mtx "$dir/edges.txt" "$dir/x.h5"
expect_error "unknown option '-threads': names of options begin with two dashes, --threads" "$bin/rodeo_data" inspect -threads 2 "$data"
expect_error "unknown option '--thread': did you mean --threads?" "$bin/rodeo_data" inspect --thread 2 "$data"
expect_error "inspect takes FILE, got 0" "$bin/rodeo_data" inspect
expect_error "unknown command 'look'" "$bin/rodeo_data" look
expect_error "$dir/none.h5: no such file" "$bin/rodeo_data" validate "$dir/none.h5"
[ ! -e "$dir/x.h5" ] && ok || bad "a command that failed left a file"
printf 'id,kind,age\nann,a,1\nbob,b,\n' >"$dir/kinds.csv"
printf 'source,target\nann,bob\n' >"$dir/edges.csv"
expect_error "line 3: column 'age' has no value" "$bin/rodeo_data" import csv --nodes "$dir/kinds.csv" --edges "$dir/edges.csv" "$dir/x.h5"
expect_success "$bin/rodeo_data" import csv --missing mean --nodes "$dir/kinds.csv" --edges "$dir/edges.csv" "$dir/kinds.h5"
grep -qF "features: 1 column of numbers, 'kind' one-hot of 2 texts; 1 missing value is the mean of the column" "$dir/out" && ok || bad "import csv does not say what it understood: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" inspect "$dir/onehot.h5"
grep -q '^labels  *none$' "$dir/out" && ok || bad "inspect of a file without labels: $(cat "$dir/out")"

# Reading a file takes at most its size and 256 MiB of memory. Not under sanitizers, which need more.
if command -v python3 >/dev/null && ! ldd "$bin/rodeo_data" | grep -q libasan; then
  expect_success "$bin/rodeo_data" generate --preset arxiv --nodes 80000 --edges 4000000 --features 1000 "$dir/large.h5"
  peak=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$bin/rodeo_data" validate "$dir/large.h5")
  most=$(($(stat -c %s "$dir/large.h5") / 1024 + 256 * 1024))
  [ "${peak:-$((most + 1))}" -le $most ] && ok || bad "validate of large.h5 held ${peak:-?} KiB, more than the $most of the file and 256 MiB"
  rm "$dir/large.h5"
fi

gcn() { "$bin/train_gcn" "$@"; }
expect_success "$bin/train_gcn" --help
expect_success "$bin/train_gcn" --version
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 5
grep -q $'\r\|\033' "$dir/out" && bad "a pipe got carriage returns or escape codes" || ok
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 5 --spmm rode --quiet --no-cuda-graph
[ "$(wc -l <"$dir/out")" -eq 1 ] && ok || bad "--quiet wrote more than one line"
"$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --quiet --no-graph >"$dir/out" 2>"$dir/err" &&
  [ "$(grep -v "^note " "$dir/err")" = "train_gcn: --no-graph was renamed to --no-cuda-graph; the old name will be removed in the next release" ] && ok ||
  bad "--no-graph is not accepted with a note: $(cat "$dir/err")"

expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --explain
grep -qx 'n=16 f32 unweighted: csr, by rule: on the CPU, from the row lengths' "$dir/out" && ok || bad "--explain does not print the rule"
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --explain --spmm rode
grep -qx 'spmm rode: asked for' "$dir/out" && ok || bad "--explain does not print the algorithm of --spmm"
expect_success "$bin/train_gat" --dataset "$data" --device cpu --epochs 2 --attention composed --explain
grep -q ' heads k=[0-9]* f32 unweighted: rows, by rule: one loop on the CPU' "$dir/out" && ok || bad "--explain does not print what SDDMM runs: $(cat "$dir/out")"
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
expect_error "unknown option '--epoch': did you mean --epochs?" "$bin/train_gcn" "$data" --epoch 5
expect_success "$bin/train_gcn" "$data" --device cpu --epochs 2 --quiet
grep -q nan "$dir/out" && bad "--quiet prints nan: $(cat "$dir/out")" || ok
expect_error "unknown device 'gpu'" "$bin/train_gcn" --dataset "$data" --device gpu
expect_error "unknown spmm algorithm 'fast'" "$bin/train_gcn" --dataset "$data" --spmm fast
expect_error "--spmm-accumulate atomic is for CUDA, got device cpu" "$bin/train_gcn" --dataset "$data" --device cpu --spmm-accumulate atomic --epochs 1
expect_error "--spmm cusparse is for CUDA, got device cpu: choose auto, csr or rode" "$bin/train_gcn" --dataset "$data" --device cpu --spmm cusparse --epochs 1 --quiet
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 1 --split 0.6/0.2/0.2 --log "$dir/split.jsonl"
grep -q '^split  *1200 train, 400 val, 400 test$' "$dir/out" && grep -q ' of the test nodes are of the largest class, ' "$dir/out" &&
  grep -q '^note  *not converged: the best epoch is 1 of 1\. ' "$dir/out" && ! grep -q '^warning' "$dir/out" &&
  grep -q '"one_way_edges":0,' "$dir/split.jsonl" && grep -q '"note":"not converged: ' "$dir/split.jsonl" && ok ||
  bad "train_gcn --split 0.6/0.2/0.2 prints something else: $(cat "$dir/out" "$dir/split.jsonl")"
expect_error "--stop-on loss needs --patience N" "$bin/train_gcn" --dataset "$data" --stop-on loss
expect_error "hidden" "$bin/train_gcn" --dataset "$data" --hidden -4
expect_error "dropout" "$bin/train_gcn" --dataset "$data" --dropout 1.5
expect_error "epochs" "$bin/train_gcn" --dataset "$data" --epochs 0
expect_error "split" "$bin/train_gcn" --dataset "$data" --split 90/90/90
for n in 1 3; do
  expect_success gcn --dataset "$data" --device cpu --epochs 2 --threads $n
  grep -qE "^device .*, $n threads?\)" "$dir/out" && ok || bad "--threads $n is not used: $(grep ^device "$dir/out")"
done
expect_error "--threads must be an integer of at least 0, got '-1'" gcn --dataset "$data" --threads=-1
expect_error "count must be in [1, 1024], got 5000" gcn --dataset "$data" --threads 5000
expect_success "$bin/rodeo_data" inspect --threads 1 "$data"
expect_error "count must be in [1, 1024], got 0" "$bin/rodeo_data" inspect --threads 0 "$data"

gat() { "$bin/train_gat" --dataset "$data" --device cpu --epochs 5 "$@"; }
expect_success "$bin/train_gat" --help
grep -qF -- '--attn-dropout' "$dir/out" && ok || bad "train_gat --help does not name --attn-dropout"
expect_success "$bin/train_gat" --version
expect_success gat
grep -q '^model  *GAT, 2 layers, 8 heads x 8 hidden, 1 output head, dropout 0.6, attention dropout 0.6: ' "$dir/out" && ok ||
  bad "train_gat trains the wrong model: $(grep '^model' "$dir/out")"
expect_success gat --attention composed --heads 2 --out-heads 3 --attn-dropout 0 --negative-slope 0.1 --hidden 4 --quiet
[ "$(wc -l <"$dir/out")" -eq 1 ] && ok || bad "train_gat --quiet wrote more than one line"
for form in auto fused composed; do
  gat --quiet --seed 4 --attention $form | sed 's/median_ms.*//' >"$dir/first"
  gat --quiet --seed 4 --attention $form | sed 's/median_ms.*//' >"$dir/second"
  cmp -s "$dir/first" "$dir/second" && [ -s "$dir/first" ] && ok || bad "train_gat --attention $form: the same seed gave two results"
done
expect_error "--dataset" "$bin/train_gat"
expect_error "$dir/none.h5" "$bin/train_gat" --dataset "$dir/none.h5"
expect_error "unknown attention form 'fast'" gat --attention fast
expect_error "--spmm is for composed attention: add --attention composed" gat --spmm rode
expect_error "heads must be an integer" gat --heads 0
expect_error "attn-dropout" gat --attn-dropout 1
expect_error "unknown option '--heads'" "$bin/train_gcn" --dataset "$data" --heads 4

# --dry-run, devices, completion and exit codes.
expect_success gcn --dataset "$data" --device cpu --dry-run --checkpoint "$dir/dry" --log "$dir/dry.jsonl" --csv "$dir/dry.csv" --report "$dir/dry.html"
grep -qE '^memory .* an epoch \(estimated\) = ' "$dir/out" && grep -q '^  conv1.bias  *f32 \[16\]$' "$dir/out" && grep -q '^plan  *read all edges and all features; ' "$dir/out" && ok || bad "--dry-run prints no plan: $(cat "$dir/out")"
expect_error "--export $dir/dry.safetensors is of 2 runs" gcn --dataset "$data" --device cpu --dry-run --seeds 2 --export "$dir/dry.safetensors"
[ -z "$(ls "$dir" | grep '^dry')" ] && ok || bad "--dry-run wrote $(ls "$dir" | grep '^dry')"
expect_error "$dir/none.h5" gcn --dataset "$dir/none.h5" --dry-run
expect_success "$bin/train_gcn" --list-devices
grep -qE '^cpu  .* of .* free$' "$dir/out" && ok || bad "--list-devices does not list the CPU: $(cat "$dir/out")"
expect_success "$bin/train_gcn" --help
grep -q '^Exit codes: 0 done' "$dir/out" && ok || bad "--help does not print the exit codes"
expect_error "--completion must be bash or zsh, got 'fish'" "$bin/train_gcn" --completion fish
# complete_last COMMAND WORD...: the completions of the last word in bash.
complete_last() {
  bash --norc -c 'source <("$1/$2" --completion bash) || exit 9
    complete -p "$2" >/dev/null || exit 9
    shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "_${1//-/_}"; echo "${COMPREPLY[*]}"' - "$bin" "$@"
}
[ "$(complete_last train_gcn --hid)" = "--hidden" ] && ok || bad "bash does not complete --hid: $(complete_last train_gcn --hid)"
[ "$(complete_last train_gcn --spmm cu)" = "cusparse" ] && ok || bad "bash does not complete --spmm cu"
[ "$(complete_last train_gcn --spmm = cu)" = "cusparse" ] && ok || bad "bash does not complete --spmm=cu"
[ "$(complete_last train_gcn --dataset "$dir/ti")" = "$data" ] && ok || bad "bash does not complete a file"
[ "$(complete_last train_gcn --lr '')" = "" ] && ok || bad "bash completes a number"
[ "$(complete_last train_gcn --class-weights '')" = "" ] && ok || bad "bash completes weights"
[ "$(complete_last rodeo_train --model gat)" = "gat gatv2" ] && ok || bad "bash does not complete the models"
[ "$(complete_last rodeo_train --model gat --hea)" = "--heads" ] && ok || bad "bash does not complete the options of a model"
[ "$(complete_last rodeo_train --model gcn --hea)" = "" ] && ok || bad "bash completes options of another model"
if command -v zsh >/dev/null; then
  "$bin/rodeo_train" --completion zsh >"$dir/_rodeo_train" && zsh -n "$dir/_rodeo_train" && ok || bad "the zsh completion is not a zsh script"
else
  "$bin/rodeo_train" --completion zsh | grep -q "'--spmm=\[.*:(auto csr [a-z -]*)'" && ok || bad "the zsh completion has no values of --spmm"
fi

# Node orders.
for order in degree rcm rabbit; do
  expect_success gcn --dataset "$data" --device cpu --epochs 3 --reorder $order
  [ "$(grep -cE "^reorder  +($order, edges within 1,024 places .*, in )?[0-9.]+ ms$" "$dir/out")" -eq 2 ] && ok || bad "--reorder $order is not printed: $(cat "$dir/out")"
done
expect_success gcn --dataset "$data" --device cpu --reorder rabbit --dry-run
grep -q '^reorder  *rabbit, ' "$dir/out" && ok || bad "--dry-run does not print the order"
expect_success gat --reorder rcm --quiet
expect_error "--reorder must be none, degree, rcm or rabbit, got 'best'" gcn --dataset "$data" --reorder best
[ "$(complete_last train_gcn --reorder ra)" = "rabbit" ] && ok || bad "bash does not complete --reorder ra"

any() { "$bin/rodeo_train" --dataset "$data" --device cpu --epochs 5 "$@"; }
expect_success "$bin/rodeo_train" --help
grep -qF -- '--model NAME --dataset FILE' "$dir/out" && ok || bad "rodeo_train --help does not name --model"
models=$(any 2>&1 | sed -n 's/.*--model NAME is required: one of \(.*\); see --help/\1/p' | tr -d ,)
[[ " $models " == *" gcn "* ]] && ok || bad "rodeo_train without --model does not name the models: $models"
expect_success "$bin/rodeo_data" generate --preset mag --nodes 500 --features 8 --classes 4 "$dir/types.h5"
for model in $models; do
  of=()  # the data of the model; the last --dataset counts
  case $model in rgcn | rgat | hgt | hetero-sage) of=(--dataset "$dir/types.h5" --undirected) ;; esac
  expect_success any --model $model "${of[@]}"
  any --model $model "${of[@]}" --quiet --seed 4 | sed 's/median_ms.*//' >"$dir/first"
  any --model $model "${of[@]}" --quiet --seed 4 | sed 's/median_ms.*//' >"$dir/second"
  cmp -s "$dir/first" "$dir/second" && [ -s "$dir/first" ] && ok || bad "rodeo_train --model $model: the same seed gave two results"
done
gcn --dataset "$data" --device cpu --epochs 5 --quiet --seed 4 | sed 's/median_ms.*//' >"$dir/first"
any --model gcn --quiet --seed 4 | sed 's/median_ms.*//' >"$dir/second"
cmp -s "$dir/first" "$dir/second" && ok || bad "train_gcn and rodeo_train --model gcn disagree"
expect_success any --model sage --aggr max --quiet
expect_success any --model appnp --hops 3 --alpha 0.2 --edge-dropout 0.3 --quiet
expect_success any --model gcn2 --layers 4 --alpha 0.2 --lambda 1 --drop-edge 0.3 --quiet
expect_error "--model NAME is required" any
expect_error "unknown model 'nn'" any --model nn
expect_error "unknown option '--heads'" any --model sage --heads 4
expect_error "--spmm rode is for sums, and --aggr max has one kernel" any --model sage --aggr max --spmm rode
gradcheck() { "$bin/rodeo_gradcheck" --dataset "$data" --device cpu --nodes 8 --elements 5 "$@"; }
expect_success "$bin/rodeo_gradcheck" --help
expect_success "$bin/rodeo_gradcheck" --version
expect_success gradcheck --layer all
[ "$(grep -cx ok "$dir/out")" -ge 5 ] && ok || bad "rodeo_gradcheck --layer all checked too few layers: $(cat "$dir/out")"
expect_success gradcheck --layer gat --elements 0 --nodes 4 --seed 2
grep -qE '^att_dst +\[2, 4\] +8 of 8 +0 ' "$dir/out" && ok || bad "rodeo_gradcheck prints the wrong table: $(cat "$dir/out")"
expect_error "--layer is required" "$bin/rodeo_gradcheck" --dataset "$data"
expect_error "--dataset is required" "$bin/rodeo_gradcheck" --layer gcn
expect_error "unknown layer 'mlp': the layers are " gradcheck --layer mlp
expect_error "--nodes must be an integer of at least 1, got '0'" gradcheck --layer gcn --nodes 0
expect_error "--seed must be an integer of at least 0, got 'x'" gradcheck --layer gcn --seed x
expect_error "unknown option '--frobnicate'" gradcheck --layer gcn --frobnicate
expect_error "--layer needs a value" "$bin/rodeo_gradcheck" --dataset "$data" --layer
expect_error "$dir/none.h5" "$bin/rodeo_gradcheck" --layer gcn --dataset "$dir/none.h5"

epochs() { "$bin/epoch_bench" --device cpu --epochs 2 --warmup 1 "$@"; }
expect_success "$bin/epoch_bench" --help
expect_success epochs --dataset "$data" --hidden 4,8 --heads 1,2 --csv "$dir/epochs.csv" --json "$dir/epochs.json"
[ "$(wc -l <"$dir/epochs.csv")" -eq 7 ] && ok || bad "epoch_bench's CSV does not have 1 + 2 + 4 lines: $(cat "$dir/epochs.csv")"
awk -F, '{print NF}' "$dir/epochs.csv" | sort -u | grep -qx 29 && ok || bad "epoch_bench's CSV lines do not have 29 fields each"
grep -q nan "$dir/epochs.csv" && bad "epoch_bench measured nothing: $(cat "$dir/epochs.csv")" || ok
[ "$(grep -c '{"graph": .*"epoch_ms": [0-9]' "$dir/epochs.json")" -eq 6 ] && ok || bad "epoch_bench's JSON does not have 6 results"
if command -v python3 >/dev/null; then
  python3 -m json.tool "$dir/epochs.json" >/dev/null && ok || bad "epoch_bench's JSON is invalid"
fi
expect_success epochs --dataset "$data" --model gat --attention composed --split 60/20/20 --no-cuda-graph
expect_success epochs --dataset "$data" --model gcn,gat --spmm rode,csr --json "$dir/by.json"
if command -v python3 >/dev/null; then
  python3 "$root/scripts/epochs_by_algorithm.py" "$dir/by.json" >"$dir/by.md" && [ "$(grep -c '^| .* | gat | fp32 | [0-9.]* ([0-9.]*) |' "$dir/by.md")" -eq 1 ] && ok ||
    bad "epochs_by_algorithm.py makes no table of epoch_bench's JSON: $(cat "$dir/by.md")"
fi
expect_success epochs --dataset "$data" --model gcn --precision fp32,bf16 --csv "$dir/precisions.csv"
[ "$(cut -d, -f15 "$dir/precisions.csv" | tr '\n' ' ')" = "precision fp32 bf16 " ] && ok || bad "epoch_bench's CSV has the wrong precisions: $(cat "$dir/precisions.csv")"
expect_error "unknown precision 'half': expected one of fp32, tf32, bf16" epochs --precision half
expect_error "$dir/missing/x.json" epochs --dataset "$data" --json "$dir/missing/x.json"
expect_success epochs --model gcn --graph cora --node-order shuffled,community --reorder none,degree,rcm,rabbit --csv "$dir/orders.csv"
[ "$(cut -d, -f1,13 "$dir/orders.csv" | tail -n +2 | sort -u | wc -l)" -eq 8 ] && grep -q '^cora-like-sorted,gcn,.*,rabbit,[0-9.]*,fp32,1,' "$dir/orders.csv" && ok ||
  bad "epoch_bench --reorder times the wrong orders: $(cat "$dir/orders.csv")"
expect_success epochs --graph cora --model gcn --ranks 1,2 --json "$dir/ranks.json"
[ "$(grep -c '"ranks": [12],' "$dir/ranks.json")" -eq 2 ] && ok || bad "epoch_bench --ranks 1,2 does not write both: $(cat "$dir/ranks.json")"
expect_error "$dir/missing/x.json" epochs --graph cora --ranks 1,2 --json "$dir/missing/x.json"
expect_error "do not go with --gpus and --ranks" epochs --graph cora --ranks 2 --csv "$dir/no.csv"
expect_error "--reorder must be none, degree, rcm or rabbit, got 'best'" epochs --reorder best
expect_error "unknown model 'nn': expected one of gcn, gat" epochs --model nn
expect_error "--spmm tca is for CUDA, got device cpu" epochs --spmm rode,tca
expect_error "--graph must be of" epochs --graph mars
expect_error "$dir/none.h5" epochs --dataset "$dir/none.h5"
batches() { "$bin/sample_bench" --device cpu --epochs 1 --batch 16 --fanout 3,2 --hidden 8 "$@"; }
expect_success batches --graph igbh-tiny/2000 --model rgat --layers 2 --heads 2 --dtype bf16
grep -qE '^igbh-tiny-like/2000 +rgat +1 +16 +8 +[0-9]+ .* [1-9][0-9]*$' "$dir/out" && ok || bad "sample_bench has no row of seeds/s: $(cat "$dir/out")"
expect_error "--model must be of rgcn, hetero-sage, rgat and hgt, got sage" batches --graph igbh-tiny/2000
expect_error "has one node type: --model must be sage, got rgat" batches --graph products --model rgat
expect_error "--heads must divide --hidden, got 3 and 8" batches --graph mag/5000 --model hgt --heads 3
expect_error "unknown option '--frobnicate'" epochs --frobnicate
expect_error "$dir/missing/x.csv" epochs --dataset "$data" --csv "$dir/missing/x.csv"
if command -v python3 >/dev/null; then
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$root/scripts/pyg_epoch.py" && ok || bad "pyg_epoch.py does not parse"
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$root/scripts/pyg_sampling.py" && ok || bad "pyg_sampling.py does not parse"
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$root/scripts/cpu_epoch.py" && ok || bad "cpu_epoch.py does not parse"
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$root/scripts/pyg_reference.py" && ok || bad "pyg_reference.py does not parse"
fi

# Files of a run are written, or a clear error says why not.
files=(--checkpoint "$dir/ck" --export "$dir/w.safetensors" --log "$dir/run.jsonl" --csv "$dir/run.csv" --tensorboard "$dir/tb" --report "$dir/run.html")
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 5 --spmm rode "${files[@]}"
[ "$(wc -l <"$dir/run.jsonl")" -eq 7 ] && [ "$(wc -l <"$dir/run.csv")" -eq 6 ] && [ -s "$dir/run.html" ] && ok || bad "logs or report do not have one entry per epoch"
grep -aq 'accuracy/val' "$dir"/tb/* && ok || bad "--tensorboard has no series of the accuracy"
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --metric roc-auc --tensorboard "$dir/tb_auc"
grep -aq 'ROC-AUC/val' "$dir"/tb_auc/* && ! grep -aq accuracy/ "$dir"/tb_auc/* && ok || bad "the series of --tensorboard has not the name of --metric"
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; [json.loads(line) for line in open(sys.argv[1])]' "$dir/run.jsonl" && ok || bad "--log has lines that are not JSON"
fi
expect_error "has a checkpoint of epoch 5: --resume goes on from it" "$bin/train_gcn" --dataset "$data" --device cpu --epochs 9 --checkpoint "$dir/ck"
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 9 --spmm rode --checkpoint "$dir/ck" --resume
grep -q '^resumed  *after epoch 5 from ' "$dir/out" && ok || bad "--resume does not print where it continues"
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --checkpoint "$dir/fresh" --resume
grep -q '^resumed  *from the beginning: ' "$dir/out" && ok || bad "--resume without a checkpoint does not print that it starts over"
predict() { "$bin/rodeo_predict" --device cpu --dataset "$data" "$@"; }
mkfifo "$dir/pipe" # a pipe that is closed has ended for who reads it
cat "$dir/pipe" >"$dir/piped.safetensors" &
expect_success timeout -s KILL 60 "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --export "$dir/pipe"
wait $!
expect_success predict --weights "$dir/piped.safetensors" --out "$dir/piped.h5"
cat "$dir/pipe" >"$dir/piped.csv" &
expect_success timeout -s KILL 60 "$bin/train_gcn" --dataset "$data" --device cpu --epochs 2 --csv "$dir/pipe"
wait $!
[ "$(wc -l <"$dir/piped.csv")" -eq 3 ] && ok || bad "--csv into a pipe has $(wc -l <"$dir/piped.csv") lines"
expect_success predict --weights "$dir/w.safetensors" --out "$dir/pred.h5"
grep -q '^accuracy  *0\.[0-9]* on ' "$dir/out" && ok || bad "rodeo_predict does not print its accuracy"
expect_success "$bin/rodeo_predict" --device cpu --dataset "$dir/rabbit.h5" --weights "$dir/w.safetensors" --out "$dir/pred_rabbit.h5"
expect_success predict --weights "$dir/ck" --out "$dir/pred2.h5" --quiet
[ ! -s "$dir/out" ] && ok || bad "rodeo_predict --quiet prints something"
# A run that is over says so.
expect_success gcn --dataset "$data" --device cpu --epochs 5 --checkpoint "$dir/over" --resume
grep -q 'had nothing left to train' "$dir/out" && bad "a whole run says that nothing was left to train" || ok
expect_success gcn --dataset "$data" --device cpu --epochs 5 --checkpoint "$dir/over" --resume
grep -qx 'note            had nothing left to train after epoch 5. More --epochs go on from there' "$dir/out" && ok || bad "a resumed run that was over prints: $(cat "$dir/out")"
expect_success "$bin/rodeo_data" generate --graphs 20 "$dir/set.h5"
expect_error "set.h5: /y is missing: training needs labels [nodes]; for a set of graphs give --task graph" gcn --dataset "$dir/set.h5"

# --per-class: the table of the test nodes in the best epoch, the same as of its weights, and in the log.
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 20 --per-class --export "$dir/pc.safetensors" --log "$dir/pc.jsonl"
sed -n '/^class  *precision   recall  f1-score   support$/,/^weighted avg/p' "$dir/out" >"$dir/classes.txt"
[ "$(wc -l <"$dir/classes.txt")" -eq 12 ] && grep -q '^test nodes by class, after the best validation epoch, ' "$dir/out" && ok || bad "--per-class prints: $(cat "$dir/out")"
[ "$(awk '/^accuracy/ {print $2; exit}' "$dir/classes.txt")" = "$(awk '/^test accuracy/ {print $3}' "$dir/out")" ] && ok || bad "--per-class has another accuracy than the summary: $(cat "$dir/out")"
grep -q '"per_class":{"classes":\[{"class":0,"precision":' "$dir/pc.jsonl" && ok || bad "--log has no scores by class"
expect_success predict --weights "$dir/pc.safetensors" --out "$dir/pc.csv" --per-class
sed -n '/^class  *precision/,/^weighted avg/p' "$dir/out" | cmp -s - "$dir/classes.txt" && ok || bad "rodeo_predict --per-class prints another table: $(cat "$dir/out")"
expect_error "--per-class prints a table and --quiet one line" gcn --dataset "$data" --per-class --quiet
expect_error "--per-class prints a table and --quiet nothing" predict --weights "$dir/pc.safetensors" --out "$dir/pc.csv" --per-class --quiet
expect_error "--per-class is for one run" gcn --dataset "$data" --device cpu --epochs 2 --per-class --seeds 2
expect_success gcn --dataset "$data" --device cpu --epochs 2 --per-class --seeds 2 --log "$dir/seeds.jsonl" --export "$dir/s{seed}.safetensors"
[ "$(grep -cE '^(device|dataset|split) ' "$dir/out")" -eq 3 ] && [ "$(grep -c ' metric accuracy$' "$dir/out")" -eq 2 ] && grep -q '^2 runs: test accuracy ' "$dir/out" &&
  grep -q '^note  *[12] of 2 runs ' "$dir/out" && [ -s "$dir/s0.safetensors" ] && [ -s "$dir/s1.safetensors" ] && ok || bad "--seeds 2 prints or writes something else: $(cat "$dir/out")"
[ "$(grep -c '"per_class":' "$dir/seeds.jsonl")" -eq 2 ] && ok || bad "--per-class --seeds 2 --log has other lines than two with scores"
expect_success "$bin/rodeo_predict" --help
expect_success predict --weights "$dir/w.safetensors" --out "$dir/pred.csv" --quiet
[ "$(head -1 "$dir/pred.csv")" = node,class ] && [ "$(wc -l <"$dir/pred.csv")" -eq 2001 ] && ok || bad "rodeo_predict --out pred.csv wrote: $(head -2 "$dir/pred.csv")"
expect_success predict --weights "$dir/w.safetensors" --out "$dir/given.csv" --model gcn --quiet
cmp -s "$dir/pred.csv" "$dir/given.csv" && ok || bad "rodeo_predict --model gcn predicts other classes than the weights' own description"
expect_error "expected conv1.bias [7], found f32 [16]" predict --weights "$dir/w.safetensors" --out "$dir/x.csv" --model gcn --hidden 7
expect_error "unknown suffix '.txt': expected .h5, .hdf5, .csv or .tsv" predict --weights "$dir/w.safetensors" --out "$dir/x.txt"
expect_error "--hidden needs --model NAME" predict --weights "$dir/w.safetensors" --out "$dir/x.csv" --hidden 7

# Training in bf16 writes f32 weights, which rodeo_predict reads.
expect_success "$bin/train_gcn" --dataset "$data" --device cpu --epochs 5 --precision bf16 --export "$dir/b.safetensors" --log "$dir/b.jsonl"
grep -q '^algorithms  *.*, precision bf16' "$dir/out" && grep -q '"precision": *"bf16"' "$dir/b.jsonl" && ok || bad "the precision is not printed: $(cat "$dir/out")"
grep -aq '"dtype":"F32"' "$dir/b.safetensors" && ! grep -aq BF16 "$dir/b.safetensors" && ok || bad "weights of bf16 training are not f32"
expect_success predict --weights "$dir/b.safetensors" --out "$dir/b.h5"
expect_error "unknown precision 'half': expected one of fp32, tf32, bf16" "$bin/train_gcn" --dataset "$data" --precision half
expect_error "unknown option '--tf32'" "$bin/train_gcn" --dataset "$data" --tf32
expect_error "is not a safetensors file" predict --weights "$data" --out "$dir/x.h5"
expect_error "$dir/none" predict --weights "$dir/none" --out "$dir/x.h5"
expect_success predict --weights "$dir/ck"
grep -q '^accuracy  *0\.[0-9]* on ' "$dir/out" && ok || bad "rodeo_predict without --out prints no accuracy: $(cat "$dir/out")"
expect_error "no such folder" predict --weights "$dir/ck" --out "$dir/missing/x.h5"
expect_error "$dir/missing/w" gcn --dataset "$data" --export "$dir/missing/w.safetensors"
# Weights of others may claim anything.
python3 - "$dir/w.safetensors" "$dir/deep.safetensors" <<'END'
import struct, sys
whole = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", whole[:8])[0]
header = whole[8:8 + size].replace(b'layers\\":2', b'layers\\":1000000000')
open(sys.argv[2], "wb").write(struct.pack("<Q", len(header)) + header + whole[8 + size:])
END
expect_error "must be an integer in [1, 10000], got " timeout 20 "$bin/rodeo_predict" --dataset "$data" --weights "$dir/deep.safetensors" --out "$dir/x.csv"
expect_error "--layers must be an integer in [1, 10000], got '1000000000'" gcn --dataset "$data" --layers 1000000000
# A stderr that cannot be written, and threads without number.
for stderr in '2>&-' '2>/dev/full'; do
  bash -c "'$bin/train_gcn' --dataset none $stderr; [ \$? -eq 2 ] && '$bin/rodeo_data' inspect none $stderr; [ \$? -eq 2 ]" >/dev/null && ok ||
    bad "an error with $stderr does not exit with 2"
done
OMP_NUM_THREADS=100000 expect_success timeout 60 "$bin/train_gcn" --dataset "$data" --device cpu --epochs 1
# Outputs that would destroy an input or each other.
cp "$data" "$dir/before.h5"; cp "$data" "$dir/graph"; ln -s tiny.h5 "$dir/link.csv"
for option in --export --report --csv --trace --log; do
  expect_error "$option $data: unknown suffix '.h5': expected " gcn --dataset "$dir/before.h5" $option "$data"
  expect_error "$option $dir/graph: is also --dataset, which is read" gcn --dataset "$dir/graph" $option "$dir/graph"
done
expect_error "is also --dataset, which is read" gcn --dataset "$data" --csv "$dir/link.csv"
expect_error "is also --log, which is written" gcn --dataset "$data" --log "$dir/a.json" --trace "$dir/a.json"
expect_error "is also --dataset, which is read" predict --dataset "$data" --weights "$dir/ck" --out "$data"
for words in "reorder --by degree" "subset --first 3" unpack; do
  expect_error "is also its source, which is read" "$bin/rodeo_data" $words "$data" "$data"
done
expect_error "import $data: is also --nodes, which is read" "$bin/rodeo_data" import csv --edges "$dir/edges.csv" --nodes "$data" "$data"
expect_error "generate $dir/graph: has no suffix: expected .h5 or .hdf5" "$bin/rodeo_data" generate "$dir/graph"
cmp -s "$data" "$dir/before.h5" && cmp -s "$data" "$dir/graph" && ok || bad "an output has replaced an input"
rm "$dir/link.csv"
expect_error "$dir/missing/r.html" gcn --dataset "$data" --report "$dir/missing/r.html"
expect_error "/proc/nowhere: cannot be made" gcn --dataset "$data" --checkpoint /proc/nowhere
expect_error "/proc/nowhere: cannot be made" gcn --dataset "$data" --tensorboard /proc/nowhere
for option in log csv report export; do
  expect_error "/dev/full: writing failed: No space left on device" gcn --dataset "$data" --device cpu --epochs 2 --quiet --$option /dev/full
done
[ -c /dev/full ] && ok || bad "/dev/full was replaced by a file"
gcn --dataset "$data" --epochs 3 --hidden 5 --print-config >"$dir/run.json"
expect_success "$bin/train_gcn" --config "$dir/run.json" --device cpu --epochs 4 --quiet
grep -q ' epochs 4 ' "$dir/out" && ok || bad "the command line does not override --config"
printf '{"hiden": 5}' >"$dir/bad.json"
expect_error "bad.json: unknown key 'hiden'" gcn --dataset "$data" --config "$dir/bad.json"
expect_error "$dir/none.json: cannot be read" gcn --dataset "$data" --config "$dir/none.json"

bench() { "$bin/sparse_bench" --device cpu --repeats 1 "$@"; }
expect_success "$bin/sparse_bench" --help
expect_success bench --dataset "$data" --op all --widths 3 --csv "$dir/bench.csv" --json "$dir/bench.json" --plot "$dir/bench.svg"
[ "$(grep -c 'role="img"' "$dir/bench.svg")" -eq 4 ] && ok || bad "sparse_bench --plot does not draw one chart for each of three operators"
grep -qE '^spmm +f32 +- +3  rode ' "$dir/out" && ok || bad "sparse_bench prints no line for rode"
lines=$(grep -cE '^(spmm|sddmm|spmv) .* [0-9.]+ ' <(sed '/^Speed/,$d' "$dir/out"))
[ "$lines" -ge 7 ] && [ "$(wc -l <"$dir/bench.csv")" -eq $((lines + 1)) ] && ok || bad "sparse_bench's CSV does not have 1 + $lines lines: $(cat "$dir/bench.csv")"
awk -F, '{print NF}' "$dir/bench.csv" | sort -u | grep -qx 19 && ok || bad "the CSV's lines do not have 19 fields each"
[ "$(grep -c '{"graph": .*"kernel": ' "$dir/bench.json")" -eq "$lines" ] && ok || bad "sparse_bench's JSON does not have $lines results"
if command -v python3 >/dev/null; then
  python3 -m json.tool "$dir/bench.json" >/dev/null && ok || bad "sparse_bench's JSON is invalid"
fi
expect_success bench --dataset "$data" --kernels rode --dtypes f16,bf16 --widths 8 --weighted
[ "$(grep -c '^spmm ' "$dir/out")" -eq 2 ] && ok || bad "--kernels rode timed the wrong kernels: $(cat "$dir/out")"
printf '%%%%MatrixMarket matrix coordinate pattern general\n3 5 4\n1 1\n1 5\n3 2\n3 3\n' >"$dir/small.mtx"
expect_success bench --mtx "$dir/small.mtx" --widths 3
grep -q '^small: 3 x 5, 4 edges' "$dir/out" && ok || bad "sparse_bench --mtx read the wrong matrix: $(cat "$dir/out")"
expect_error "small.mtx: --reorder needs a square matrix, got 3 x 5" bench --mtx "$dir/small.mtx" --widths 3 --reorder rabbit
expect_success bench --dataset "$data" --kernels rode --widths 8 --reorder none,rcm,rabbit
[ "$(grep -cE '^[^ ]*\+(rcm|rabbit): 2000 x 2000, ' "$dir/out")" -eq 2 ] && ok || bad "sparse_bench --reorder timed the wrong kernels: $(cat "$dir/out")"
printf '%%%%MatrixMarket matrix coordinate real general\n3 5 4\n1 1 2\n1 5 -3\n3 2 1\n3 3 7\n' >"$dir/values.mtx"
expect_success bench --mtx "$dir/values.mtx" --widths 3 --op all --weights none,file
grep -qE '^sddmm f32 +w +3 ' "$dir/out" && ok || bad "sparse_bench --weights file does not time a weighted SDDMM: $(cat "$dir/out")"
expect_error "small: no values in the file" bench --mtx "$dir/small.mtx" --widths 3 --weights file
expect_error "--weights must be of none, random, file, both, got 'some'" bench --weights some
expect_success bench --graph rmat-8-1K,uniform-1K-4,powerlaw-1K-4K,grid-5-9,grid-7-5,grid-27-5 --kernels csr --widths 3
grep -q '^grid-27-5: 125 x 125, 2197 edges' "$dir/out" && ok || bad "sparse_bench --graph grid-27-5 is no 27-point grid: $(cat "$dir/out")"
expect_success bench --experiment all --plot "$dir/experiments.svg" --widths 8 --csv "$dir/experiments.csv"
for table in 'RoDe by the variation' 'one part of RoDe' 'N_S (N_B 32)' 'plan in cluster order' 'Preprocessing of RoDe' 'THREADS_PER_VECTOR' 'Dense to CSR' 'Edge list in scattered order' 'HDF5 file in the page cache' 'banded matrices' 'TCA-SpMM by columns' 'TCA-SpMM by sparsity' 'CSR-vector SpMV as printed' 'Row lengths'; do
  grep -q "$table" "$dir/out" && ok || bad "sparse_bench --experiment all prints no table '$table'"
done
grep -q '^twin of webbase-1M (1/64) ' "$dir/out" && ok || bad "the experiments do not name twins"
expect_success bench --dataset "$data" --op all --widths 16 --kernels rode,auto,vector --explain
grep -q '  rode, n=16 f32 unweighted: rode' "$dir/out" && grep -q ' MMAs, [0-9]* by the cost model' "$dir/out" && ok || bad "sparse_bench --explain does not name what runs: $(cat "$dir/out")"
expect_success bench --experiment rode --mtx "$dir/values.mtx" --widths 3
grep -q '^values ' "$dir/out" && ok || bad "sparse_bench --experiment does not take --mtx"
expect_error "--experiment must be of rode, " bench --experiment none
expect_error "--twin must be of shyy41, " bench --twin none
expect_error "$dir/none.mtx" bench --mtx "$dir/none.mtx"
expect_error "unknown kernel 'magic'" bench --dataset "$data" --kernels magic
expect_error "--widths must be an integer" bench --dataset "$data" --widths 16,x
expect_error "unknown op 'gemm'" bench --op gemm
expect_error "unknown option '--frobnicate'" bench --frobnicate
expect_error "$dir/none.h5" bench --dataset "$dir/none.h5"
expect_error "--graph must be of" bench --graph mars
expect_error "--csv needs a value" bench --dataset "$data" --csv --json
expect_error "text.h5" bench --dataset "$dir/text.h5"
expect_error "$dir/missing/x.csv" bench --dataset "$data" --csv "$dir/missing/x.csv"
if ! nvidia-smi -L >/dev/null 2>&1; then
  expect_error "device 'cuda' is not available" "$bin/train_gcn" --dataset "$data" --device cuda
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
