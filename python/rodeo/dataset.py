"""rodeo.Dataset: one graph with features, labels and a split."""
from typing import TYPE_CHECKING, Any, Dict, Optional

import numpy as np

from . import _core, _frameworks

if TYPE_CHECKING:
    from .graph import Graph


def _host(array, dtype=None):
    """A contiguous NumPy array; shares memory where it can."""
    if _frameworks.know(array):
        array = array.detach().cpu().numpy()
    elif hasattr(array, "get") and hasattr(array, "device"):  # CuPy
        array = array.get()
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "c" and dtype is not None:  # a cast would drop the imaginary part
        raise ValueError(f"[dataset] arrays must be real, got {array.dtype}: give real and imaginary parts as two columns")
    return array if dtype is None or array.dtype == dtype else array.astype(dtype)


def _ids(name, part, nodes):
    """Node ids of a mask [nodes], or of an array of ids: ascending int64."""
    part = _host(part)
    if part.dtype == bool or _is_mask_of_numbers(part, nodes):
        if part.shape != (nodes,):
            raise ValueError(f"[dataset] {name} must be a mask of {nodes} nodes or node ids, got {list(part.shape)}")
        return np.flatnonzero(part)
    if part.ndim != 1 or part.dtype.kind not in "iu":
        raise ValueError(f"[dataset] {name} must be a boolean mask or integer ids of nodes, got {part.dtype} {list(part.shape)}")
    ids = np.unique(part.astype(np.int64))
    if ids.size and (ids[0] < 0 or ids[-1] >= nodes):
        raise ValueError(f"[dataset] {name} has node {ids[0] if ids[0] < 0 else ids[-1]}, outside [0, {nodes})")
    return ids


def _is_mask_of_numbers(part, nodes):
    """0 and 1 for each node. As ids they would name a node twice."""
    return nodes > 2 and part.shape == (nodes,) and part.dtype.kind in "iu" and bool((part >> 1 == 0).all())


class Dataset:
    """One graph with features, labels and a split, for rodeo.train and as an HDF5 file (datasets/README.md).

    Attributes: name, num_nodes, num_edges, num_features, num_classes, num_graphs.
    """

    def __init__(self, edge_index: Any, x: Any = None, y: Any = None, *, train_mask: Any = None, val_mask: Any = None,
                 test_mask: Any = None, edge_weight: Any = None, edge_attr: Any = None, graph_ptr: Any = None,
                 num_nodes: Optional[int] = None, num_classes: Optional[int] = None, name: str = "dataset") -> None:
        """From arrays of any framework; those on a GPU are copied to the host. Do not change them afterwards.

        edge_index   integers [2, edges]: sources, targets; or a DataFrame with these two columns
        x            [nodes, features], floats; or a sparse matrix of SciPy
        y            integers [nodes], negative where unknown; or [nodes, classes] of 0, 1 and -1
                     (unknown); or floats [nodes] or
                     [nodes, targets] for regression, NaN where unknown
        *_mask       booleans or 0 and 1 [nodes], or node ids. Without any: give split="60/20/20" to rodeo.train
        edge_weight  [edges]
        edge_attr    [edges, edge features], floats, for edge_features=True
        graph_ptr    integers [graphs + 1]: a set of graphs, graph g has the nodes graph_ptr[g] .. graph_ptr[g + 1] - 1. Then
                     y is integers [graphs], or floats [graphs] or [graphs, targets] for regression, and rodeo.train has
                     task="graph"
        """
        if isinstance(edge_index, _core.Dataset):
            self._core = edge_index
            return
        if hasattr(edge_index, "columns"):  # a DataFrame of sources and targets
            edge_index = edge_index.to_numpy().T
        edges = _host(edge_index)
        if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
            raise ValueError(f"[dataset] edge_index must be integers [2, edges], got {edges.dtype} {list(edges.shape)}")
        x, y = (np.asarray(value) if isinstance(value, (list, tuple)) else value for value in (x, y))
        sizes = [int(edges.max()) + 1 if edges.size else 0]
        sizes += [value.shape[0] for value in (x, y if graph_ptr is None else None) if value is not None]
        if graph_ptr is not None and len(graph_ptr):
            sizes.append(int(graph_ptr[-1]))
        nodes = max(sizes) if num_nodes is None else num_nodes
        if edges.size and (edges.min() < 0 or edges.max() >= nodes):
            raise ValueError(f"[dataset] edge_index has ids from {edges.min()} to {edges.max()}, there are {nodes} nodes")
        edges = edges.astype(np.int64, copy=False)
        arrays = {"src": np.ascontiguousarray(edges[0]), "dst": np.ascontiguousarray(edges[1])}
        features = _features(x, nodes, arrays)
        if graph_ptr is not None:
            classes = _graph_labels(y, _graph_ptr(graph_ptr, edges, nodes, arrays), num_classes, arrays)
        else:
            classes = _labels(y, nodes, num_classes, arrays)
        if edge_weight is not None:
            arrays["edge_weight"] = _finite("edge_weight", _host(edge_weight, np.float32), (edges.shape[1],))
        if edge_attr is not None:
            edge_attr = _host(edge_attr, np.float32)
            if edge_attr.ndim != 2:
                raise ValueError(f"[dataset] edge_attr must be [{edges.shape[1]}, n], got {list(edge_attr.shape)}")
            arrays["edge_attr"] = _finite("edge_attr", edge_attr, (edges.shape[1], edge_attr.shape[1]))
        _split(arrays, nodes, {"train": train_mask, "val": val_mask, "test": test_mask})
        self._core = _core.Dataset.from_arrays(arrays, nodes, features, classes, name)

    @classmethod
    def load(cls, path: Any, split: str = "", seed: int = 0) -> "Dataset":
        """Reads and checks a file. split: "", "2" (one of the file's) or "60/20/20" (random, by seed)."""
        return cls(_core.Dataset.load(str(path), split, seed))

    @classmethod
    def from_pyg(cls, data: Any, split: int = 0, name: Optional[str] = None) -> "Dataset":
        """From a Data of PyTorch Geometric, or a dataset, Batch or list of them: a set of graphs. split: of masks [nodes, splits]."""
        from ._convert import from_pyg
        return from_pyg(data, split, name)

    @classmethod
    def from_dgl(cls, data: Any, y: Any = None, name: str = "dgl") -> "Dataset":
        """From a graph of DGL, or a dataset, batch or list of graphs, or of pairs (graph, label): a set of graphs.

        Nodes have "feat", "label", "train_mask", "val_mask" and "test_mask", edges "feat" and "weight"; all are optional.
        y   labels instead: of nodes; of a set, one for each graph
        """
        from ._convert import from_dgl
        return from_dgl(data, y, name)

    @classmethod
    def from_ogb(cls, dataset: Any) -> "Dataset":
        """From NodePropPredDataset of the package ogb, or PygNodePropPredDataset, with its split."""
        from ._convert import from_ogb
        return from_ogb(dataset)

    @classmethod
    def from_networkx(cls, graph: Any, x: Any = "x", y: str = "y", weight: Optional[str] = None,
                      name: Optional[str] = None) -> "Dataset":
        """From a graph of NetworkX, nodes in its order. An undirected edge becomes two.

        x       the attribute of nodes that is a list of features, or a list of attributes that are numbers
        y       that of labels: numbers, or texts, which become 0, 1, ... in their order
        weight  that of edges. Nodes may have train_mask, val_mask and test_mask
        """
        from ._convert import from_networkx
        return from_networkx(graph, x, y, weight, name)

    @classmethod
    def from_pandas(cls, nodes: Any, edges: Any, x: Any = None, y: Optional[str] = None, source: str = "source",
                    target: str = "target", weight: Optional[str] = None, name: str = "pandas") -> "Dataset":
        """From two DataFrames. The index of `nodes` names the nodes, in the order of the result.

        x       columns that are features; default all but y and train_mask, val_mask and test_mask, which are the split
        y       the column of labels: numbers, or texts, which become 0, 1, ... in their order, and -1 where they are missing
        source, target, weight   columns of `edges`
        """
        from ._convert import from_pandas
        return from_pandas(nodes, edges, x, y, source, target, weight, name)

    @classmethod
    def generate(cls, preset: str = "cora", seed: int = 0) -> "Dataset":
        """A synthetic graph of the size of "cora", "pubmed", "arxiv", "reddit" or "products"."""
        return cls(_core.Dataset.generate(preset, seed))

    def with_labels(self, y: Any, train_mask: Any = None, val_mask: Any = None, test_mask: Any = None,
                    num_classes: Optional[int] = None) -> "Dataset":
        """This graph and its features, without copies, with other labels of nodes and another split."""
        arrays = {name: array for name, array in self.arrays().items() if name not in ("y", "train", "val", "test")}
        classes = _labels(y, self.num_nodes, num_classes, arrays)
        _split(arrays, self.num_nodes, {"train": train_mask, "val": val_mask, "test": test_mask})
        return Dataset(_core.Dataset.from_arrays(arrays, self.num_nodes, self.num_features, classes, self.name))

    def __reduce__(self):
        """For pickle: the arrays, as save() writes them."""
        return _restored, (self.arrays(), self.num_nodes, self.num_features, self.num_classes, self.name)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self  # nobody changes it

    def save(self, path: Any) -> None:
        """Writes an HDF5 file, atomically. Edges that a loaded file names for validation and test are not written."""
        self._core.save(str(path))

    def arrays(self) -> Dict[str, np.ndarray]:
        """NumPy arrays by name: src and dst, or indptr and indices; x, or x_indptr, x_indices and x_data; y, edge_weight,
        edge_attr, graph_ptr, graph_y, train, val and test (node ids), graph_train and so on (graph ids), and the edges that a
        file names for validation and test: val_src, val_dst, val_negative_src and so on. They share memory with the dataset: do
        not change them."""
        return {name: _frameworks.from_dlpack(array, None) for name, array in self._core.arrays().items()}

    def graph(self, device: str = "cpu") -> "Graph":
        """The edges as a rodeo.Graph."""
        from .graph import Graph
        arrays = self.arrays()
        if "src" in arrays:
            graph = Graph.from_edge_index((arrays["src"], arrays["dst"]), self.num_nodes)
        else:
            graph = Graph.from_csr(arrays["indptr"], arrays["indices"], self.num_nodes)
        return graph.to(device)

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def num_nodes(self) -> int:
        return self._core.num_nodes

    @property
    def num_edges(self) -> int:
        return self._core.num_edges

    @property
    def num_features(self) -> int:
        return self._core.num_features

    @property
    def num_classes(self) -> int:
        return self._core.num_classes

    @property
    def num_graphs(self) -> int:
        return self._core.num_graphs

    @property
    def is_regression(self) -> bool:
        """Whether the labels are numbers."""
        arrays = self.arrays()
        y = arrays.get("y", arrays.get("graph_y"))
        return y is not None and bool(y.dtype == np.float32)

    def __repr__(self):
        graphs = f"num_graphs={self.num_graphs}, " if self.num_graphs else ""
        return (f"rodeo.Dataset({self.name!r}, {graphs}num_nodes={self.num_nodes}, num_edges={self.num_edges}, "
                f"num_features={self.num_features}, num_classes={self.num_classes})")


def _restored(arrays, *sizes_and_name):
    return Dataset(_core.Dataset.from_arrays({name: np.require(array, requirements="CW") for name, array in arrays.items()},
                                             *sizes_and_name))


def _finite(name, values, shape):
    if values.shape != shape:
        raise ValueError(f"[dataset] {name} must be {list(shape)}, got {list(values.shape)}")
    if not np.isfinite(values).all():
        raise ValueError(f"[dataset] {name} has values that are not finite")
    return values


def _features(x, nodes, arrays):
    if x is None:
        return 0
    if hasattr(x, "tocsr"):
        x = x.tocsr()
        if x.shape[0] != nodes:
            raise ValueError(f"[dataset] x must be [{nodes}, features], got {list(x.shape)}")
        arrays["x_indptr"], arrays["x_indices"] = _host(x.indptr, np.int64), _host(x.indices, np.int32)
        arrays["x_data"] = _finite("x", _host(x.data, np.float32), (x.nnz,))
    else:
        if len(x.shape) != 2:
            raise ValueError(f"[dataset] x must be [{nodes}, features], got {list(x.shape)}")
        arrays["x"] = _finite("x", _host(x, np.float32), (nodes, x.shape[1]))
    return x.shape[1]


def _labels(y, nodes, num_classes, arrays):
    if y is None:
        return num_classes or 0
    y = _host(y)
    if y.shape[:1] != (nodes,) or y.ndim not in (1, 2) or y.dtype.kind not in "iubf":
        raise ValueError(f"[dataset] y must be integers or floats [{nodes}] or [{nodes}, classes], got {y.dtype} "
                         f"{list(y.shape)}")
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise ValueError("[dataset] y is infinite: targets must be finite, or NaN where they are missing")
        arrays["y"] = _host(y.reshape(nodes, -1), np.float32)
        return arrays["y"].shape[1]
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 2:
        if y.size and (y.min() < -1 or y.max() > 1):
            raise ValueError("[dataset] y of [nodes, classes] must be 0, 1, or -1 where it is unknown")
        arrays["y"] = _host(np.where(y < 0, 255, y), np.uint8)
        return y.shape[1]
    classes = (int(y.max()) + 1 if y.size else 0) if num_classes is None else num_classes
    if y.size and y.max() >= classes:
        raise ValueError(f"[dataset] y has label {y.max()}, outside [0, {classes})")
    arrays["y"] = _host(y, np.int64)
    return classes


def _graph_ptr(graph_ptr, edges, nodes, arrays):
    """Checks it, and returns the number of graphs."""
    ptr = _host(graph_ptr)
    if ptr.ndim != 1 or ptr.dtype.kind not in "iu" or ptr.size < 2 or ptr[0] != 0 or ptr[-1] != nodes or (np.diff(ptr) < 0).any():
        raise ValueError(f"[dataset] graph_ptr must be ascending integers [graphs + 1] from 0 to {nodes}, got {ptr.dtype} "
                         f"{list(ptr.shape)}")
    graph = np.searchsorted(ptr, edges, side="right")
    if (graph[0] != graph[1]).any():
        edge = np.flatnonzero(graph[0] != graph[1])[0]
        raise ValueError(f"[dataset] edge {edge} goes from node {edges[0, edge]} to {edges[1, edge]}, of another graph")
    arrays["graph_ptr"] = _host(ptr, np.int64)
    return ptr.size - 1


def _graph_labels(y, graphs, num_classes, arrays):
    y = _host(np.zeros(0, np.int64) if y is None else y)
    if y.dtype.kind == "f" and y.ndim in (1, 2) and y.shape[0] == graphs and y.size:
        if np.isinf(y).any() or num_classes not in (None, y[0].size):
            raise ValueError(f"[dataset] y must be finite or NaN, [{graphs}] or [{graphs}, targets] with num_classes None, got "
                             f"{list(y.shape)} and num_classes {num_classes}")
        arrays["graph_y"] = _host(y.reshape(graphs, -1), np.float32)
        return arrays["graph_y"].shape[1]
    if y.shape != (graphs,) or y.dtype.kind not in "iu" or (y < 0).any():
        raise ValueError(f"[dataset] y must be integers [{graphs}], the classes of the graphs, or floats, got {y.dtype} {list(y.shape)}")
    classes = int(y.max()) + 1 if num_classes is None else num_classes
    if y.max() >= classes:
        raise ValueError(f"[dataset] y has label {y.max()}, outside [0, {classes})")
    arrays["graph_y"] = _host(y, np.int64)
    return classes


def _split(arrays, nodes, parts):
    if all(part is None for part in parts.values()):
        return
    taken = np.zeros(nodes, dtype=bool)
    for name, part in parts.items():
        ids = np.zeros(0, np.int64) if part is None else _ids(name + "_mask", part, nodes)
        if taken[ids].any():
            raise ValueError(f"[dataset] node {ids[taken[ids]][0]} of {name}_mask is in another part of the split, too")
        taken[ids] = True
        y = arrays.get("y")
        if y is not None and y.ndim == 1 and (y[ids] < 0).any():
            raise ValueError(f"[dataset] node {ids[y[ids] < 0][0]} of {name}_mask has no label")
        arrays[name] = ids
