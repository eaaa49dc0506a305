#!/usr/bin/env python3
"""Link prediction by PyTorch Geometric's example (examples/link_pred.py) on a split that Rodeo can read.

usage: pyg_link_prediction.py DATASET.h5 OUT.h5 [--seed N] [--epochs N] [--dropout P] [--device cpu|cuda]

Splits the edges of DATASET.h5 by RandomLinkSplit (5 % validation, 10 % test), writes the dataset with that split to OUT.h5,
trains the example's GCN (128 hidden, 64 output columns, Adam 0.01) and prints the test AUC at the best validation epoch.
Messages of the test pass over training edges, as Rodeo's do. Needs torch, torch_geometric, h5py and scikit-learn.
"""
import argparse

import h5py
import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.transforms import NormalizeFeatures, RandomLinkSplit
from torch_geometric.utils import negative_sampling, to_undirected


class Net(torch.nn.Module):
    def __init__(self, features, dropout):
        super().__init__()
        self.dropout = dropout
        self.conv1, self.conv2 = GCNConv(features, 128), GCNConv(128, 64)

    def encode(self, x, edge_index):
        drop = lambda h: torch.nn.functional.dropout(h, self.dropout, self.training)
        return self.conv2(drop(self.conv1(drop(x), edge_index).relu()), edge_index)

    @staticmethod
    def decode(z, pairs):
        return (z[pairs[0]] * z[pairs[1]]).sum(dim=-1)


def load(path):
    with h5py.File(path) as f:
        edges = to_undirected(torch.from_numpy(f["edge_index"][:].astype(np.int64)))
        return NormalizeFeatures()(Data(x=torch.from_numpy(f["x"][:]), edge_index=edges))


def write_split(path, out, edges, parts):
    with h5py.File(path) as f, h5py.File(out, "w") as g:
        f.copy("x", g)
        g["edge_index"] = edges.cpu().numpy()
        for name, part in parts.items():
            for label, suffix in ((1, "edges"), (0, "negative_edges")):
                pairs = part.edge_label_index[:, part.edge_label == label]
                g[f"{name}_{suffix}"] = pairs.cpu().numpy()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--dropout", type=float, default=0)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    data = load(args.dataset)
    split = RandomLinkSplit(num_val=0.05, num_test=0.1, is_undirected=True, add_negative_train_samples=False)
    train, val, test = split(data)
    write_split(args.dataset, args.out, data.edge_index, {"val": val, "test": test})
    train, val, test = (part.to(args.device) for part in (train, val, test))
    model = Net(data.num_features, args.dropout).to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    best = (0, 0, 0, 0)
    for epoch in range(1, args.epochs + 1):
        model.train()
        optimizer.zero_grad()
        z = model.encode(train.x, train.edge_index)
        drawn = negative_sampling(train.edge_index, train.num_nodes, train.edge_label_index.size(1), method="sparse")
        pairs = torch.cat([train.edge_label_index, drawn], dim=-1)
        label = torch.cat([train.edge_label, train.edge_label.new_zeros(drawn.size(1))])
        torch.nn.functional.binary_cross_entropy_with_logits(model.decode(z, pairs), label).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            z = model.encode(train.x, train.edge_index)
            scores = [(p.edge_label.cpu().numpy(), model.decode(z, p.edge_label_index).cpu().numpy())
                      for p in (val, test)]
        auc = [roc_auc_score(*s) for s in scores]
        if auc[0] > best[0]:
            best = (auc[0], auc[1], average_precision_score(*scores[1]), epoch)
    print(f"test AUC {best[1]:.4f} AP {best[2]:.4f} at the best validation epoch {best[3]} (val {best[0]:.4f})")


if __name__ == "__main__":
    main()
