"""rodeo.Dataset from the objects of other packages, by their attributes: none of them is imported."""
import os
import types

import numpy as np

from . import _core
from .dataset import Dataset, _host
from .hetero import HeteroGraph

_MASKS = "train_mask", "val_mask", "test_mask"


def dataset_of(data):
    """What rodeo.train takes: a Dataset, a HeteroGraph, the path of a file, or data of PyG, DGL, OGB or NetworkX."""
    if isinstance(data, (Dataset, HeteroGraph)):
        return data
    if isinstance(data, (str, os.PathLike)):
        return (HeteroGraph if _core.is_hetero_file(os.fspath(data)) else Dataset).load(data)
    if hasattr(data, "node_types"):
        return HeteroGraph.from_pyg(data)
    if hasattr(data, "get_idx_split"):
        return from_ogb(data)
    if _are_dgl(data):
        return HeteroGraph.from_dgl(data) if _is_hetero(data) else from_dgl(data)
    if hasattr(data, "adjacency") and hasattr(data, "is_directed"):
        return from_networkx(data)
    if hasattr(data, "edge_index") or hasattr(data, "adj_t") or _is_list_of_data(data):
        return from_pyg(data)
    raise ValueError(f"[train] dataset must be a rodeo.Dataset, the path of an HDF5 file, or data of PyG, DGL, OGB or NetworkX, got "
                     f"{type(data).__name__}")


def from_pyg(data, split=0, name=None):
    kinds = getattr(data, "node_types", None)
    if kinds is not None:
        raise ValueError(f"[dataset] graphs of several node types ({', '.join(map(str, kinds))}) are rodeo.HeteroGraph.from_pyg"
                         "(data), or a Dataset of data.to_homogeneous()")
    if _is_list_of_data(data):
        data = [data[i] for i in range(len(data))]
        if len(data) > 1:
            return _set_of_graphs(data, name or "pyg")
        return from_pyg(data[0], split, name)
    ptr = _get(data, "ptr")
    if ptr is not None and len(ptr) > 2:  # a Batch
        return Dataset(_edges(data), _features(data), _get(data, "y"), graph_ptr=ptr, edge_weight=_get(data, "edge_weight"),
                       edge_attr=_edge_attr(data), num_nodes=data.num_nodes, name=name or "pyg")
    masks = {mask: _column(mask, _get(data, mask), split) for mask in _MASKS}
    return Dataset(_edges(data), _features(data), _get(data, "y"), edge_weight=_get(data, "edge_weight"), edge_attr=_edge_attr(data),
                   num_nodes=data.num_nodes, name=name or "pyg", **masks)


def _first(data):
    """The first element of a list or dataset; None of anything else. A graph has a length and elements, too: PyG's by name."""
    is_graph = any(hasattr(data, name) for name in ("edge_index", "adj_t", "adjacency", "canonical_etypes"))
    is_list = hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (np.ndarray, dict, str))
    return data[0] if is_list and not is_graph and len(data) > 0 else None


def _is_list_of_data(data):
    first = _first(data)
    return hasattr(first, "edge_index") or hasattr(first, "adj_t")


def _set_of_graphs(graphs, name):
    sizes = [graph.num_nodes for graph in graphs]
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    edges = np.concatenate([_edges(graph) + start for graph, start in zip(graphs, ptr)], 1)

    def joined(part):
        values = [part(graph) for graph in graphs]
        return None if any(value is None for value in values) else np.concatenate([np.atleast_1d(_host(value)) for value in values])

    return Dataset(edges, joined(_features), joined(lambda graph: _get(graph, "y")), graph_ptr=ptr, name=name,
                   edge_attr=joined(_edge_attr), edge_weight=joined(lambda graph: _get(graph, "edge_weight")))


def _get(data, name):
    return getattr(data, name, None)


def _edges(data):
    edges = _get(data, "edge_index")
    if edges is not None:
        return _host(edges)
    if _get(data, "adj_t") is None:
        raise ValueError("[dataset] the data has neither edge_index nor adj_t")
    target, source = data.adj_t.coo()[:2] if hasattr(data.adj_t, "coo") else data.adj_t.to_sparse_coo().coalesce().indices()
    return np.stack([_host(source), _host(target)])


def _features(data):
    x = _get(data, "x")
    if x is None or not getattr(x, "is_sparse", False) and "sparse" not in str(getattr(x, "layout", "")):
        return x
    from scipy.sparse import coo_matrix
    x = x.to_sparse_coo().coalesce()
    return coo_matrix((_host(x.values()), tuple(_host(x.indices()))), shape=tuple(x.shape)).tocsr()


def _edge_attr(data):
    values = _get(data, "edge_attr")
    return values.reshape(-1, 1) if values is not None and len(values.shape) == 1 else values


def _column(name, mask, split):
    """One of several splits, as PyG stores them: masks [nodes, splits]."""
    if mask is None or len(mask.shape) == 1:
        return mask
    if not 0 <= split < mask.shape[1]:
        raise ValueError(f"[dataset] split must be in [0, {mask.shape[1]}), the splits of {name}, got {split}")
    return mask[:, split]


def _are_dgl(data):
    """A graph of DGL, or a dataset or list of such graphs or of pairs (graph, label)."""
    if not hasattr(data, "canonical_etypes"):
        first = _first(data)
        data = first[0] if isinstance(first, tuple) and first else first
    return hasattr(data, "canonical_etypes")


def _is_hetero(graph):
    return len(getattr(graph, "ntypes", ())) > 1 or len(getattr(graph, "canonical_etypes", ())) > 1


def from_dgl(data, y=None, name="dgl"):
    if not _are_dgl(data):
        raise ValueError(f"[dataset] from_dgl wants a graph of DGL, or a dataset or list of them, got {type(data).__name__}")
    if hasattr(data, "canonical_etypes"):
        return from_pyg(_as_pyg(data, y), name=name)
    items = [item if isinstance(item, tuple) else (item, None) for item in (data[i] for i in range(len(data)))]
    labels = [label for _, label in items] if y is None or len(items) == 1 else y
    if len(labels) != len(items):
        raise ValueError(f"[dataset] y must have a label for each of {len(items)} graphs, got {len(labels)}")
    return from_pyg([_as_pyg(graph, label) for (graph, _), label in zip(items, labels)], name=name)


def _as_pyg(graph, y=None):
    """A graph of DGL, or a batch of them, as an object that from_pyg() reads."""
    if _is_hetero(graph):
        raise ValueError(f"[dataset] graphs of several node types or relations ({', '.join(graph.ntypes)}) are "
                         "rodeo.HeteroGraph.from_dgl(graph)")
    nodes, edges = dgl_arrays(graph.ndata), graph.edata
    data = types.SimpleNamespace(edge_index=np.stack([_host(ids) for ids in graph.edges()]), num_nodes=graph.num_nodes(), **nodes)
    data.edge_attr, data.edge_weight = (edges[key] if key in edges else None for key in ("feat", "weight"))
    data.y = data.y if y is None else y
    if getattr(graph, "batch_size", 1) > 1:
        data.ptr = np.concatenate([[0], np.cumsum(_host(graph.batch_num_nodes()))])
    return data


def dgl_arrays(data):
    """Features, labels and masks of nodes by the names that DGL's datasets give them."""
    return {name: next((data[key] for key in keys if key in data), None)
            for name, keys in {"x": ("feat", "features"), "y": ("label", "labels"), **{mask: (mask,) for mask in _MASKS}}.items()}


def from_ogb(dataset):
    first = dataset[0]
    if not (isinstance(first, tuple) and len(dataset) == 1 and "edge_index" in first[0]):
        if hasattr(first, "edge_index") and len(dataset) == 1:
            return _with_split(dataset, from_pyg(first, name=getattr(dataset, "name", "ogb")))
        raise ValueError("[dataset] from_ogb takes a dataset of node properties, NodePropPredDataset or PygNodePropPredDataset: give "
                         "arrays to rodeo.Dataset for others")
    graph, labels = first
    if graph.get("edge_index") is None:
        raise ValueError("[dataset] graphs of several node types are no Dataset: write a file by rodeo_data import ogb:NAME FILE.h5, and "
                         "load it with rodeo.HeteroGraph.load")
    made = Dataset(graph["edge_index"], graph.get("node_feat"), labels, edge_attr=graph.get("edge_feat"),
                   num_nodes=int(graph["num_nodes"]), name=getattr(dataset, "name", "ogb"))
    return _with_split(dataset, made)


def _with_split(dataset, made):
    """OGB's labels are floats where some are missing, and have a column."""
    split = dataset.get_idx_split()
    ids = [split["train"], split["valid"], split["test"]]
    y = made.arrays()["y"]
    if y.dtype == np.float32 and (np.isnan(y) | (y == np.round(y))).all():
        y = np.where(np.isnan(y), -1, y).astype(np.int64)
    return made.with_labels(np.where(y == 255, -1, y.astype(np.int64)) if y.dtype == np.uint8 else y, *ids)


def from_networkx(graph, x="x", y="y", weight=None, name=None):
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    pairs = list(graph.edges(data=True))
    edges = np.array([(place[source], place[target]) for source, target, _ in pairs], np.int64).reshape(-1, 2).T
    weights = None if weight is None else np.array([values[weight] for _, _, values in pairs], np.float32)
    if not graph.is_directed():  # a self loop is one edge
        back = edges[0] != edges[1]
        edges = np.concatenate([edges, edges[::-1, back]], 1)
        weights = None if weights is None else np.concatenate([weights, weights[back]])

    def values(key):
        known = [node for node in nodes if key in graph.nodes[node]]
        if not known:
            return None
        if len(known) < len(nodes):
            missing = next(node for node in nodes if key not in graph.nodes[node])
            raise ValueError(f"[dataset] node {missing!r} has no attribute {key!r}, and others have")
        return np.array([graph.nodes[node][key] for node in nodes])

    if isinstance(x, str):
        features = values(x)
    else:  # a number for each of several attributes
        columns = {key: values(key) for key in x}
        absent = [key for key, column in columns.items() if column is None]
        if absent:
            raise ValueError(f"[dataset] no node has the attribute {absent[0]!r}")
        features = np.stack(list(columns.values()), 1)
    if features is not None and features.ndim == 1:
        features = features[:, None]
    labels = values(y)
    if labels is not None and labels.dtype.kind in "OUS":
        labels = np.unique(labels, return_inverse=True)[1]
    return Dataset(edges, features, labels, edge_weight=weights, num_nodes=len(nodes), name=name or graph.name or "networkx",
                   **{mask: values(mask) for mask in _MASKS})


def from_pandas(nodes, edges, x=None, y=None, source="source", target="target", weight=None, name="pandas"):
    for what, table, columns in (("nodes", nodes, [*([y] if y else []), *(x or [])]),
                                 ("edges", edges, [source, target, *([weight] if weight else [])])):
        absent = [column for column in columns if column not in table.columns]
        if absent:
            raise ValueError(f"[dataset] {what} has no column {absent[0]!r}, it has {', '.join(map(repr, table.columns))}")
    if not nodes.index.is_unique:
        raise ValueError("[dataset] the index of nodes must name each node once")
    ends = [nodes.index.get_indexer(edges[end]) for end in (source, target)]
    for end, ids in zip((source, target), ends):
        if (ids < 0).any():
            raise ValueError(f"[dataset] edges names {edges[end].iloc[int(np.argmax(ids < 0))]!r} as {end}, which is not in the index "
                             "of nodes")
    masks = {mask: nodes[mask].to_numpy() for mask in _MASKS if mask in nodes.columns}
    labels = None if y is None else nodes[y].to_numpy()
    if labels is not None and labels.dtype.kind not in "iubf":
        labels = np.where(nodes[y].isna(), -1, np.unique(labels[~nodes[y].isna()].astype(str)).searchsorted(labels.astype(str)))
    columns = [c for c in nodes.columns if c != y and c not in _MASKS] if x is None else list(x)
    return Dataset(np.stack(ends), nodes[columns].to_numpy(np.float32), labels, num_nodes=len(nodes), name=name,
                   edge_weight=None if weight is None else edges[weight].to_numpy(np.float32), **masks)
