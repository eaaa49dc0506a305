"""rodeo.train and rodeo.NodeClassifier: the trainer of the commands, from Python."""
import dataclasses
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _core, _frameworks
from .dataset import Dataset, _host, _ids


@dataclasses.dataclass
class TrainResult:
    """What rodeo.train returns of one run. Metrics are accuracies in [0, 1]; with several labels a node, micro-averaged F1; of
    regression, R^2; of links, the AUC; or the one that `metric` or `link_metric` names."""

    model: str          # "GCN, 2 layers, 16 hidden, dropout 0.5"
    epochs: int         # the last epoch that ran
    best_epoch: int     # of the best validation metric
    best: dict          # train, val, test, val_loss there
    last: dict          # after the last epoch
    history: list       # a dict for each epoch: epoch, loss, ms, lr; where it was evaluated train, val, test, val_loss
    epoch_ms: float     # median of the training steps, without warm-up; NaN for very few epochs
    peak_bytes: int     # of tensors on the device
    weights: dict       # of the best epoch, by PyTorch Geometric's names: NumPy arrays
    logits: np.ndarray  # f32 [nodes, classes] of these weights, in the dataset's order; of graphs [graphs, classes];
    #                     of links the embeddings [nodes, embedding]

    regression: bool = False  # the labels are numbers
    task: str = "node"
    details: dict = dataclasses.field(default_factory=dict)  # all test metrics of the best epoch, where there are several
    scales: dict = dataclasses.field(default_factory=dict)   # how features and targets were scaled: normalize_features, and
    #                     means and deviations of the columns
    seed: int = 0
    _origin: Any = dataclasses.field(default=None, repr=False)

    def predictions(self) -> np.ndarray:
        """The class of each node or graph: int64 [nodes]. Of regression, the numbers: float32 [nodes, targets]."""
        if self.task == "link":
            raise ValueError("[predictions] of task link are scores of pairs of nodes: result.score(pairs)")
        if self.regression:
            return self.logits
        return self.logits.argmax(axis=1)

    def score(self, pairs: Any) -> np.ndarray:
        """Of task link: float32 [pairs], the logit that there is an edge. pairs: integers [2, pairs]: sources, targets.

        Messages pass over all edges of the dataset, as in rodeo_predict: also over those of validation and test.
        """
        if self.task != "link":
            raise ValueError(f"[score] is for task link, this result is of task {self.task}: use predictions()")
        dataset, model, given = self._origin
        pairs = _host(pairs)
        if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(f"[score] pairs must be integers [2, pairs], got {pairs.dtype} {list(pairs.shape)}")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= dataset.num_nodes):
            raise ValueError(f"[score] pairs have ids from {pairs.min()} to {pairs.max()}, there are {dataset.num_nodes} nodes")
        source, target = (np.ascontiguousarray(row, np.int64) for row in pairs)
        scores = _core.predict_links(dataset._core, model, _texts(_model_options(given)), self.weights, source, target,
                                     self.scales)
        return np.array(_frameworks.from_dlpack(scores, None))

    def state_dict(self) -> dict:
        """The weights as tensors of PyTorch, for the layers of rodeo.torch.nn and torch_geometric.nn."""
        import torch
        return {name: torch.from_numpy(value.copy()) for name, value in self.weights.items()}


@dataclasses.dataclass
class TrainResults:
    """What rodeo.train returns of several runs: with seeds, splits="all", and of task graph all folds."""

    runs: list       # a TrainResult for each, in the order of splits, seeds and folds
    mean: dict       # of train, val, test and val_loss at each run's best epoch
    deviation: dict  # of a sample, by n - 1

    @property
    def best_run(self) -> TrainResult:
        """The run with the best validation metric."""
        return max(self.runs, key=lambda run: run.best["val"])

    @property
    def weights(self) -> dict:
        """Those of best_run. So are state_dict() and predictions()."""
        return self.best_run.weights

    def predictions(self) -> np.ndarray:
        return self.best_run.predictions()

    def state_dict(self) -> dict:
        return self.best_run.state_dict()


def options(model: str = "gcn", task: str = "node") -> dict:
    """{name: (default, help)} of the options of rodeo.train for a model and a task."""
    return {name.replace("-", "_"): (default, help) for name, help, default, _ in _core.options_table(model, _task(task))
            if name not in ("dataset", "model", "explain", "profile", "per-class", "quiet", "dry-run", "parallel")}


def _task(task):
    return "node" if task == "regression" else task


def _texts(given):
    """(name, text) of options as the command line has them."""
    pairs = []
    for name, value in given.items():
        if value is None:
            continue
        name = name.replace("_", "-")
        pairs.append((name, str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)))
    return pairs


def train(dataset: Any, model: str = "gcn", *, task: Optional[str] = None, seeds: int = 1, gpus: int = 0, ranks: int = 0,
          callback: Optional[Callable[[dict], Any]] = None, **given: Any) -> Union[TrainResult, TrainResults]:
    """Trains a model by the C++ trainer, without PyTorch. Returns a TrainResult; of several runs TrainResults.

        result = rodeo.train(rodeo.Dataset.load("cora.h5"), model="gat", epochs=300, device="cuda")
        print(rodeo.train(data, seeds=10).mean["test"])

    dataset   a Dataset, or the path of an HDF5 file
    model     gcn, gat, gatv2, sage, gin, sgc, appnp, ...: rodeo.train's defaults are the published ones of each
    task      "node": classes of nodes; "regression" of nodes, whose labels are floats; "link": missing edges; "graph": classes
              of graphs, or numbers where their labels are floats. Default: "node" or "regression", as the labels are
    seeds     runs with seed, seed + 1, ... So are splits="all" (each split of the file's masks), and of task graph all folds
              unless fold=K is given
    gpus      processes of this host that train together, each on a GPU; ranks: the same with `device`, such as "cpu". The
              dataset is written to a temporary file for them. Logits are computed on the CPU afterwards
    callback  called with a dict after each epoch. An exception in it ends training and is raised here
    **given   options of the training commands, with _ for -: hidden=64, lr=0.005, optimizer="adamw", patience=50,
              device="cuda", split="60/20/20", log="run.jsonl", checkpoint="folder", resume=True, no_cuda_graph=True.
              rodeo.options(model, task) lists them. They have the command's ranges; errors are ValueError

    Ctrl-C ends training after the current epoch and raises KeyboardInterrupt; with checkpoint="folder" and
    resume=True the next call goes on from there. Same seed, same device: same bits.
    """
    if not isinstance(dataset, Dataset):
        dataset = Dataset.load(dataset)
    if task == "regression" and not dataset.is_regression:
        raise ValueError("[train] task regression needs labels that are floats; those of the dataset are classes")
    if task == "node" and dataset.is_regression:
        raise ValueError("[train] the labels are floats: give task='regression', or integers, which are classes")
    given = {"task": _task(task or "node"), **given}
    for name, value in ("gpus", gpus), ("ranks", ranks), ("seeds", seeds):
        if not isinstance(value, (int, np.integer)) or value < (name == "seeds"):
            raise ValueError(f"[train] {name} must be a number, at least {int(name == 'seeds')}, got {value!r}")
    if gpus and ranks:
        raise ValueError("[train] gpus and ranks both say how many processes to start: leave one out")
    runs = _runs_of(dataset, given, seeds)
    if len(runs) == 1:
        return _train_once(dataset, model, runs[0], gpus, ranks, callback)
    for name in "checkpoint", "export", "csv", "tensorboard", "report", "trace":
        if given.get(name):
            raise ValueError(f"[train] {name} is for one run, and these are {len(runs)}: log appends all to one file")
    results = []
    for i, options in enumerate(runs):
        def with_run(epoch, i=i, options=options):
            callback({"run": i, **{name: options[name] for name in ("split", "seed", "fold") if name in options}, **epoch})

        results.append(_train_once(dataset, model, options, gpus, ranks, with_run if callback else None))
    table = {part: [run.best[part] for run in results] for part in results[0].best}
    return TrainResults(results, {part: float(np.mean(values)) for part, values in table.items()},
                        {part: float(np.std(values, ddof=1)) for part, values in table.items()})


def _runs_of(dataset, given, seeds):
    """The options of each run, as the command has them: splits, then seeds, then folds."""
    given = dict(given)
    splits, folds = [{}], [{}]
    all_splits = given.pop("splits", None)
    if all_splits is not None:
        if all_splits != "all" or given.get("split") is not None or given["task"] != "node":
            raise ValueError("[train] splits must be 'all', of task node and without split")
        if not dataset._core.num_splits:
            raise ValueError("[train] splits='all' needs the masks of a file, and the dataset has none")
        splits = [{"split": str(k)} for k in range(dataset._core.num_splits)]
    if given["task"] == "graph" and given.get("fold") in (None, "all"):
        count = given.get("folds", 10)
        if not isinstance(count, (int, np.integer)) or count < 3:
            raise ValueError(f"[train] folds must be a number, at least 3, got {count!r}")
        folds = [{"fold": k} for k in range(count)]
    first = given.get("seed", 0)
    if not isinstance(first, (int, np.integer)) or first < 0:
        raise ValueError(f"[train] seed must be a number, at least 0, got {first!r}")
    return [{**given, **split, "seed": int(first) + s, **fold} for split in splits for s in range(seeds) for fold in folds]


def _train_once(dataset, model, given, gpus, ranks, callback):
    history = []

    def report(epoch):
        history.append(epoch)
        if callback is not None:
            callback(epoch)

    if max(gpus, ranks) > 1:
        from ._ranks import train_on_ranks
        result = train_on_ranks(dataset, model, {**given, **({"gpus": gpus} if gpus else {"ranks": ranks})}, report)
    else:
        if gpus:
            given = {"device": "cuda", **given}
        result = _core.train(dataset._core, model, _texts(given), report)
        result["weights"] = {name: np.array(_frameworks.from_dlpack(w, None)) for name, w in result["weights"].items()}
        result["logits"] = np.array(_frameworks.from_dlpack(result["logits"], None))
    return TrainResult(history=history, seed=given["seed"], _origin=(dataset, model, given), **result)


class NodeClassifier:
    """Classifies the nodes of a graph, in the manner of scikit-learn.

        labels = rodeo.NodeClassifier("gcn", epochs=200).fit(edge_index, x, y, train_mask).predict()

    Options are those of rodeo.train. After fit: result_ (a TrainResult), classes_ (the labels, sorted).
    """

    def __init__(self, model: str = "gcn", **given: Any) -> None:
        self.model = model
        self.given = given

    def get_params(self, deep: bool = True) -> dict:
        return {"model": self.model, **self.given}

    def set_params(self, **params: Any) -> "NodeClassifier":
        self.model = params.pop("model", self.model)
        self.given.update(params)
        return self

    def fit(self, graph: Any, x: Any, y: Any, train_mask: Any = None, val_mask: Any = None, test_mask: Any = None, *,
            edge_weight: Any = None) -> "NodeClassifier":
        """graph: edge_index [2, edges], or a rodeo.Graph. x [nodes, features]; y [nodes], labels of any kind.

        Without val_mask a tenth of the training nodes chooses the best epoch. train_mask: default all nodes.
        """
        y = _host(y)
        nodes = y.shape[0]
        train = np.arange(nodes) if train_mask is None else _as_ids("train_mask", train_mask, nodes)
        self.classes_, codes = np.unique(y[train], return_inverse=True)
        labels = np.full(nodes, -1, np.int64)
        labels[train] = codes
        held = []
        for name, mask in ("val_mask", val_mask), ("test_mask", test_mask):
            ids = np.zeros(0, np.int64) if mask is None else _as_ids(name, mask, nodes)
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
        result = train_(self.dataset_, self.model, **self.given)
        self.results_ = result  # of several seeds TrainResults
        self.result_ = result.best_run if isinstance(result, TrainResults) else result
        return self

    def predict(self, graph: Any = None, x: Any = None) -> np.ndarray:
        """The label of each node: of the graph that was fitted, or of another one with the same features."""
        logits = self._logits(graph, x)
        return self.classes_[logits.argmax(axis=1)]

    def predict_proba(self, graph: Any = None, x: Any = None) -> np.ndarray:
        """Probabilities [nodes, classes] in the order of classes_."""
        logits = self._logits(graph, x).astype(np.float64)
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def score(self, y: Any, mask: Any = None) -> float:
        """The accuracy on the nodes of a mask; default all."""
        predicted = self.predict()
        ids = slice(None) if mask is None else _as_ids("mask", mask, len(predicted))
        return float((predicted[ids] == _host(y)[ids]).mean())

    def _logits(self, graph, x):
        if not hasattr(self, "result_"):
            raise ValueError("[predict] call fit first")
        if graph is None and x is None:
            return self.result_.logits
        if graph is None or x is None:
            raise ValueError("[predict] give graph and x, or neither")
        other = Dataset(_edges_of(graph), x, num_nodes=x.shape[0])
        logits = _core.predict(other._core, self.model, _texts(_model_options(self.given)),
                               self.result_.weights, len(self.classes_), self.result_.scales)
        return np.array(_frameworks.from_dlpack(logits, None))


train_ = train  # NodeClassifier.fit has an argument of that name


def _model_options(given):
    """Without those that write files or shape the training."""
    others = {"checkpoint", "checkpoint_every", "resume", "export", "log", "csv", "tensorboard", "report", "trace", "split",
              "splits", "fold", "reorder", "gpus", "ranks", "aggregation", "seeds"}
    return {name: value for name, value in given.items() if name not in others}


def _as_ids(name, mask, nodes):
    ids, mask = _ids(name, mask, nodes), _host(mask)
    return ids if mask.dtype == bool else mask.astype(np.int64)  # in their order


def _edges_of(graph):
    from .graph import Graph
    if isinstance(graph, Graph):
        return np.stack([_host(part) for part in graph.edge_index()])
    return graph
