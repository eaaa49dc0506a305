#!/usr/bin/env python3
"""GAT, 8 heads of 8, on a graph of Reddit's size: 233 thousand nodes, 115 million edges, 602 features, 41 classes.

    python examples/python/gat_reddit.py                                  # on a GPU with 16 GB or more
    python examples/python/gat_reddit.py --nodes 5000 --edges 200000      # anywhere
    python examples/python/gat_reddit.py --pyg                            # the same with torch_geometric.nn, to compare

PyTorch Geometric stores a message [heads, 8] for each edge, forward and backward. Rodeo computes the attention in one pass over
the edges and stores nothing of their number: memory is that of the nodes, the graph and the features.
"""
import argparse
import resource
import time

import torch
import torch.nn.functional as F

import rodeo

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, default=232_965)
parser.add_argument("--edges", type=int, default=114_615_892)
parser.add_argument("--features", type=int, default=602)
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--pyg", action="store_true")
options = parser.parse_args()
if options.pyg:
    from torch_geometric.nn import GATConv
else:
    from rodeo.torch.nn import GATConv

CLASSES, HEADS, WIDTH = 41, 8, 8
device = "cuda" if torch.cuda.is_available() and rodeo.build_info()["cuda_devices"] else "cpu"


def gib(count):
    return f"{count / 2**30:.2f} GiB"


def memory():
    """Peak memory: of tensors on the GPU, of the process on the CPU."""
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return gib(peak)


def make_data(nodes, edges, features):
    """Symmetric random edges, four of five between nodes of one class, and features that hint at the class."""
    torch.manual_seed(0)
    y = torch.randint(0, CLASSES, (nodes,), device=device)
    by_class = torch.argsort(y, stable=True)
    first = torch.searchsorted(y[by_class].contiguous(), torch.arange(CLASSES + 1, device=device))
    target = torch.randint(0, nodes, (edges // 2,), device=device)
    low, high = first[y[target]], first[y[target] + 1]
    same = by_class[low + (torch.rand(target.shape, device=device) * (high - low)).long()]
    source = torch.where(torch.rand(target.shape, device=device) < 0.8, same, torch.randint_like(target, nodes))
    x = torch.randn(nodes, features, device=device) + 0.5 * torch.randn(CLASSES, features, device=device)[y]
    return torch.stack([torch.cat([source, target]), torch.cat([target, source])]), x, y


class Gat(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv1 = GATConv(features, WIDTH, heads=HEADS, dropout=0.3)
        self.conv2 = GATConv(HEADS * WIDTH, CLASSES, dropout=0.3)

    def forward(self, x, edge_index):
        return self.conv2(F.dropout(F.elu(self.conv1(x, edge_index)), 0.5, self.training), edge_index)


edge_index, x, y = make_data(options.nodes, options.edges, options.features)
train, test = torch.arange(options.nodes, device=device).chunk(2)
print(f"{options.nodes} nodes, {edge_index.size(1)} edges on {device}; edges and features "
      f"{gib(edge_index.nbytes + x.nbytes)}, memory {memory()}")
print(f"one array [edges, heads, {WIDTH}] has {gib(4 * (edge_index.size(1) + options.nodes) * HEADS * WIDTH)}: "
      + ("PyG keeps several" if options.pyg else "there is none"))

graph = edge_index
if not options.pyg:  # edge_index works too; a Graph needs no more of it
    graph = rodeo.Graph.from_edge_index(edge_index, options.nodes)
    del edge_index
model = Gat(options.features).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
if device == "cuda":
    torch.cuda.reset_peak_memory_stats()
for epoch in range(1, options.epochs + 1):
    begin = time.perf_counter()
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, graph)[train], y[train])
    loss.backward()
    optimizer.step()
    text = f"epoch {epoch:3}  loss {loss.item():.4f}  {1e3 * (time.perf_counter() - begin):8.1f} ms"
    if epoch % 5 == 0 or epoch == options.epochs:
        model.eval()
        with torch.no_grad():
            accuracy = (model(x, graph)[test].argmax(1) == y[test]).float().mean()
        text += f"  test {accuracy:.4f}"
    print(text)
print("peak memory", memory())
