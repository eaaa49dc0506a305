"""rodeo.train: the trainer of the commands, from Python."""
import atexit
import dataclasses
import difflib
import json
import os
import threading
import time
from typing import Any, Callable, Dict, List, Literal, Optional, Union, overload

import numpy as np

from . import _core, _frameworks, _weights
from ._convert import dataset_of
from .hetero import HeteroGraph


@dataclasses.dataclass(repr=False)
class TrainResult:
    """What rodeo.train returns of one run. Metrics are accuracies in [0, 1]; with several labels a node, micro-averaged F1; of
    regression, R^2; of links, the AUC; or the one that `metric` or `link_metric` names."""

    model: str          # "GCN, 2 layers, 16 hidden, dropout 0.5"
    epochs: int         # the last epoch that ran
    best_epoch: int     # of the best validation metric
    best: Dict[str, float]  # train, val, test, val_loss there
    last: Dict[str, float]  # after the last epoch
    history: List[Dict[str, Any]]  # a dict for each epoch: epoch, loss, ms, lr; where it was evaluated train, val, test, val_loss
    epoch_ms: float     # median of the training steps, without warm-up; NaN for very few epochs
    peak_bytes: int     # of tensors on the device
    weights: Dict[str, np.ndarray]  # of the best epoch, by PyTorch Geometric's names: NumPy arrays
    logits: np.ndarray  # f32 [nodes, classes] of these weights, in the dataset's order; of graphs [graphs, classes];
    #                     of links the embeddings [nodes, embedding], by the edges of training; of several processes by all edges

    details: dict = dataclasses.field(default_factory=dict)  # all test metrics of the best epoch, where there are several
    description: dict = dataclasses.field(default_factory=dict)  # what a file of the weights says of them
    seed: int = 0
    _origin: Any = dataclasses.field(default=None, repr=False)

    @property
    def task(self) -> str:
        """node, regression, link or graph."""
        return _weights.task_of(self.description)

    @property
    def regression(self) -> bool:
        """The labels are numbers."""
        return self.description.get("regression", False)

    @property
    def num_features(self) -> int:
        """Columns that the model reads, with those of input_features."""
        return self.description["num_features"]

    @property
    def scales(self) -> dict:
        """How features and targets were scaled: normalize_features, and means and deviations of the columns."""
        return _weights.scales_of(self.description)

    def predictions(self) -> np.ndarray:
        """The class of each node or graph: int64 [nodes]; 0 and 1 [nodes, classes] of several labels. Of regression, the numbers:
        float32 [nodes, targets]."""
        if self.task == "link":
            raise ValueError("[predictions] of task link are scores of pairs of nodes: result.score(pairs)")
        return _weights.classes_of(self.logits, self.description)

    def score(self, pairs: Any, relation: Any = None) -> np.ndarray:
        """For task link: float32 [pairs], the logit that there is an edge. pairs: integers [2, pairs]: sources, targets.
        relation: of a HeteroGraph, by its name or types and name, where several are predicted; pairs are ids within its types.

        Messages pass over all edges of the dataset, as in rodeo_predict: also over those of validation and test.
        """
        if self.task != "link":
            raise ValueError(f"[score] is for task link, this result is of task {self.task}: use predictions()")
        dataset, device = self._origin
        return _weights.Model(self.weights, self.description, device).score(dataset, pairs, relation)

    def state_dict(self) -> dict:
        """The weights as tensors of PyTorch, for the layers of rodeo.torch.nn and torch_geometric.nn."""
        import torch
        return {name: torch.from_numpy(value.copy()) for name, value in self.weights.items()}

    def save(self, path: Any) -> None:
        """Writes the weights and the description of their model as safetensors, for rodeo.load_model and rodeo_predict."""
        self.to_model().save(path)

    def to_model(self) -> "_weights.Model":
        """The trained model, which predicts on other graphs."""
        return _weights.Model(self.weights, self.description)

    def predict(self, data: Any) -> np.ndarray:
        """The classes, or numbers, of another Dataset with the same features. Of the one that was trained on: predictions()."""
        return self.to_model().predict(data)

    def __repr__(self):
        return f"rodeo.TrainResult({self.model!r}, task={self.task!r}, seed={self.seed}, best_epoch={self.best_epoch}, {_parts(self.best)})"


@dataclasses.dataclass(repr=False)
class TrainResults:
    """What rodeo.train returns of several runs: with seeds, splits="all", and of task graph all folds."""

    runs: List[TrainResult]  # a TrainResult for each, in the order of splits, seeds and folds
    mean: Dict[str, float]  # of train, val, test and val_loss at each run's best epoch
    deviation: Dict[str, float]  # of a sample, by n - 1

    @property
    def best_run(self) -> TrainResult:
        """The run with the best validation metric."""
        return max(self.runs, key=lambda run: run.best["val"])

    @property
    def weights(self) -> Dict[str, np.ndarray]:
        """Those of best_run. So are state_dict(), predictions(), save() and predict()."""
        return self.best_run.weights

    def predictions(self) -> np.ndarray:
        return self.best_run.predictions()

    def state_dict(self) -> dict:
        return self.best_run.state_dict()

    def save(self, path: Any) -> None:
        self.best_run.save(path)

    def predict(self, data: Any) -> np.ndarray:
        return self.best_run.predict(data)

    def __repr__(self):
        model = self.runs[0].model if self.runs else ""
        return f"rodeo.TrainResults({len(self.runs)} runs, {model!r}, mean of {_parts(self.mean)})"


def _parts(values):
    return ", ".join(f"{name}={values[name]:.4g}" for name in ("train", "val", "test") if name in values)


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


@overload
def train(dataset: Any, model: str = ..., *, task: Optional[Literal["node", "regression", "link"]] = ..., seeds: Literal[1] = ...,
          gpus: int = ..., ranks: int = ..., callback: Optional[Callable[[Dict[str, Any]], Any]] = ..., splits: None = ...,
          **given: Any) -> TrainResult: ...
@overload
def train(dataset: Any, model: str = ..., *, task: Literal["graph"], fold: int, seeds: Literal[1] = ..., gpus: int = ...,
          ranks: int = ..., callback: Optional[Callable[[Dict[str, Any]], Any]] = ..., **given: Any) -> TrainResult: ...
@overload
def train(dataset: Any, model: str = ..., *, task: Optional[Literal["node", "regression", "link", "graph"]] = ..., seeds: int = ...,
          gpus: int = ..., ranks: int = ..., callback: Optional[Callable[[Dict[str, Any]], Any]] = ...,
          **given: Any) -> TrainResults: ...
@overload
def train(dataset: Any, model: str = ..., *, task: Optional[str] = ..., seeds: int = ..., gpus: int = ..., ranks: int = ...,
          callback: Optional[Callable[[Dict[str, Any]], Any]] = ..., **given: Any) -> Union[TrainResult, TrainResults]: ...
def train(dataset: Any, model: str = "gcn", *, task: Optional[str] = None, seeds: int = 1, gpus: int = 0, ranks: int = 0,
          callback: Optional[Callable[[Dict[str, Any]], Any]] = None, **given: Any) -> Union[TrainResult, TrainResults]:
    """Trains a model by the C++ trainer, without PyTorch. Returns a TrainResult; of several runs TrainResults.

        result = rodeo.train(rodeo.Dataset.load("cora.h5"), model="gat", epochs=300, device="cuda")
        print(rodeo.train(data, seeds=10).mean["test"])

    dataset   a Dataset, a HeteroGraph, the path of an HDF5 file, or data of PyG, OGB or NetworkX (Dataset.from_pyg and others)
    model     gcn, gat, gatv2, sage, gin, sgc, appnp, gcn2, pna, mlp, ...; of a HeteroGraph rgcn, rgat, hgt or hetero-sage. Defaults
              are the published ones of each
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
    resume=True the next call goes on from there. Same seed, same device: same bits. The GPU memory that training took is
    returned to the driver, as by rodeo.empty_cache().
    """
    dataset = dataset_of(dataset)
    _check_types(dataset, model)
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
    _check_names(model, given)
    nodes = dataset.nodes() if isinstance(dataset, HeteroGraph) and given["task"] == "node" else dataset
    if given["task"] == "node":
        _check_complete(nodes, given)
    made = given.get("input_features", given.get("input-features"))
    if given["task"] != "graph" and not isinstance(dataset, HeteroGraph) and not dataset.num_features and made in (None, "file"):
        raise ValueError("[train] the dataset has no features: give x to rodeo.Dataset, or input_features='degree', 'onehot', 'random' or "
                         "'ones' to rodeo.train")
    runs = _runs_of(nodes, given, seeds)
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


def _check_types(dataset, model):
    """Models are of one node type, or of several."""
    if isinstance(dataset, HeteroGraph) and not _core.has_relations(model):
        raise ValueError(f"[train] {dataset.name} has several node types, and the model {model} is for one: choose rgcn, rgat, hgt or "
                         "hetero-sage, or a Dataset of data.to_homogeneous()")
    if not isinstance(dataset, HeteroGraph) and _core.has_relations(model):
        raise ValueError(f"[train] {dataset.name} has one node type, and the model {model} is for several: give a HeteroGraph")


def _check_names(model, given):
    """An unknown option names the nearest one, as Python spells it."""
    if model not in _core.model_names() or given["task"] not in ("node", "link", "graph"):
        return  # the trainer says so
    known = options(model, given["task"])
    for name in given:
        if name.replace("-", "_") in known:
            continue
        try:
            _core.check_options(model, _texts({"task": given["task"], name: "x"}))
        except ValueError as error:
            if "has no option" not in str(error):
                continue
            near = difflib.get_close_matches(name.replace("-", "_"), [*known, "callback", "ranks", "gpus", "seeds"], 1)
            raise ValueError(f"[train] {model} has no option {name!r} for task {given['task']}: "
                             + (f"did you mean {near[0]!r}? " if near else "")
                             + f"rodeo.options({model!r}, {given['task']!r}) lists them") from None


def _check_complete(dataset, given):
    """What the labels of nodes and the split lack, before the trainer looks for them."""
    arrays = dataset.arrays()
    if "graph_ptr" in arrays:
        return  # the trainer names the task
    if "y" not in arrays:
        raise ValueError("[train] the dataset has no labels: give y to rodeo.Dataset, or task='link'")
    if given.get("split") is None and given.get("splits") is None and not dataset._core.num_splits and not len(arrays.get("train", ())):
        raise ValueError("[train] the dataset has no training nodes: give train_mask, val_mask and test_mask to rodeo.Dataset, or "
                         "split='60/20/20' to rodeo.train")


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


_active = set()  # the trainings that run now
_leaving = threading.Event()


@atexit.register
def _end_trainings():
    """Those in daemon threads end with their epoch: C++ code would abort where it waits for an interpreter that is gone."""
    _leaving.set()
    while _active:
        time.sleep(0.01)


os.register_at_fork(after_in_child=_active.clear)


def _train_once(dataset, model, given, gpus, ranks, callback):
    running = object()
    _active.add(running)
    try:
        return _train_until_left(dataset, model, given, gpus, ranks, callback)
    finally:
        _active.discard(running)


def _train_until_left(dataset, model, given, gpus, ranks, callback):
    history = []

    def report(epoch):
        if _leaving.is_set():
            raise SystemExit  # ends the thread without a message
        history.append(epoch)
        if callback is not None:
            callback(epoch)

    if max(gpus, ranks) > 1:
        from ._ranks import train_on_ranks
        result = train_on_ranks(dataset, model, {**given, **({"gpus": gpus} if gpus else {"ranks": ranks})}, report)
    else:
        if gpus:
            given = {"device": "cuda", **given}
        try:
            result = _core.train(dataset._core, model, _texts(given), report)
            result["weights"] = {name: np.array(_frameworks.from_dlpack(w, None)) for name, w in result["weights"].items()}
            result["logits"] = np.array(_frameworks.from_dlpack(result["logits"], None))
        finally:
            _core.empty_cache()
        result["description"] = json.loads(result["description"])
    return TrainResult(history=history, seed=given["seed"], _origin=(dataset, given.get("device", "auto")), **result)
