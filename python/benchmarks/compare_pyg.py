#!/usr/bin/env python3
"""Measures rodeo.torch beside PyTorch Geometric on one GPU, after comparing results.

    python/benchmarks/compare_pyg.py [--only overhead,gcn,gat,gat-large] [--epochs 20] [--device cuda]

overhead   microseconds of an operator on a graph so small that the GPU takes no time
gcn        GCN 2 x 16 on a graph of Reddit's size: milliseconds an epoch (forward, loss, backward, Adam) and memory
gat        GAT 8 heads x 8 on a graph of ogbn-arxiv's size
gat-large  GAT 8 heads x 8 on a graph of Reddit's size, which PyG cannot hold

The graphs are random, with communities and a skewed degree; nodes are in random order. Each network is run with both
libraries' layers and equal weights first: outputs must agree.
"""
import argparse
import gc
import time

import torch
import torch.nn.functional as F

import rodeo
import rodeo.torch.nn as ours

SIZES = {  # nodes, edges, features, classes, nodes in a community
    "reddit": (232_965, 114_600_000, 602, 41, 4000),
    "arxiv": (169_343, 2_315_598, 128, 40, 1000),
    "small": (2_000, 20_000, 32, 7, 200),
}


def make_graph(size, device, seed=0):
    """Symmetric random edges [2, edges]: four of five within a community, sources by a skewed popularity."""
    nodes, edges, _, _, community = SIZES[size]
    generator = torch.Generator(device).manual_seed(seed)
    half = edges // 2
    popular = lambda n: (torch.rand(n, device=device, generator=generator) ** 2)  # noqa: E731
    target = torch.randint(0, nodes, (half,), device=device, generator=generator)
    start = target // community * community
    within = (start + (popular(half) * community).long()).clamp(max=nodes - 1)
    anywhere = (popular(half) * nodes).long()
    source = torch.where(torch.rand(half, device=device, generator=generator) < 0.8, within, anywhere)
    order = torch.randperm(nodes, device=device, generator=generator)
    source, target = order[source], order[target]
    return torch.stack([torch.cat([source, target]), torch.cat([target, source])])


class Gcn(torch.nn.Module):
    def __init__(self, nn, features, classes, **options):
        super().__init__()
        self.conv1, self.conv2 = nn.GCNConv(features, 16, **options), nn.GCNConv(16, classes, **options)

    def forward(self, x, edges):
        x = F.dropout(x, 0.5, self.training)
        x = F.dropout(self.conv1(x, edges).relu(), 0.5, self.training)
        return self.conv2(x, edges)


class Gat(torch.nn.Module):
    def __init__(self, nn, features, classes):
        super().__init__()
        self.conv1 = nn.GATConv(features, 8, heads=8, dropout=0.6)
        self.conv2 = nn.GATConv(64, classes, heads=1, concat=False, dropout=0.6)

    def forward(self, x, edges):
        x = F.dropout(x, 0.6, self.training)
        x = F.dropout(F.elu(self.conv1(x, edges)), 0.6, self.training)
        return self.conv2(x, edges)


def milliseconds(work, repeats, device):
    """(median, peak GiB) of work(), each from an idle device to its end."""
    for _ in range(5):
        work()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - begin))
    return sorted(times)[len(times) // 2], torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0


def training_step(model, x, edges, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=x.is_cuda)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x, edges), y).backward()
        optimizer.step()

    return step


def compare(title, network, size, epochs, device, beside):
    gc.collect()  # the network before is not part of this one's memory
    torch.manual_seed(0)
    nodes, edges, features, classes, _ = SIZES[size]
    edge_index = make_graph(size, device)
    x = torch.randn(nodes, features, device=device)
    y = torch.randint(0, classes, (nodes,), device=device)
    mine = network(ours, features, classes).to(device)
    rows = [("rodeo.torch", mine, edge_index)]
    if beside is not None:
        theirs = network(beside, features, classes).to(device)
        theirs.load_state_dict(mine.state_dict())
        # Outputs are compared on a smaller graph of the same kind, which both hold.
        small = make_graph("small", device)
        few = torch.randn(SIZES["small"][0], features, device=device)
        with torch.no_grad():
            difference = (mine.eval()(few, small) - theirs.eval()(few, small)).abs().max().item()
        mine.train(), theirs.train()
        assert difference < 1e-3, f"outputs differ by {difference}"
        rows.append(("PyG", theirs, edge_index))
    times = {}
    for name, model, given in rows:
        try:
            torch.manual_seed(1)
            ms, gib = milliseconds(training_step(model, x, given, y), epochs if name != "PyG" else max(3, epochs // 4), device)
            times[name] = ms
            print(f"{title:42} {name:12} {ms:9.3f} ms an epoch  {gib:6.2f} GiB", flush=True)
        except torch.OutOfMemoryError:
            print(f"{title:42} {name:12} out of memory", flush=True)
    if len(times) == 2:
        print(f"{title:42} {'speedup':12} {times['PyG'] / times['rodeo.torch']:9.1f} x", flush=True)
    # A second run has the bits of the first.
    results = []
    for _ in range(2):
        torch.manual_seed(2)
        again = network(ours, features, classes).to(device)
        step = training_step(again, x, edge_index, y)
        for _ in range(2):
            step()
        results.append([p.detach().clone() for p in again.parameters()])
    same = all(torch.equal(a, b) for a, b in zip(*results))
    print(f"{title:42} {'rerun':12} {'the same bits' if same else 'DIFFERENT bits'}", flush=True)


class Nothing(torch.autograd.Function):
    """What PyTorch takes to record any operator that is written in Python."""

    @staticmethod
    def forward(ctx, x):
        return x.detach()

    @staticmethod
    def backward(ctx, dy):
        return dy


def overhead(device):
    """Host time of a call: a thousand of them one after the other, then one wait."""
    graph = rodeo.Graph.from_edge_index(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]], device=device), 4)
    x = torch.randn(4, 8, device=device)
    s, t, h = torch.randn(4, 2, device=device), torch.randn(4, 2, device=device), torch.randn(4, 2, 8, device=device)
    recorded = x.clone().requires_grad_()
    out = torch.empty_like(x)
    score = torch.randn(4, device=device)
    calls = {
        "rodeo.spmm": lambda: rodeo.spmm(graph, x),
        "rodeo.spmm, out=": lambda: rodeo.spmm(graph, x, out=out),
        "rodeo.sddmm": lambda: rodeo.sddmm(graph, x, x),
        "rodeo.edge_softmax": lambda: rodeo.edge_softmax(graph, score),
        "rodeo.gat_attention": lambda: rodeo.gat_attention(graph, s, t, h),
        "rodeo.torch.spmm, no_grad": lambda: rodeo.torch.spmm(graph, x),
        "rodeo.torch.spmm, recorded": lambda: rodeo.torch.spmm(graph, recorded),
        "torch.relu": lambda: torch.relu(x),
        "torch.relu, recorded": lambda: torch.relu(recorded),
        "an empty autograd.Function": lambda: Nothing.apply(recorded),
    }
    for name, call in calls.items():
        best = float("inf")
        for _ in range(5):
            if device == "cuda":
                torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(1000):
                call()
            best = min(best, 1e3 * (time.perf_counter() - begin))
            if device == "cuda":
                torch.cuda.synchronize()
        print(f"overhead  {name:32} {best:7.2f} us", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="overhead,gcn,gat,gat-large")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--size", help="a size for all networks: " + ", ".join(SIZES))
    args = parser.parse_args()
    try:
        import torch_geometric.nn as beside
        import torch_geometric
        version = torch_geometric.__version__
    except ImportError:
        beside, version = None, "not installed"
    print(f"rodeo {rodeo.__version__} ({rodeo.build_info()['commit']}), PyTorch {torch.__version__}, PyG {version}, "
          + (torch.cuda.get_device_name() if args.device == "cuda" else "CPU"))
    for part in args.only.split(","):
        if part == "overhead":
            overhead(args.device)
        elif part == "gcn":
            compare("GCN 2 x 16, Reddit's size", Gcn, args.size or "reddit", args.epochs, args.device, beside)
        elif part == "gat":
            compare("GAT 8 x 8, ogbn-arxiv's size", Gat, args.size or "arxiv", args.epochs, args.device, beside)
        elif part == "gat-large":
            compare("GAT 8 x 8, Reddit's size", Gat, args.size or "reddit", args.epochs, args.device, None)
        else:
            parser.error(f"--only: no such part: {part}")


if __name__ == "__main__":
    import rodeo.torch
    main()
