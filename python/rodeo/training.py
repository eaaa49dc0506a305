"""rodeo.train and rodeo.NodeClassifier: the trainer of the commands, from Python."""
import dataclasses
from typing import Any, Callable, Optional

import numpy as np

from . import _core, _frameworks
from .dataset import Dataset, _host


@dataclasses.dataclass
class TrainResult:
    """What rodeo.train returns. Accuracies are in [0, 1]; with several labels a node, micro-averaged F1; of regression,
    R^2."""

    model: str          # "GCN, 2 layers, 16 hidden, dropout 0.5"
    epochs: int         # the last epoch that ran
    best_epoch: int     # of the best validation accuracy
    best: dict          # train, val, test, val_loss there
    last: dict          # after the last epoch
    history: list       # a dict for each epoch: epoch, loss, ms, lr; where it was evaluated train, val, test, val_loss
    epoch_ms: float     # median of the training steps, without warm-up; NaN for very few epochs
    peak_bytes: int     # of tensors on the device
    weights: dict       # of the best epoch, by PyTorch Geometric's names: NumPy arrays
    logits: np.ndarray  # f32 [nodes, classes] of these weights, in the dataset's order

    regression: bool = False  # the labels are numbers

    def predictions(self):
        """The class of each node: int64 [nodes]. Of regression, the numbers: float32 [nodes, targets]."""
        if self.regression:
            return self.logits
        return self.logits.argmax(axis=1)

    def state_dict(self):
        """The weights as tensors of PyTorch, for the layers of rodeo.torch.nn and torch_geometric.nn."""
        import torch
        return {name: torch.from_numpy(value.copy()) for name, value in self.weights.items()}


def options(model: str = "gcn") -> dict:
    """{name: (default, help)} of the options of rodeo.train for a model."""
    return {name.replace("-", "_"): (default, help) for name, help, default, _ in _core.options_table(model)
            if name not in ("dataset", "model", "explain", "profile", "quiet")}


def _texts(given):
    """(name, text) of options as the command line has them."""
    pairs = []
    for name, value in given.items():
        if value is None:
            continue
        name = name.replace("_", "-")
        pairs.append((name, str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)))
    return pairs


def train(dataset: Any, model: str = "gcn", *, callback: Optional[Callable[[dict], Any]] = None,
          **given: Any) -> TrainResult:
    """Trains a model by the C++ trainer, without PyTorch. Returns a TrainResult.

        result = rodeo.train(rodeo.Dataset.load("cora.h5"), model="gat", epochs=300, device="cuda")

    dataset   a Dataset, or the path of an HDF5 file
    model     gcn, gat, gatv2, sage, gin, sgc, appnp, ...: rodeo.train's defaults are the published ones of each
    callback  called with a dict after each epoch. An exception in it ends training and is raised here
    **given   options of the training commands, with _ for -: hidden=64, lr=0.005, patience=50, device="cuda",
              split="60/20/20", log="run.jsonl", checkpoint="folder", resume=True, no_cuda_graph=True.
              rodeo.options(model) lists them. They have the command's ranges; errors are ValueError

    Ctrl-C ends training after the current epoch and raises KeyboardInterrupt; with checkpoint="folder" and
    resume=True the next call goes on from there. Same seed, same device: same bits.
    """
    if not isinstance(dataset, Dataset):
        dataset = Dataset.load(dataset)
    history = []

    def report(epoch):
        history.append(epoch)
        if callback is not None:
            callback(epoch)

    result = _core.train(dataset._core, model, _texts(given), report)
    result["weights"] = {name: np.array(_frameworks.from_dlpack(w, None)) for name, w in result["weights"].items()}
    result["logits"] = np.array(_frameworks.from_dlpack(result["logits"], None))
    return TrainResult(history=history, **result)


class NodeClassifier:
    """Classifies the nodes of a graph, in the manner of scikit-learn.

        labels = rodeo.NodeClassifier("gcn", epochs=200).fit(edge_index, x, y, train_mask).predict()

    Options are those of rodeo.train. After fit: result_ (a TrainResult), classes_ (the labels, sorted).
    """

    def __init__(self, model="gcn", **given):
        self.model = model
        self.given = given

    def get_params(self, deep=True):
        return {"model": self.model, **self.given}

    def set_params(self, **params):
        self.model = params.pop("model", self.model)
        self.given.update(params)
        return self

    def fit(self, graph, x, y, train_mask=None, val_mask=None, test_mask=None, *, edge_weight=None):
        """graph: edge_index [2, edges], or a rodeo.Graph. x [nodes, features]; y [nodes], labels of any kind.

        Without val_mask a tenth of the training nodes chooses the best epoch. train_mask: default all nodes.
        """
        y = _host(y)
        nodes = y.shape[0]
        train = np.arange(nodes) if train_mask is None else _as_ids(train_mask)
        self.classes_, codes = np.unique(y[train], return_inverse=True)
        labels = np.full(nodes, -1, np.int64)
        labels[train] = codes
        held = []
        for mask in val_mask, test_mask:
            ids = np.zeros(0, np.int64) if mask is None else _as_ids(mask)
            place = np.searchsorted(self.classes_, y[ids]).clip(max=len(self.classes_) - 1)
            known = self.classes_[place] == y[ids]
            labels[ids[known]] = place[known]
            held.append(ids[known])
        val, test = held
        if val_mask is None:
            order = np.random.default_rng(int(self.given.get("seed", 0))).permutation(train)
            count = max(1, len(order) // 10)
            val, train = order[:count], order[count:]
        edges = _edges_of(graph)
        self.dataset_ = Dataset(edges, x, labels, train_mask=train, val_mask=val, test_mask=test, edge_weight=edge_weight,
                                num_nodes=nodes, num_classes=len(self.classes_))
        self.result_ = train_(self.dataset_, self.model, **self.given)
        return self

    def predict(self, graph=None, x=None):
        """The label of each node: of the graph that was fitted, or of another one with the same features."""
        logits = self._logits(graph, x)
        return self.classes_[logits.argmax(axis=1)]

    def predict_proba(self, graph=None, x=None):
        """Probabilities [nodes, classes] in the order of classes_."""
        logits = self._logits(graph, x).astype(np.float64)
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def score(self, y, mask=None):
        """The accuracy on the nodes of a mask; default all."""
        ids = slice(None) if mask is None else _as_ids(mask)
        return float((self.predict()[ids] == _host(y)[ids]).mean())

    def _logits(self, graph, x):
        if not hasattr(self, "result_"):
            raise ValueError("[predict] call fit first")
        if graph is None and x is None:
            return self.result_.logits
        if graph is None or x is None:
            raise ValueError("[predict] give graph and x, or neither")
        other = Dataset(_edges_of(graph), x, num_nodes=x.shape[0])
        logits = _core.predict(other._core, self.model, _texts(_model_options(self.model, self.given)),
                               self.result_.weights, len(self.classes_))
        return np.array(_frameworks.from_dlpack(logits, None))


train_ = train  # NodeClassifier.fit has an argument of that name


def _model_options(model, given):
    """Without those that write files or shape the training."""
    files = {"checkpoint", "checkpoint_every", "resume", "export", "log", "csv", "tensorboard", "report", "trace", "split"}
    return {name: value for name, value in given.items() if name not in files}


def _as_ids(mask):
    mask = _host(mask)
    return np.flatnonzero(mask) if mask.dtype == bool else mask.astype(np.int64)


def _edges_of(graph):
    from .graph import Graph
    if isinstance(graph, Graph):
        return np.stack([_host(part) for part in graph.edge_index()])
    return graph
