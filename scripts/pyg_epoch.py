#!/usr/bin/env python3
"""Times training epochs of PyG's GCN and GAT on Rodeo's HDF5 files, and prints the columns of epoch_bench.

    scripts/pyg_epoch.py graph.h5 [--bench build/bin/epoch_bench] [--model gcn,gat] [--hidden 16] [--heads 8]
                         [--epochs 30] [--csv FILE]

Needs torch, torch_geometric and h5py. PyG runs in its fastest form: self loops and normalisation are computed once,
before the first epoch. GCN also runs with A as a torch.sparse CSR matrix, as the model "gcn-csr". GAT has the published
heads, dropout and optimiser, as in train_gat. f32, without TF32. With --bench, epoch_bench times each model first, on the
same file and device; the last two columns are its milliseconds and the ratio PyG / Rodeo.
"""
import argparse
import csv
import statistics
import subprocess
import tempfile
import time

import h5py
import torch
import torch.nn.functional as F
from torch_geometric.nn import GATConv, GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops, remove_self_loops


def load(path, device):
    with h5py.File(path, "r") as file:
        if "edge_index" in file:
            edge_index = torch.from_numpy(file["edge_index"][:].astype("int64"))
        else:  # row i lists the nodes that send messages to node i
            indptr = torch.from_numpy(file["indptr"][:].astype("int64"))
            src = torch.from_numpy(file["indices"][:].astype("int64"))
            dst = torch.repeat_interleave(torch.arange(indptr.numel() - 1), indptr.diff())
            edge_index = torch.stack([src, dst])
        x = torch.from_numpy(file["x"][:]).float()
        y = torch.from_numpy(file["y"][:].astype("int64")).flatten()
        if "train_mask" not in file:
            raise SystemExit(f"{path}: no train_mask")
        train = torch.from_numpy(file["train_mask"][:].astype(bool)).flatten()
    return edge_index.to(device), x.to(device), y.to(device), train.to(device)


class CsrConv(torch.nn.Module):
    """GCN's convolution with A_hat as a torch.sparse CSR matrix. Multiplies by A_hat where the features are narrower."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(n_in, n_out))
        self.bias = torch.nn.Parameter(torch.zeros(n_out))
        torch.nn.init.xavier_uniform_(self.weight)
        self.narrow_in = n_in < n_out

    def forward(self, x, adj):
        y = (adj @ x) @ self.weight if self.narrow_in else adj @ (x @ self.weight)
        return y + self.bias


class Gcn(torch.nn.Module):
    def __init__(self, conv, n_in, hidden, classes):
        super().__init__()
        self.conv1, self.conv2 = conv(n_in, hidden), conv(hidden, classes)

    def forward(self, x, graph):
        x = F.dropout(x, 0.5, self.training)
        x = F.relu(self.conv1(x, *graph))
        x = F.dropout(x, 0.5, self.training)
        return self.conv2(x, *graph)


class Gat(torch.nn.Module):
    def __init__(self, n_in, hidden, heads, classes):
        super().__init__()
        same = {"dropout": 0.6, "add_self_loops": False}
        self.conv1 = GATConv(n_in, hidden, heads, **same)
        self.conv2 = GATConv(hidden * heads, classes, 1, concat=False, **same)

    def forward(self, x, graph):
        x = F.dropout(x, 0.6, self.training)
        x = F.elu(self.conv1(x, *graph))
        x = F.dropout(x, 0.6, self.training)
        return self.conv2(x, *graph)


def make(kind, edge_index, x, classes, hidden, heads):
    """The model, the graph's arguments of its forward(), and its optimiser."""
    nodes = x.size(0)
    if kind == "gat":
        loops = add_self_loops(remove_self_loops(edge_index)[0], num_nodes=nodes)[0]
        model = Gat(x.size(1), hidden, heads, classes).to(x.device)
        return model, (loops,), torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
    index, weight = gcn_norm(edge_index, num_nodes=nodes, dtype=x.dtype)
    if kind == "gcn":
        def conv(n_in, n_out):
            return GCNConv(n_in, n_out, normalize=False)
        graph = (index, weight)
    else:
        conv = CsrConv
        coo = torch.sparse_coo_tensor(index.flip(0), weight, (nodes, nodes))  # rows are destinations
        graph = (coo.coalesce().to_sparse_csr(),)
    model = Gcn(conv, x.size(1), hidden, classes).to(x.device)
    decayed = {"params": model.conv1.parameters(), "weight_decay": 5e-4}
    return model, graph, torch.optim.Adam([decayed, {"params": model.conv2.parameters()}], lr=0.01)


def epochs_ms(model, graph, optimizer, x, y, train, warmup, epochs):
    nodes = train.nonzero().flatten()
    label = y[nodes]

    def synchronize():
        if x.is_cuda:
            torch.cuda.synchronize()

    if x.is_cuda:
        torch.cuda.reset_peak_memory_stats()
    times = []
    model.train()
    for epoch in range(warmup + epochs):
        synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x, graph)[nodes], label).backward()
        optimizer.step()
        synchronize()
        if epoch >= warmup:
            times.append(1e3 * (time.perf_counter() - begin))
    peak = torch.cuda.max_memory_allocated() if x.is_cuda else float("nan")
    return statistics.median(times), peak


def ours(bench, path, model, device, *options):
    """One row of epoch_bench's table."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        subprocess.run([bench, "--dataset", path, "--model", model, "--device", device, "--csv", out.name, *options],
                       check=True, stdout=subprocess.DEVNULL)
        with open(out.name, encoding="utf-8") as file:
            return next(csv.DictReader(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--model", default="gcn,gcn-csr,gat")
    parser.add_argument("--hidden", type=int, help="default: 16 for GCN, 8 for GAT")
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--bench", help="path of epoch_bench, to time Rodeo too")
    parser.add_argument("--csv")
    options = parser.parse_args()
    kinds = options.model.split(",")
    if not set(kinds) <= {"gcn", "gcn-csr", "gat"}:
        parser.error(f"--model must be of gcn, gcn-csr, gat, got '{options.model}'")

    rows = []
    print(f"{'graph':<20} {'model':<8} {'hidden':>6} {'heads':>5} {'epoch, ms':>11} {'peak, GiB':>10}"
          + (f" {'Rodeo, ms':>11} {'PyG / Rodeo':>11}" if options.bench else ""))
    for path in options.files:
        name = path.rsplit("/", 1)[-1].removesuffix(".h5")
        sizes = {kind: (options.hidden or 8, options.heads) if kind == "gat" else (options.hidden or 16, 1) for kind in kinds}
        rodeo_ms = {}
        for kind, (hidden, heads) in sizes.items() if options.bench else ():
            row = ours(options.bench, path, kind.removesuffix("-csr"), options.device, "--hidden", str(hidden),
                       "--heads", str(heads))
            rodeo_ms[kind] = float(row["epoch_ms"])
        edge_index, x, y, train = load(path, options.device)
        for kind in kinds:
            hidden, heads = sizes[kind]
            try:
                parts = make(kind, edge_index, x, int(y.max()) + 1, hidden, heads)
                ms, peak = epochs_ms(*parts, x, y, train, options.warmup, options.epochs)
            except torch.cuda.OutOfMemoryError:
                ms = peak = float("nan")
            parts = None
            if x.is_cuda:
                torch.cuda.empty_cache()
            beside = f" {rodeo_ms[kind]:>11.3f} {ms / rodeo_ms[kind]:>11.1f}" if rodeo_ms else ""
            print(f"{name:<20} {kind:<8} {hidden:>6} {heads:>5} {ms:>11.3f} {peak / 2**30:>10.3f}{beside}", flush=True)
            rows.append((name, kind, hidden, heads, ms, "", "", "", peak, "", "", "dense", "none", "", "fp32"))
    if options.csv:
        with open(options.csv, "w", encoding="utf-8") as file:
            file.write("graph,model,hidden,heads,epoch_ms,sparse_ms,gemm_ms,other_ms,peak_bytes,kernels,of_roofline,features,reorder,reorder_ms,precision\n")
            for row in rows:
                file.write(",".join(str(field) for field in row) + "\n")


if __name__ == "__main__":
    main()
