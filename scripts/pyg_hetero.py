#!/usr/bin/env python3
"""Trains PyG's models of several node types on one of Rodeo's HDF5 files, and prints accuracy, milliseconds of an epoch and memory.

    scripts/pyg_hetero.py dblp.h5 [--model rgcn,hetero-sage,rgat,hgt] [--hidden 64] [--heads 4] [--epochs 100] [--device cuda]
                          [--split A/B/C] [--residual] [--seeds 1] [--features N] [--normalize-features standard|unit|row|none]

The models are those of `rodeo_train --undirected`: each type is projected to --hidden columns, or has trainable rows without
features; convolutions with ReLU and dropout 0.5 after each; a linear layer for the target type. rgcn is RGCNConv over one
edge_index with relation numbers, the others are HeteroConv of SAGEConv or GATConv, and HGTConv. Adam, lr 0.01. Each relation has
its reverse. An epoch is forward, cross entropy of the training nodes, backward and Adam; evaluations are not timed. --features N
gives types without features N random ones. f32. A model that runs out of memory says so. Needs torch, torch_geometric and h5py.
"""
import argparse
import statistics
import time

import h5py
import torch
import torch.nn.functional as F
from torch_geometric.nn import GATConv, HeteroConv, HGTConv, Linear, RGCNConv, SAGEConv

MASKS = ("train_mask", "val_mask", "test_mask")


def load(path, args, device):
    """Features by type, edges by relation, and labels and masks of the target type."""
    with h5py.File(path, "r") as file:
        types, target = file.attrs["node_types"].split("\n"), file.attrs["target_type"]
        counts = {t: int(file[f"nodes/{t}"].attrs["num_nodes"]) for t in types}
        x = {t: torch.from_numpy(file[f"nodes/{t}/x"][:]).float() if f"nodes/{t}/x" in file else None for t in types}
        edges = {tuple(r.split(":")): torch.from_numpy(file[f"edges/{r}/edge_index"][:].astype("int64"))
                 for r in file.attrs["relations"].split("\n")}
        group = file[f"nodes/{target}"]
        y = torch.from_numpy(group["y"][:].astype("int64"))
        masks = None if args.split else [torch.from_numpy(group[m][:].astype(bool)) for m in MASKS]
    edges |= {(t, f"rev_{r}", s): ids.flip(0) for (s, r, t), ids in list(edges.items())}
    for t in types:
        if x[t] is None and args.features:
            x[t] = torch.randn(counts[t], args.features)
        elif x[t] is not None and args.normalize_features == "row":
            x[t] = x[t] / x[t].abs().sum(1, keepdim=True).clamp(min=1e-12)
        elif x[t] is not None and args.normalize_features == "unit":
            x[t] = F.normalize(x[t])
        elif x[t] is not None and args.normalize_features == "standard":
            x[t] = (x[t] - x[t].mean(0)) / x[t].std(0).clamp(min=1e-12)
    on = {t: v.to(device) if v is not None else None for t, v in x.items()}
    return counts, on, {k: v.to(device) for k, v in edges.items()}, target, y.to(device), masks


def random_masks(y, split, seed):
    fractions = [float(part) for part in split.split("/")]
    labelled = (y >= 0).nonzero().flatten().cpu()
    order = labelled[torch.randperm(len(labelled), generator=torch.Generator().manual_seed(seed))]
    ends = [round(len(order) * sum(fractions[:i]) / sum(fractions)) for i in range(4)]
    masks = [torch.zeros(len(y), dtype=torch.bool) for _ in range(3)]
    for i, mask in enumerate(masks):
        mask[order[ends[i]:ends[i + 1]]] = True
    return masks


class Model(torch.nn.Module):
    def __init__(self, kind, counts, x, edges, target, classes, args):
        super().__init__()
        self.kind, self.counts, self.target, hidden = kind, counts, target, args.hidden
        self.project = torch.nn.ModuleDict({t: Linear(v.shape[1], hidden) for t, v in x.items() if v is not None})
        self.rows = torch.nn.ParameterDict({t: torch.nn.Parameter(torch.randn(n, hidden) / hidden ** 0.5)
                                            for t, n in counts.items() if x[t] is None})
        head = {"concat": True, "heads": args.heads, "add_self_loops": False, "residual": args.residual}
        make = {"rgcn": lambda: RGCNConv(hidden, hidden, len(edges)),
                "hetero-sage": lambda: HeteroConv({k: SAGEConv(hidden, hidden) for k in edges}, aggr="sum"),
                "rgat": lambda: HeteroConv({k: GATConv(hidden, hidden // args.heads, **head) for k in edges}, aggr="sum"),
                "hgt": lambda: HGTConv(hidden, hidden, (list(counts), list(edges)), args.heads)}[kind]
        self.convs = torch.nn.ModuleList(make() for _ in range(args.layers))
        self.head = torch.nn.Linear(hidden, classes)
        if kind == "rgcn":  # one graph whose nodes are sorted by type
            first = dict(zip(counts, [0, *torch.tensor(list(counts.values())).cumsum(0).tolist()]))
            self.first = first[target]
            device = next(iter(edges.values())).device
            self.edge_index = torch.cat([ids + torch.tensor([[first[s]], [first[t]]], device=device)
                                         for (s, _, t), ids in edges.items()], 1)
            self.edge_type = torch.cat([torch.full((ids.shape[1],), i, device=device) for i, ids in enumerate(edges.values())])

    def forward(self, x, edges):
        h = {t: F.relu(self.project[t](x[t])) if x[t] is not None else self.rows[t] for t in self.counts}
        if self.kind == "rgcn":
            h = torch.cat(list(h.values()))
            for conv in self.convs:
                h = F.dropout(F.relu(conv(h, self.edge_index, self.edge_type)), 0.5, self.training)
            return self.head(h[self.first:self.first + self.counts[self.target]])
        for conv in self.convs:
            h = {t: F.dropout(F.relu(v), 0.5, self.training) for t, v in conv(h, edges).items()}
        return self.head(h[self.target])


def train(kind, data, masks, seed, args, device):
    counts, x, edges, target, y, _ = data
    torch.manual_seed(seed)
    model = Model(kind, counts, x, edges, target, int(y.max()) + 1, args).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    times, best = [], (0, 0)
    for epoch in range(args.epochs):
        model.train()
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges)[masks[0]], y[masks[0]]).backward()
        optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
        if args.evaluate:
            model.eval()
            with torch.no_grad():
                right = model(x, edges).argmax(1) == y
            best = max(best, tuple(right[mask].float().mean().item() for mask in masks[1:]), key=lambda e: e[0])  # the first
    return statistics.median(times[len(times) // 4:]), best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--model", default="rgcn,hetero-sage,rgat,hgt")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--normalize-features", default="standard", choices=("standard", "unit", "row", "none"))
    parser.add_argument("--split", help="random masks, A/B/C, of each seed")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--residual", action="store_true", help="rgat: add a projection of the target itself, as Rodeo's layer does")
    parser.add_argument("--no-evaluation", dest="evaluate", action="store_false", help="time epochs alone")
    for name, default in (("hidden", 64), ("heads", 4), ("layers", 2), ("epochs", 100), ("seeds", 1), ("features", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    device = torch.device(args.device)
    data = load(args.file, args, device)
    print(f"{'model':<12} {'epoch ms':>9} {'peak MiB':>9}  test accuracy at the best validation epoch, mean of {args.seeds}")
    for kind in args.model.split(","):
        found = []
        try:
            for seed in range(args.seeds):
                if device.type == "cuda":
                    torch.cuda.reset_peak_memory_stats()
                masks = random_masks(data[4], args.split, seed) if args.split else data[5]
                found.append(train(kind, data, [mask.to(device) for mask in masks], seed, args, device))
        except torch.OutOfMemoryError:
            print(f"{kind:<12} out of memory")
            continue
        peak = torch.cuda.max_memory_allocated() / 2**20 if device.type == "cuda" else float("nan")
        test = [accuracy for _, (_, accuracy) in found]
        spread = statistics.stdev(test) if len(test) > 1 else 0
        print(f"{kind:<12} {statistics.median(ms for ms, _ in found):>9.2f} {peak:>9.0f}  {statistics.mean(test):.4f} +- {spread:.4f}")


if __name__ == "__main__":
    main()
