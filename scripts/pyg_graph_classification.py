#!/usr/bin/env python3
"""Classification of graphs by PyTorch Geometric's GIN example (examples/mutag_gin.py) on a file of Rodeo.

usage: pyg_graph_classification.py GRAPHS.h5 [--epochs N] [--folds N] [--batch N]

Same protocol as rodeo_train --task graph: stratified folds, the next fold validates, test accuracy at the best validation
epoch. The folds themselves are scikit-learn's. Needs torch, torch_geometric, h5py and scikit-learn.
"""
import argparse
import statistics

import h5py
import torch
from sklearn.model_selection import StratifiedKFold
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MLP, GINConv, global_add_pool


class Net(torch.nn.Module):
    def __init__(self, features, classes, hidden=32, layers=5):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            GINConv(MLP([features if i == 0 else hidden, hidden, hidden])) for i in range(layers))
        self.mlp = MLP([hidden, hidden, classes], norm=None, dropout=0.5)

    def forward(self, data):
        x = data.x
        for conv in self.convs:
            x = conv(x, data.edge_index).relu()
        return self.mlp(global_add_pool(x, data.batch))


def load(path):
    with h5py.File(path) as f:
        ptr, label = f["graph_ptr"][:], torch.from_numpy(f["graph_y"][:])
        edges, x = torch.from_numpy(f["edge_index"][:]).long(), torch.from_numpy(f["x"][:])
    graph_of_edge = torch.bucketize(edges[0], torch.from_numpy(ptr[1:]), right=True)
    return [Data(x=x[ptr[g]:ptr[g + 1]], edge_index=edges[:, graph_of_edge == g] - ptr[g], y=label[g:g + 1])
            for g in range(len(label))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("graphs")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--batch", type=int, default=128)
    args = parser.parse_args()
    graphs = load(args.graphs)
    labels = [int(g.y) for g in graphs]
    parts = [test for _, test in StratifiedKFold(args.folds, shuffle=True, random_state=0).split(labels, labels)]
    results = []
    for k in range(args.folds):
        torch.manual_seed(k)
        chosen = {"test": parts[k], "val": parts[(k + 1) % args.folds]}
        held = set(chosen["test"]) | set(chosen["val"])
        train = DataLoader([g for i, g in enumerate(graphs) if i not in held], args.batch, shuffle=True)
        whole = {name: next(iter(DataLoader([graphs[i] for i in part], len(part)))) for name, part in chosen.items()}
        model = Net(graphs[0].x.size(1), max(labels) + 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        best = (-1, 0)
        for _ in range(args.epochs):
            model.train()
            for batch in train:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(batch), batch.y).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                accuracy = {name: float((model(b).argmax(1) == b.y).float().mean()) for name, b in whole.items()}
            if accuracy["val"] > best[0]:
                best = (accuracy["val"], accuracy["test"])
        results.append(best[1])
        print(f"fold {k} test {best[1]:.4f} val {best[0]:.4f}", flush=True)
    print(f"test accuracy {statistics.mean(results):.4f} +- {statistics.stdev(results):.4f}")


if __name__ == "__main__":
    main()
