"""rodeo.NodeClassifier: rodeo.train in the manner of scikit-learn, which it does not need."""
import difflib
from typing import Any

import numpy as np

from . import _core
from ._weights import Model, softmax
from .dataset import Dataset, _host, _ids, _is_mask_of_numbers
from .training import TrainResults, options, train

_GRAPH_FORM = "graph", "x", "y", "train_mask", "val_mask", "test_mask"
_PARAMETERS = "model", "graph", "x", "edge_weight", "random_state", "seeds", "gpus", "ranks", "callback", "task"


class NodeClassifier:
    """Classifies the nodes of a graph, in the manner of scikit-learn.

        labels = rodeo.NodeClassifier("gcn", epochs=200).fit(edge_index, x, y, train_mask).predict()

        by_ids = rodeo.NodeClassifier("gcn", graph=edge_index, x=features)      # X is node ids
        cross_val_score(by_ids, np.arange(nodes), y, cv=5)

    model         gcn, gat, ...; **given are options of rodeo.train
    graph         edge_index [2, edges], a rodeo.Graph, or a rodeo.Dataset, whose features are taken. Or give it to fit
    x             [nodes, features] of the graph. Then X of fit, predict and score are node ids [n] or [n, 1]
    edge_weight   [edges]
    random_state  a number, or a NumPy generator, for the weights, dropout and the nodes that choose the best epoch

    After fit: result_ (a TrainResult), classes_ (the labels, sorted), n_features_in_.
    """

    _estimator_type = "classifier"

    def __init__(self, model: str = "gcn", *, graph: Any = None, x: Any = None, edge_weight: Any = None, random_state: Any = None,
                 **given: Any) -> None:
        self.model, self.graph, self.x, self.edge_weight, self.random_state = model, graph, x, edge_weight, random_state
        self.given = given

    def get_params(self, deep: bool = True) -> dict:
        own = {name: getattr(self, name) for name in ("graph", "x", "edge_weight", "random_state")}
        return {"model": self.model, **own, **self.given}

    def set_params(self, **params: Any) -> "NodeClassifier":
        """Sets options of rodeo.train and parameters of the constructor. ValueError names an unknown one."""
        model = params.get("model", self.model)
        if model in _core.model_names():
            known = [*_PARAMETERS, *options(model)]
            for name in params:
                if name.replace("-", "_") not in known and name not in self.given:
                    near = difflib.get_close_matches(name, known, 1)
                    raise ValueError(f"[set_params] NodeClassifier({model!r}) has no parameter {name!r}"
                                     + (f": did you mean {near[0]!r}?" if near else ""))
        for name, value in params.items():
            if name in ("model", "graph", "x", "edge_weight", "random_state"):
                setattr(self, name, value)
            else:
                self.given[name] = value
        return self

    def fit(self, *arrays: Any, **named: Any) -> "NodeClassifier":
        """fit(X, y), or fit(graph, x, y, train_mask). Also by name: graph, x, y, train_mask, val_mask, test_mask, edge_weight.

        fit(X, y)            with x, or a Dataset as graph: X is node ids, y their labels. Else X is the features of all nodes of
                             graph=, and y their labels
        fit(graph, x, y)     graph: edge_index, a rodeo.Graph or a rodeo.Dataset; x [nodes, features]; y [nodes]

        Labels are of any kind. train_mask, val_mask, test_mask: masks or node ids; default: train on all nodes. Without val_mask a
        tenth of the training nodes chooses the best epoch.
        """
        graph_first = len(arrays) > 2 or (len(arrays) == 2 and "y" in named) or (len(arrays) < 2 and "x" in named and "X" not in named)
        form = _GRAPH_FORM if graph_first else ("X", "y")
        for name in named:
            if name not in {*form, *_GRAPH_FORM, "edge_weight"} - {*form[:len(arrays)]}:
                raise TypeError(f"NodeClassifier.fit has no argument {name!r}, or has it twice")
        given = {**dict(zip(form, arrays)), **named}
        if given.get("y") is None:
            raise ValueError("[fit] y, the labels, is missing")
        graph = given.get("graph", self.graph)
        if graph is None:
            raise ValueError("[fit] the graph is missing: fit(X, y, graph=edge_index), or NodeClassifier(graph=edge_index)")
        x, y, train_ids = given.get("x", self.x), _host(given["y"]), given.get("train_mask")
        self._by_ids = "X" in given and (x is not None or isinstance(graph, Dataset))
        if "X" in given and not self._by_ids:
            x = given["X"]
        nodes = graph.num_nodes if x is None and isinstance(graph, Dataset) else _rows(x)
        if self._by_ids:
            train_ids = _node_ids("X", given["X"], nodes)
            y = _spread(train_ids, y, nodes)
            train_ids = np.unique(train_ids)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.shape != (nodes,):
            raise ValueError(f"[fit] y must be the labels of {nodes} nodes, got {list(y.shape)}")
        self._fit(graph, x, y, train_ids, given, nodes)
        return self

    def _fit(self, graph, x, y, train_mask, given, nodes):
        train_ids = np.arange(nodes) if train_mask is None else _as_ids("train_mask", train_mask, nodes)
        self.classes_, codes = np.unique(y[train_ids], return_inverse=True)
        labels = np.full(nodes, -1, np.int64)
        labels[train_ids] = codes
        held = []
        for name in "val_mask", "test_mask":
            ids = np.zeros(0, np.int64) if given.get(name) is None else _as_ids(name, given[name], nodes)
            place = np.searchsorted(self.classes_, y[ids]).clip(max=len(self.classes_) - 1)
            known = self.classes_[place] == y[ids]
            labels[ids[known]] = place[known]
            held.append(ids[known])
        val, test = held
        seed = self._seed()
        if given.get("val_mask") is None:
            order = np.random.default_rng(seed).permutation(train_ids)
            count = max(1, len(order) // 10)
            val, train_ids = order[:count], order[count:]
        if x is None:
            self.dataset_ = graph.with_labels(labels, train_ids, val, test, len(self.classes_))
        else:
            weight = given.get("edge_weight", self.edge_weight)
            self.dataset_ = Dataset(_edges_of(graph), x, labels, train_mask=train_ids, val_mask=val, test_mask=test,
                                    edge_weight=weight, num_nodes=nodes, num_classes=len(self.classes_))
        self.n_features_in_ = 1 if self._by_ids else self.dataset_.num_features
        result = train(self.dataset_, self.model, **{**self.given, "seed": seed})
        self.results_ = result  # of several seeds TrainResults
        self.result_ = result.best_run if isinstance(result, TrainResults) else result

    def predict(self, X: Any = None, x: Any = None) -> np.ndarray:
        """The labels of predict_proba's arguments: node ids, features, another graph, or none for all nodes."""
        codes = self._logits(X, x).argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: Any = None, x: Any = None) -> np.ndarray:
        """Probabilities [n, classes] in the order of classes_.

        predict_proba()          all nodes of the graph that was fitted
        predict_proba(ids)       some of them: ids [n] or [n, 1], or a mask
        predict_proba(features)  all of them with other features [nodes, features]
        predict_proba(graph, x)  all nodes of another graph with the same features
        """
        return softmax(self._logits(X, x).astype(np.float64))

    def score(self, X: Any, y: Any) -> float:
        """The accuracy on the nodes X, whose labels are y. X: as of predict; None for all nodes."""
        if not hasattr(self, "classes_"):
            raise ValueError("[score] call fit first")
        y = _host(y)
        if y.dtype == bool and self.classes_.dtype != bool:
            raise ValueError("[score] y must be labels, got a mask: score(X, y) has the nodes first, and the labels of these nodes")
        predicted = self.predict(X)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if y.shape != predicted.shape:
            raise ValueError(f"[score] y must be the labels of {len(predicted)} nodes, got {list(y.shape)}")
        return float((predicted == y).mean())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags
        return Tags(estimator_type="classifier", target_tags=TargetTags(required=True), transformer_tags=None, regressor_tags=None,
                    classifier_tags=ClassifierTags(poor_score=True), input_tags=InputTags(one_d_array=True))

    def __repr__(self):
        shown = [repr(self.model)]
        for name, value in list(self.get_params().items())[1:]:
            if value is not None:
                shape = getattr(value, "shape", None)
                shown.append(f"{name}=" + (repr(value) if not shape else f"<{type(value).__name__} {list(shape)}>"))
        return f"NodeClassifier({', '.join(shown)})"

    def _seed(self):
        state = self.random_state
        if state is None:
            return int(self.given.get("seed", 0))
        if isinstance(state, (int, np.integer)) and state >= 0:
            return int(state)
        if hasattr(state, "integers"):
            return int(state.integers(2 ** 31))
        if hasattr(state, "randint"):
            return int(state.randint(2 ** 31 - 1))
        raise ValueError(f"[fit] random_state must be a number, at least 0, or a generator of NumPy, got {state!r}")

    def _logits(self, X, x):
        if not hasattr(self, "result_"):
            raise ValueError("[predict] call fit first")
        if x is not None:
            if X is None:
                raise ValueError("[predict] give graph and x, or neither")
            return self._logits_on(Dataset(_edges_of(X), x, num_nodes=_rows(x)))
        if X is None:
            return self.result_.logits
        if isinstance(X, Dataset):
            return self._logits_on(X)
        nodes = self.dataset_.num_nodes
        if self._by_ids or len(getattr(X, "shape", (0,))) == 1:
            return self.result_.logits[_node_ids("X", X, nodes)]
        if len(X.shape) != 2 or X.shape[1] != self.dataset_.num_features:
            raise ValueError(f"[predict] X must be node ids, or features [{nodes}, {self.dataset_.num_features}], got {list(X.shape)}")
        if X.shape[0] != nodes:
            raise ValueError(f"[predict] X has {X.shape[0]} rows, the graph {nodes} nodes: give predict(graph, x) for another graph")
        arrays = {name: array for name, array in self.dataset_.arrays().items() if name in ("src", "dst", "indptr", "indices",
                                                                                             "edge_weight", "edge_attr")}
        from .dataset import _features
        width = _features(X, nodes, arrays)
        return self._logits_on(Dataset(_core.Dataset.from_arrays(arrays, nodes, width, 0, "predict")))

    def _logits_on(self, dataset):
        return Model(self.result_.weights, self.result_.description, self.given.get("device", "auto")).logits(dataset)


def _rows(x):
    shape = getattr(x, "shape", None)
    if shape is None or len(shape) != 2:
        raise ValueError(f"[fit] features must be an array [nodes, features], got {type(x).__name__ if shape is None else list(shape)}")
    return shape[0]


def _node_ids(name, ids, nodes):
    """Node ids in their order, with repetitions."""
    ids = _host(ids)
    ids = ids[:, 0] if ids.ndim == 2 and ids.shape[1] == 1 else ids
    _ids(name, ids, nodes)  # checks them
    return np.flatnonzero(ids) if ids.dtype == bool else ids.astype(np.int64)


def _spread(ids, y, nodes):
    """Labels of nodes, of which only those of `ids` will be read."""
    if len(y) != len(ids):
        raise ValueError(f"[fit] y must be the labels of {len(ids)} nodes, got {list(y.shape)}")
    spread = np.zeros((nodes, *y.shape[1:]), y.dtype)
    spread[ids] = y
    return spread


def _as_ids(name, mask, nodes):
    ids, mask = _ids(name, mask, nodes), _host(mask)
    return ids if mask.dtype == bool or _is_mask_of_numbers(mask, nodes) else mask.astype(np.int64)  # ids in their order


def _edges_of(graph):
    from .graph import Graph
    if isinstance(graph, Dataset):
        graph = graph.graph()
    return np.stack([_host(part) for part in graph.edge_index()]) if isinstance(graph, Graph) else graph
