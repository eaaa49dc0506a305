#!/usr/bin/env python3
"""Trains the model of a recipe with PyTorch Geometric, by the protocol of the recipe: is a gap to a paper ours?

    scripts/pyg_recipe.py recipes/gcn-pubmed.json=pubmed.h5 ... [--seeds 5] [--device cuda] [--csv FILE]

Needs torch, torch_geometric and h5py. For each RECIPE=FILE it prints the test result at the best validation epoch, mean
and standard deviation (of a sample) over the seeds, as rodeo_train --seeds does. The model is that of pyg_trunk.py, with
PyG's initial weights; the split is the recipe's `class:A/B/C@SEED`, else the first masks of the file. f32, without TF32.
"""
import argparse
import csv
import json
import statistics
import sys
import time

import h5py
import torch
import torch.nn.functional as F

from compare_trunk import KNOWN, graphs, load
from pyg_trunk import Trunk


def split_by_class(y, text):
    """A nodes of each class, then B and C of all others; as the paper's code draws them."""
    shares, seed = text.removeprefix("class:").split("@")
    each, validation, test = map(int, shares.split("/"))
    torch.manual_seed(int(seed))
    train, rest = [], []
    for label in y.unique():
        nodes = torch.where(y == label)[0]
        nodes = nodes[torch.randperm(len(nodes))]
        train.append(nodes[:each])
        rest.append(nodes[each:])
    rest = torch.cat(rest)
    rest = rest[torch.randperm(len(rest))]
    return torch.cat(train), rest[:validation], rest[validation:validation + test]


def split_of(path, recipe, y):
    if recipe.get("split", "").startswith("class:") and "@" in recipe["split"]:
        return split_by_class(y, recipe["split"])
    if "split" in recipe:
        sys.exit(f"pyg_recipe.py: {path}: split {recipe['split']} is not known here: leave it out for the file's masks")
    with h5py.File(path, "r") as file:
        masks = [torch.from_numpy(file[f"{part}_mask"][:]) for part in ("train", "val", "test")]
    return [torch.where((mask[:, 0] if mask.ndim == 2 else mask) == 1)[0] for mask in masks]


def area(score, y):
    """ROC-AUC of the second class; equal scores count half."""
    order = score.argsort()
    values, place = torch.unique(score, return_inverse=True)
    ranks = torch.zeros(len(values), dtype=torch.float64, device=y.device)
    position = torch.arange(1, len(y) + 1, dtype=torch.float64, device=y.device)
    count = torch.zeros_like(ranks).index_add_(0, place[order], torch.ones_like(position))
    ranks.index_add_(0, place[order], position)
    rank = (ranks / count)[place]
    ones = (y == 1).sum().double()
    return ((rank[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones))).item()


def result(logits, y, nodes, metric):
    if metric == "roc-auc":
        return area((logits[nodes, 1] - logits[nodes, 0]).double(), y[nodes])
    return (logits[nodes].argmax(1) == y[nodes]).float().mean().item()


def train(recipe, x, y, graph, parts, seed):
    torch.manual_seed(seed)
    model = Trunk(recipe, x.size(1), int(y.max()) + 1).to(x.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe["lr"], weight_decay=recipe["weight-decay"])
    best = (-1.0, 0.0, 0)
    for epoch in range(1, recipe["epochs"] + 1):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x, graph)[parts[0]], y[parts[0]]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            logits = model(x, graph)
        validation = result(logits, y, parts[1], recipe.get("metric"))
        if validation > best[0]:
            best = (validation, result(logits, y, parts[2], recipe.get("metric")), epoch)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="RECIPE=FILE")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, help="instead of the recipe's")
    parser.add_argument("--csv")
    options = parser.parse_args()
    rows = []
    for pair in options.pairs:
        path, equals, file = pair.partition("=")
        if not equals:
            sys.exit(f"pyg_recipe.py: expected RECIPE=FILE, got {pair}")
        with open(path) as text:
            recipe = json.load(text)
        if unknown := sorted(set(recipe) - KNOWN):
            sys.exit(f"pyg_recipe.py: {path}: {', '.join(unknown)} is not known here")
        if options.epochs:
            recipe["epochs"] = options.epochs
        begin = time.perf_counter()
        x, y, edges = load(file, recipe, "cpu")
        parts = [part.to(options.device) for part in split_of(file, recipe, y)]
        x, y, edges = (tensor.to(options.device) for tensor in (x, y, edges))
        graph = graphs(recipe["model"], edges, x.size(0))
        runs = [train(recipe, x, y, graph.get("csr", graph["edge_index"]), parts, seed) for seed in range(options.seeds)]
        spread = [statistics.stdev(run[i] for run in runs) if len(runs) > 1 else 0.0 for i in (0, 1)]
        mean = [statistics.mean(run[i] for run in runs) for i in (0, 1)]
        print(f"{path}: test {100 * mean[1]:.2f} +- {100 * spread[1]:.2f}, val {100 * mean[0]:.2f} +- {100 * spread[0]:.2f}, "
              f"{len(runs)} seeds, best epochs {' '.join(str(run[2]) for run in runs)}, {time.perf_counter() - begin:.0f} s",
              flush=True)
        rows.append([path, len(runs), mean[1], spread[1], mean[0], spread[0]])
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            csv.writer(out).writerows([["recipe", "seeds", "test", "test_deviation", "val", "val_deviation"], *rows])


if __name__ == "__main__":
    main()
