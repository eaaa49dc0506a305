#!/usr/bin/env python3
"""Runs PyG's own tests with the layers and models of rodeo.torch.nn in place of PyG's, and prints what holds.

    python3 scripts/pyg_tests.py CHECKOUT [FILE ...]

CHECKOUT is a source tree of PyTorch Geometric with its folder test/, of the version that is installed. Needs PyTorch, PyG, pytest and
the package rodeo. FILE: tests in CHECKOUT/test, instead of those of the layers, models and tools that rodeo has.
"""
import collections
import os
import sys

import pytest

LAYERS = ("APPNP", "ChebConv", "FastRGCNConv", "GATConv", "GATv2Conv", "GCNConv", "GINConv", "GINEConv", "GraphConv", "HGTConv", "PNAConv",
          "RGCNConv", "SAGEConv", "SGConv", "TransformerConv")
MODELS = ("GCN", "GraphSAGE", "GIN", "GAT", "PNA")
FILES = [f"nn/conv/test_{name}.py" for name in ("appnp", "cheb_conv", "gat_conv", "gatv2_conv", "gcn_conv", "gin_conv", "graph_conv",
                                                "hgt_conv", "pna_conv", "rgcn_conv", "sage_conv", "sg_conv", "static_graph", "transformer_conv")] + [
    "nn/conv/test_hetero_conv.py", "nn/test_to_hetero_transformer.py", "explain/algorithm/test_gnn_explainer.py",
    "explain/algorithm/test_pg_explainer.py", "nn/models/test_basic_gnn.py"]


class Results:
    """A pytest plugin: the outcome of each test, by file."""

    def __init__(self):
        self.outcomes = collections.defaultdict(collections.Counter)
        self.failures = []

    def pytest_runtest_setup(self):
        import torch
        torch.manual_seed(0)  # some compare random outputs to the last bits

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.add(report)

    def pytest_collectreport(self, report):
        if report.failed:
            self.add(report)

    def add(self, report):
        file, _, name = report.nodeid.partition("::")
        outcome, why = report.outcome, ""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            lines = (crash.message if crash else str(report.longrepr)).strip().splitlines()
            why = lines[0] if crash else lines[-1]
            if "se torch_geometric.nn for it" in why:  # refused by name
                outcome = "refused"
            self.failures.append((os.path.basename(file), name, why))
        self.outcomes[os.path.basename(file)][outcome] += 1


def main(checkout, *files):
    import torch_geometric.nn as pyg

    import rodeo.torch.nn as ours
    replaced = {name: getattr(ours, name) for name in LAYERS + MODELS}
    for name, value in replaced.items():
        setattr(pyg, name, value)
    results = Results()
    root = os.path.join(checkout, "test")
    sys.path.insert(0, checkout)
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=short", "--no-header", "-c", os.devnull, f"--rootdir={checkout}",
                 *(os.path.join(root, file) for file in files or FILES)], plugins=[results])
    print("\n| tests of PyG | hold | fail | refused by name | skipped |\n| --- | ---: | ---: | ---: | ---: |")
    for file, counts in results.outcomes.items():
        print(f"| `{file}` | {counts['passed']} | {counts['failed']} | {counts['refused']} | {counts['skipped']} |")
    for file, name, why in results.failures:
        print(f"- `{file}::{name}`: {why}")
    return 1 if results.failures else 0


if __name__ == "__main__":
    if len(sys.argv) < 2 or not os.path.isdir(os.path.join(sys.argv[1], "test")):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
