"""Weights with the description of their model, as safetensors files: those of rodeo_train --export, and of TrainResult.save."""
import json
import os
from typing import Any

import numpy as np

from . import _core, _frameworks
from .dataset import Dataset, _host
from .hetero import HeteroGraph

_SCALES = "feature_mean", "feature_deviation", "target_mean", "target_deviation"


def scales_of(description):
    """How inputs and outputs are scaled, from the description in a file of weights."""
    return {"normalize_features": description["model"].get("normalize-features", "none"),
            **{name: description[name] for name in _SCALES if name in description}}


def task_of(description):
    """The argument `task` of rodeo.train: "regression" where labels of nodes are numbers."""
    task = description["model"].get("task", "node")
    return "regression" if task == "node" and description.get("regression") else task


class Model:
    """Weights of a file and the model that they are of. Predicts on any graph with the same features.

        model = rodeo.load_model("model.safetensors")
        classes = model.predict(rodeo.Dataset.load("other.h5"))

    Attributes: weights, a dict of NumPy arrays; description, what the file says of them; task; num_features; num_classes.
    """

    def __init__(self, weights: dict, description: dict, device: str = "auto") -> None:
        self.weights, self.description, self.device = weights, description, device
        settings = description["model"]
        self.task = task_of(description)
        self.num_features, self.num_classes = description["num_features"], description["num_classes"]
        self._model = settings["model"]

    def logits(self, data: Any) -> np.ndarray:
        """f32 [nodes, classes] in evaluation mode; of task graph [graphs, classes]; of task link the embeddings of nodes; of a
        HeteroGraph of the nodes of the type that was trained on."""
        return self._run(_core.predict, data)

    def predict(self, data: Any) -> np.ndarray:
        """The class of each node or graph, int64; 0 and 1 [nodes, classes] of several labels; of regression the numbers, f32."""
        if self.task == "link":
            raise ValueError("[predict] the model is of task link, which scores pairs of nodes: model.score(data, pairs)")
        return classes_of(self.logits(data), self.description)

    def predict_proba(self, data: Any) -> np.ndarray:
        """Probabilities, f64 [nodes, classes]."""
        if self.task == "link" or self.description.get("regression"):
            raise ValueError("[predict] only models that tell classes apart have probabilities")
        logits = self.logits(data).astype(np.float64)
        return 1 / (1 + np.exp(-logits)) if self.description.get("multi_label") else softmax(logits)

    def score(self, data: Any, pairs: Any, relation: Any = None) -> np.ndarray:
        """For task link: f32 [pairs], the logit that there is an edge. pairs: integers [2, pairs].

        relation: of a HeteroGraph, a name or (source type, name, target type); may be left out where one relation is predicted.
        Pairs are then ids within its types.
        """
        if self.task != "link":
            raise ValueError(f"[score] is for task link, the model is of task {self.task}: use predict()")
        data, pairs = self._checked(data), _host(pairs)
        if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(f"[score] pairs must be integers [2, pairs], got {pairs.dtype} {list(pairs.shape)}")
        if not isinstance(data, HeteroGraph):
            if relation is not None:
                raise ValueError(f"[score] relation is for graphs of several node types, {data.name} has one")
            if pairs.size and (pairs.min() < 0 or pairs.max() >= data.num_nodes):
                raise ValueError(f"[score] pairs have ids from {pairs.min()} to {pairs.max()}, there are {data.num_nodes} nodes")
        name = relation if isinstance(relation, str) else ":".join(relation or ())
        return self._run(_core.predict_links, data, *(np.ascontiguousarray(row, np.int64) for row in pairs), name)

    def save(self, path: Any) -> None:
        """Writes the file again."""
        write(path, self.weights, self.description)

    def _run(self, function, data, *rest):
        """On the CPU where this machine has no GPU."""
        device = str(self.device)
        if device.startswith("cuda") and not _core.build_info()["cuda_devices"]:
            device = "cpu"
        result = function(self._checked(data)._core, json.dumps(self.description), self.weights, device, *rest)
        return np.array(_frameworks.from_dlpack(result, None))

    def _checked(self, data):
        from ._convert import dataset_of
        data = dataset_of(data)
        if isinstance(data, HeteroGraph) != _core.has_relations(self._model):
            raise ValueError(f"[predict] {data.name} has {'several node types' if isinstance(data, HeteroGraph) else 'one node type'}, and "
                             f"the model {self._model} is for {'several' if _core.has_relations(self._model) else 'one'}")
        if isinstance(data, HeteroGraph):
            return data  # the library compares types, relations and features, by name
        if data.num_features != self.num_features and self.description["model"].get("input-features", "file") == "file":
            raise ValueError(f"[predict] the model reads {self.num_features} features of each node, {data.name} has {data.num_features}")
        return data

    def __repr__(self):
        return (f"rodeo.Model({self._model!r}, task={self.task!r}, num_features={self.num_features}, num_classes={self.num_classes}, "
                f"trained on {self.description.get('dataset', 'a dataset')!r})")


def classes_of(logits, description):
    """The class of each row; 0 and 1 of several labels; of regression the numbers themselves."""
    if description.get("regression"):
        return logits
    return (logits > 0).astype(np.int64) if description.get("multi_label") else logits.argmax(axis=1)


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def load_model(path: Any, device: str = "auto") -> Model:
    """A model from a file of TrainResult.save, of rodeo.train(export=...), or of the commands' --export."""
    weights, description = read(path)
    if description is None:
        raise ValueError(f"[load_model] {os.fspath(path)}: was not written by Rodeo: it has no metadata 'rodeo'")
    try:
        return Model(weights, description, device)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"[load_model] {os.fspath(path)}: its description is damaged: {error}") from None


def read(path):
    """({name: float32 array}, the description or None) of a safetensors file."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        size = int.from_bytes(content[:8], "little")
        header, data = json.loads(content[8:8 + size]), memoryview(content)[8 + size:]
        text = header.pop("__metadata__", {}).get("rodeo")
        weights = {}
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            if entry["dtype"] != "F32":
                raise ValueError(f"{name} is {entry['dtype']}, expected F32")
            weights[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).copy()
        return weights, None if text is None else json.loads(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"[load_model] {os.fspath(path)}: is no safetensors file of weights: {error}") from None


def write(path, weights, description):
    """Writes a safetensors file, atomically."""
    header, position = {"__metadata__": {"format": "pt", "rodeo": json.dumps(description)}}, 0
    arrays = {name: np.ascontiguousarray(array, "<f4") for name, array in sorted(weights.items())}
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [position, position + array.nbytes]}
        position += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    unfinished = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(unfinished, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values()))
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
