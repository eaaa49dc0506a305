#!/usr/bin/env python3
"""Prints "an epoch by SpMM algorithm" of docs/benchmarks/training.md, as Markdown, from a JSON file of epoch_bench.

    build/bin/epoch_bench --graph cora --spmm auto,rode,csr --json epochs.json
    scripts/epochs_by_algorithm.py epochs.json

A cell has ms of an epoch and, in parentheses, of its sparse kernels. GEMM and other are those of the first algorithm
of the row. The last column is the largest relative difference between two losses of the row, after the last epoch.
"""
import json
import sys


def cells(rows):
    """{(graph, model, precision): {algorithm: row}}, in the order of the file."""
    table = {}
    for row in rows:
        table.setdefault((row["graph"], row["model"], row["precision"]), {})[row["spmm"]] = row
    return table


def spread(rows):
    losses = [row["loss"] for row in rows if row["loss"] is not None]
    return f"{(max(losses) - min(losses)) / max(losses):.1e}" if losses else "-"


def attention(row):
    return f" {row['attention']}" if row["spmm"] == "auto" and row["attention"] else ""


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = json.load(file)
    algorithms = list(dict.fromkeys(row["spmm"] for row in rows))
    heads = ["graph", "model", "precision", *algorithms, "GEMM", "other", "losses differ by"]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for (graph, model, precision), of in cells(rows).items():
        first = next(iter(of.values()))
        times = [f"{of[a]['epoch_ms']:.3f} ({of[a]['sparse_ms']:.3f}){attention(of[a])}" if a in of else "-" for a in algorithms]
        print("| " + " | ".join([graph, model, precision, *times, f"{first['gemm_ms']:.3f}", f"{first['other_ms']:.3f}",
                                 spread(of.values())]) + " |")


if __name__ == "__main__":
    main()
