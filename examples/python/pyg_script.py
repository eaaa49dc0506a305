#!/usr/bin/env python3
"""A script as it is written with PyTorch Geometric; one line is changed. Trains a GAT on a graph of Cora's size.

    python examples/python/pyg_script.py [--epochs 100]
"""
import argparse

import torch
import torch.nn.functional as F

import rodeo
from rodeo.torch.nn import GATConv  # instead of:  from torch_geometric.nn import GATConv


class Gat(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.conv1 = GATConv(features, 8, heads=8, dropout=0.6)
        self.conv2 = GATConv(64, classes, heads=1, concat=False, dropout=0.6)

    def forward(self, x, edge_index):
        x = F.dropout(x, 0.6, self.training)
        x = F.dropout(F.elu(self.conv1(x, edge_index)), 0.6, self.training)
        return self.conv2(x, edge_index)


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=100)
epochs = parser.parse_args().epochs

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() and rodeo.build_info()["cuda_devices"] else "cpu"
data = rodeo.Dataset.generate("cora")  # any tensors do: edge_index int64 [2, edges], x f32 [nodes, features]
arrays = {name: torch.tensor(value) for name, value in data.arrays().items()}
edge_index = torch.stack([arrays["src"], arrays["dst"]]).long().to(device)
x = arrays["x"] if "x" in arrays else torch.sparse_csr_tensor(
    arrays["x_indptr"], arrays["x_indices"], arrays["x_data"], (data.num_nodes, data.num_features)).to_dense()
x, y, train, test = x.to(device), arrays["y"].to(device), arrays["train"].to(device), arrays["test"].to(device)

model = Gat(data.num_features, data.num_classes).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=5e-4)
for epoch in range(1, epochs + 1):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, edge_index)[train], y[train])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0 or epoch == epochs:
        model.eval()
        with torch.no_grad():
            accuracy = (model(x, edge_index)[test].argmax(1) == y[test]).float().mean()
        print(f"epoch {epoch:4}  loss {loss:.4f}  test {accuracy:.4f}")
