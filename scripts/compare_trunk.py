#!/usr/bin/env python3
"""Times epochs of rodeo_train and of PyG with the same recipes, after comparing their predictions.

    scripts/compare_trunk.py recipes/gcn-computers.json=computers.h5 recipes/gcn-arxiv.json=arxiv.h5 ...
                             [--bin build/bin] [--epochs 60] [--pyg-epochs 20] [--device cuda] [--tf32] [--csv FILE]

Needs torch, torch_geometric and h5py. For each RECIPE=FILE, rodeo_train trains with the recipe on a random split of
60/20/20, and its median of epochs counts. The PyG model has the recipe's parts and reads the weights that rodeo_train
exported: both must predict the same probabilities, else the script fails. PyG is timed in its fastest form: the graph is
normalised once, and GCN and SAGE run both on an edge_index and on a torch.sparse CSR matrix. An epoch of both is forward,
cross entropy on the training nodes, backward and Adam, without evaluation. f32; with --tf32 both libraries round what they
multiply in dense products to TF32. Predictions are compared in f32.
"""
import argparse
import csv
import json
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import h5py
import torch
import torch.nn.functional as F
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops, coalesce, remove_self_loops, to_undirected

from pyg_trunk import Trunk

TOLERANCE = 1e-3  # of a probability: sums of f32 in another order
KNOWN = {"model", "layers", "hidden", "dropout", "input-dropout", "post-linear", "heads", "out-heads", "attn-dropout",
         "act", "norm", "residual", "jk", "pre-linear", "pre-linear-norm", "undirected", "normalize-features", "epochs", "lr", "weight-decay",
         "split", "seeds", "splits", "metric", "self-loops", "no-bias"}


def load(path, recipe, device):
    with h5py.File(path, "r") as file:
        x = torch.from_numpy(file["x"][:]).float()
        y = torch.from_numpy(file["y"][:].astype("int64")).flatten()
        if "edge_index" in file:
            edges = torch.from_numpy(file["edge_index"][:].astype("int64"))
        else:  # row i lists the nodes that send messages to node i
            indptr = torch.from_numpy(file["indptr"][:].astype("int64"))
            target = torch.repeat_interleave(torch.arange(indptr.numel() - 1), indptr.diff())
            edges = torch.stack([torch.from_numpy(file["indices"][:].astype("int64")), target])
    if recipe.get("normalize-features", "row") == "row":
        x = x / x.sum(1, keepdim=True).where(x.sum(1, keepdim=True) != 0, torch.ones(()))
    edges = to_undirected(edges, num_nodes=x.size(0)) if recipe.get("undirected") else coalesce(edges)
    if recipe.get("self-loops"):
        edges = add_self_loops(remove_self_loops(edges)[0], num_nodes=x.size(0))[0]
    return x.to(device), y.to(device), edges.to(device)


def graphs(kind, edges, nodes):
    """The graph's arguments of forward(), by name."""
    if kind in ("gat", "gatv2"):
        return {"edge_index": (add_self_loops(remove_self_loops(edges)[0], num_nodes=nodes)[0],)}
    if kind == "transformer":
        return {"edge_index": (edges,)}
    index, weight = gcn_norm(edges, num_nodes=nodes) if kind == "gcn" else (edges, None)
    values = weight if kind == "gcn" else torch.ones(edges.size(1), device=edges.device)
    coo = torch.sparse_coo_tensor(index.flip(0), values, (nodes, nodes))  # rows are targets
    listed = (index, weight) if kind == "gcn" else (index,)
    return {"edge_index": listed, "csr": (coo.coalesce().to_sparse_csr(),)}


def epoch_ms(model, graph, x, y, recipe, epochs):
    order = torch.randperm(x.size(0), device=x.device)
    train = order[: x.size(0) * 6 // 10]
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe["lr"], weight_decay=recipe["weight-decay"])
    synchronize = torch.cuda.synchronize if x.is_cuda else lambda: None
    times = []
    model.train()
    for epoch in range(epochs + 3):
        synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x, graph)[train], y[train]).backward()
        optimizer.step()
        synchronize()
        if epoch >= 3:
            times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def read_weights(path):
    """The tensors of a safetensors file, all f32."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    state = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            state[name] = torch.frombuffer(data, dtype=torch.float32, offset=begin, count=(end - begin) // 4).view(entry["shape"])
    return state


def run_rodeo(options, recipe, path, folder):
    """rodeo_train's last line of --log, its weights, and the probabilities that rodeo_predict finds with them."""
    weights, log, out = (str(folder / name) for name in ("weights.safetensors", "log.jsonl", "out.h5"))
    subprocess.run([options.bin / "rodeo_train", "--config", recipe, "--dataset", path, "--device", options.device,
                    "--split", "60/20/20", "--epochs", str(options.epochs), "--eval-every", str(options.epochs), "--seeds", "1",
                    "--precision", "tf32" if options.tf32 else "fp32", "--log", log, "--export", weights, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([options.bin / "rodeo_predict", "--dataset", path, "--weights", weights, "--out", out, "--device",
                    options.device, "--quiet"], check=True)
    with h5py.File(out, "r") as file:
        probabilities = torch.from_numpy(file["probability"][:])
    with open(log, encoding="utf-8") as file:
        return json.loads(file.readlines()[-1]), read_weights(weights), probabilities


def compare(options, recipe_path, path, folder):
    recipe = json.loads(pathlib.Path(recipe_path).read_text(encoding="utf-8"))
    if unknown := set(recipe) - KNOWN:
        sys.exit(f"{recipe_path}: compare_trunk.py does not know {', '.join(sorted(unknown))}")
    summary, state, ours = run_rodeo(options, recipe_path, path, folder)
    x, y, edges = load(path, recipe, options.device)
    times, worst = {}, 0
    for form, graph in graphs(recipe["model"], edges, x.size(0)).items():
        model = Trunk(recipe, x.size(1), ours.size(1)).to(x.device)
        missing, unexpected = model.load_state_dict(state, strict=False)
        if unexpected or any(not name.endswith("num_batches_tracked") for name in missing):
            sys.exit(f"{recipe_path}: weights differ: missing {missing}, unexpected {unexpected}")
        with torch.no_grad():
            theirs = model.eval()(x, graph).softmax(1).cpu()
        worst = max(worst, (theirs - ours).abs().max().item())
        if not worst <= TOLERANCE:
            sys.exit(f"{recipe_path}, {form}: probabilities differ by {worst:.2g}, expected at most {TOLERANCE}")
        torch.backends.cuda.matmul.allow_tf32 = options.tf32
        times[form] = epoch_ms(model, graph, x, y, recipe, options.pyg_epochs)
        torch.backends.cuda.matmul.allow_tf32 = False
    return summary["epoch_ms"]["median"], times, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="RECIPE=FILE")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/bin"))
    parser.add_argument("--epochs", type=int, default=60, help="of rodeo_train")
    parser.add_argument("--pyg-epochs", type=int, default=20)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--csv")
    options = parser.parse_args()
    if options.epochs < 5 or options.pyg_epochs < 1:
        parser.error("--epochs must be at least 5, and --pyg-epochs at least 1")
    if wrong := [pair for pair in options.pairs if pair.count("=") != 1]:
        parser.error(f"expected RECIPE=FILE, got '{wrong[0]}'")

    rows = []
    print(f"{'recipe':<18} {'PyG edge_index':>14} {'PyG csr':>9} {'Rodeo':>9} {'best / Rodeo':>12} {'difference':>10}")
    for recipe, path in (pair.split("=") for pair in options.pairs):
        with tempfile.TemporaryDirectory() as folder:
            ours, times, worst = compare(options, recipe, path, pathlib.Path(folder))
        ratio = min(times.values()) / ours
        csr = f"{times['csr']:.3f}" if "csr" in times else ""
        name = pathlib.Path(recipe).stem
        print(f"{name:<18} {times['edge_index']:>14.3f} {csr:>9} {ours:>9.3f} {ratio:>12.1f} {worst:>10.1g}", flush=True)
        rows.append([name, times["edge_index"], times.get("csr", ""), ours, ratio, worst])
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["recipe", "pyg_edge_index_ms", "pyg_csr_ms", "rodeo_ms", "ratio", "difference"], *rows])


if __name__ == "__main__":
    main()
