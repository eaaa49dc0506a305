#!/usr/bin/env python3
"""Trains with NumPy arrays alone, saves the graph as HDF5, and predicts. PyTorch is not needed."""
import os
import tempfile

import numpy as np

import rodeo

random = np.random.default_rng(0)
nodes = 400
y = random.integers(0, 3, nodes)
source, target = random.integers(0, nodes, (2, 6000))
same = (y[source] == y[target]) | (random.random(6000) < 0.1)  # neighbours mostly have the same label
edge_index = np.stack([source[same], target[same]])
x = random.standard_normal((nodes, 8)).astype("float32") + y[:, None] / 2

train = random.random(nodes) < 0.3
classifier = rodeo.NodeClassifier("sage", hidden=16, epochs=100, normalize_features="none")
classifier.fit(edge_index, x, y, train_mask=train)
print(f"accuracy on the other nodes {classifier.score(~train, y[~train]):.3f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "graph.h5")
    classifier.dataset_.save(path)
    result = rodeo.train(path, model="gcn", epochs=50, normalize_features="none",
                         callback=lambda e: e["epoch"] % 10 or print(f"epoch {e['epoch']:3}  loss {e['loss']:.4f}"))
print(result.model, "- validation accuracy", round(result.best["val"], 3))
