#!/usr/bin/env python3
"""Times training epochs of Rodeo and PyG on the CPU, alternating on the same cores, and prints the ratios.

    scripts/cpu_epoch.py build/bin/epoch_bench graph.h5 ... [--threads 2] [--rounds 3] [--model gcn,gat] [--csv FILE]

Needs torch, torch_geometric and h5py. PyG runs as in scripts/pyg_epoch.py: the graph is normalised once; GCN runs both with
scatter and with A as a torch.sparse CSR matrix, and the faster one counts. A round is the median of its epochs. The best
round of each library counts, because other work on the machine can only slow a round down.
"""
import argparse
import csv
import math
import os


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10, help="epochs of one round")
    parser.add_argument("--model", default="gcn,gat")
    parser.add_argument("--features", default="auto", help="epoch_bench's --features: auto, dense or sparse")
    parser.add_argument("--csv")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # before torch is loaded

    import torch
    import torch_geometric
    import pyg_epoch

    torch.set_num_threads(options.threads)
    print(f"{options.threads} threads, torch {torch.__version__}, torch_geometric {torch_geometric.__version__}, ms an epoch")
    print(f"{'graph':<20} {'model':<6} {'features':<8} {'rodeo':>9} {'PyG':>9} {'by':<8} {'ratio':>6}")
    rows = []
    for path in options.files:
        name = os.path.basename(path).removesuffix(".h5")
        edge_index, x, y, train = pyg_epoch.load(path, "cpu")
        for model in options.model.split(","):
            best, theirs, kind, form = math.inf, math.inf, "", ""
            for _ in range(options.rounds):
                row = pyg_epoch.ours(options.bench, path, model, "cpu", "--epochs", str(options.epochs), "--features",
                                     options.features)
                ms, form = float(row["epoch_ms"]), row["features"]
                best = min(best, ms)
                for candidate in ["gcn", "gcn-csr"] if model == "gcn" else [model]:
                    hidden, heads = (16, 1) if model == "gcn" else (8, 8)
                    parts = pyg_epoch.make(candidate, edge_index, x, int(y.max()) + 1, hidden, heads)
                    ms, _ = pyg_epoch.epochs_ms(*parts, x, y, train, 3, options.epochs)
                    if ms < theirs:
                        theirs, kind = ms, candidate
            print(f"{name:<20} {model:<6} {form:<8} {best:>9.3f} {theirs:>9.3f} {kind:<8} {theirs / best:>5.1f}x", flush=True)
            rows.append((name, model, form, best, theirs, kind, theirs / best))
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("graph", "model", "features", "rodeo_ms", "pyg_ms", "pyg_form", "ratio"), *rows])


if __name__ == "__main__":
    main()
