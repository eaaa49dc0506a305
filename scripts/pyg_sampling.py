#!/usr/bin/env python3
"""Times one epoch of PyG's SAGE on sampled mini-batches, and prints the columns of sample_bench in one line.

    scripts/pyg_sampling.py [graph.h5] [--nodes 2449029] [--edges 123718280] [--fanout 15,10,5] [--batches 0]

Needs torch and torch_geometric; h5py for a file. Neighbours are drawn without replacement by torch operators on the
device (Floyd's algorithm, one row a node), because PyG's NeighborLoader samples on the CPU and needs pyg_lib or
torch_sparse. Nodes are numbered by a table of all nodes. The model is PyG's SAGEConv, a layer a block. Without a file the
graph is random with log-normal degrees: compare the edges and inputs of an epoch with those of sample_bench. --batches N
times N batches and scales to an epoch.
"""
import argparse
import time

import torch
import torch.nn.functional as F
from torch_geometric.nn import SAGEConv


def read(path, device):
    import h5py

    with h5py.File(path, "r") as file:
        if "indptr" in file:
            return (torch.from_numpy(file["indptr"][:].astype("int64")).to(device),
                    torch.from_numpy(file["indices"][:].astype("int64")).to(device))
        src, dst = torch.from_numpy(file["edge_index"][:].astype("int64")).to(device)
        nodes = file["x"].shape[0]
    dst, order = dst.sort()
    return torch.searchsorted(dst, torch.arange(nodes + 1, device=device)), src[order]


def draw(nodes, edges, device):
    weight = torch.randn(nodes, device=device, dtype=torch.float64).exp().cumsum(0)
    ends = (weight * (edges / weight[-1].item())).long().clamp_(max=edges)
    ends[-1] = edges
    return torch.cat([ends.new_zeros(1), ends]), torch.randint(nodes, (edges,), device=device)


def sample(row_ptr, col, nodes, fanout):
    """Edges (source node, row) of at most `fanout` different edges of each node."""
    begin = row_ptr[nodes]
    degree = row_ptr[nodes + 1] - begin
    picked = torch.empty(nodes.numel(), fanout, dtype=torch.int64, device=nodes.device)
    uniform = torch.rand(nodes.numel(), fanout, device=nodes.device, dtype=torch.float64)
    for j in range(fanout):
        last = (degree - fanout + j).clamp_(min=0)
        chosen = (uniform[:, j] * (last + 1)).long()
        again = (picked[:, :j] == chosen[:, None]).any(1)
        picked[:, j] = torch.where(again, last, chosen)
    slot = torch.arange(fanout, device=nodes.device)
    few = degree[:, None] <= fanout
    picked = torch.where(few, slot, picked)
    row, at = ((~few) | (slot < degree[:, None])).nonzero(as_tuple=True)
    return col[begin[row] + picked[row, at]], row


def blocks_of(row_ptr, col, targets, fanouts, table):
    """(edge_index, destinations) of each layer, the first layer first, and the nodes whose features it reads."""
    nodes, blocks = targets, []
    for fanout in fanouts:
        source, row = sample(row_ptr, col, nodes, fanout)
        table[nodes] = torch.arange(nodes.numel(), device=nodes.device)
        new = source[table[source] < 0].unique()
        table[new] = torch.arange(nodes.numel(), nodes.numel() + new.numel(), device=nodes.device)
        blocks.insert(0, (torch.stack([table[source], row]), nodes.numel()))
        nodes = torch.cat([nodes, new])
        table[nodes] = -1
    return blocks, nodes


class Sage(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x, blocks):
        for i, (conv, (edges, count)) in enumerate(zip(self.convs, blocks)):
            x = conv((x, x[:count]), edges)
            if i + 1 < len(self.convs):
                x = F.dropout(F.relu(x), 0.5, self.training)
        return x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--nodes", type=int, default=2449029)
    parser.add_argument("--edges", type=int, default=123718280)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--classes", type=int, default=47)
    parser.add_argument("--train", type=int, default=196615, help="training nodes")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--fanout", default="15,10,5")
    parser.add_argument("--batches", type=int, default=0, help="batches to time; 0: an epoch")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device(args.device)
    row_ptr, col = read(args.file, device) if args.file else draw(args.nodes, args.edges, device)
    nodes = row_ptr.numel() - 1
    fanouts = [int(each) for each in args.fanout.split(",")]
    x = torch.rand(nodes, args.features, device=device) * 2 - 1
    label = torch.randint(args.classes, (nodes,), device=device)
    order = torch.randperm(nodes, device=device)[:args.train].split(args.batch)
    table = torch.full((nodes,), -1, device=device)
    model = Sage([args.features] + [args.hidden] * (len(fanouts) - 1) + [args.classes]).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003, fused=device.type == "cuda")
    spent = [0.0, 0.0]  # sampling, training

    def now():
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def run(batches, waits):
        edges = inputs = 0
        for targets in batches:
            begin = now() if waits else 0
            blocks, sources = blocks_of(row_ptr, col, targets, fanouts, table)
            middle = now() if waits else 0
            optimizer.zero_grad()
            F.cross_entropy(model(x[sources], blocks), label[targets]).backward()
            optimizer.step()
            if waits:
                spent[0] += middle - begin
                spent[1] += now() - middle
            edges += sum(each.size(1) for each, _ in blocks)
            inputs += sources.numel()
        return edges, inputs

    run(order[:5], False)  # warm-up
    timed = order[:args.batches] if args.batches else order
    scale = len(order) / len(timed)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    begin = now()
    edges, inputs = run(timed, False)
    epoch = now() - begin
    run(timed, True)
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else float("nan")
    print(f"PyG SAGE, {nodes} nodes, {col.numel()} edges, batch {args.batch}, hidden {args.hidden}: "
          f"{len(order)} batches, {scale * edges / 1e6:.1f} M edges, {scale * inputs / 1e6:.1f} M inputs, "
          f"epoch {1e3 * scale * epoch:.1f} ms, sample {1e3 * scale * spent[0]:.1f} ms, "
          f"gather and train {1e3 * scale * spent[1]:.1f} ms, peak {peak:.2f} GiB"
          + (f" (scaled from {len(timed)} batches)" if args.batches else ""))


if __name__ == "__main__":
    main()
