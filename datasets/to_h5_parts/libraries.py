"""Graphs of torch_geometric, DGL, OGB and NetworkX."""

import os
import pickle
import types
import warnings

import numpy as np

from .archives import Unpickler
from .common import MASKS, BadSource, array, mask, module, name_nodes, reading
from .hetero import from_dgl_hetero, from_dicts, from_pyg_hetero
from .tables import node_arrays, role_of
from .write import without_reverse


def masks_of(get):
    """The three masks; none, with a warning, where one is missing. `get`: the mask of a key, or None."""
    masks = [array(get(key)) for key in MASKS]
    absent = [key for key, mask in zip(MASKS, masks) if mask is None]
    if 0 < len(absent) < len(MASKS):
        warnings.warn(f"no masks are written, because there is no {' and no '.join(absent)}: add them, or train with --split",
                      stacklevel=3)
    return None if absent else masks


def edge_rows(values, edges):
    """Edge features, [edges, n] where there is a number for each edge; None where there are none."""
    values = array(values)
    return values.reshape(edges, -1) if values is not None and values.size and len(values) == edges else values


def from_pyg(data, name="pyg"):
    """Reads a torch_geometric Data or HeteroData, or any object with its attributes."""
    if hasattr(data, "node_types"):
        return from_pyg_hetero(data, name)
    if getattr(data, "edge_index", None) is not None:
        src, dst = array(data.edge_index)
    elif getattr(data, "adj_t", None) is not None:  # a SparseTensor: row i lists the sources of node i
        dst, src, _ = (array(part) for part in data.adj_t.coo())
    else:
        raise BadSource("the Data has neither edge_index nor adj_t")
    out = {"src": src, "dst": dst, "num_nodes": int(data.num_nodes), "name": name}
    for key in ("x", "y", "edge_weight"):
        if getattr(data, key, None) is not None:
            out[key] = array(getattr(data, key))
    out["edge_attr"] = edge_rows(getattr(data, "edge_attr", None), len(out["src"]))
    if masks := masks_of(lambda key: getattr(data, key, None)):
        splits = max([m.shape[1] for m in masks if m.ndim == 2], default=0)
        if splits:  # WikiCS and others have one test set for many splits
            masks = [m if m.ndim == 2 else np.repeat(m[:, None], splits, 1) for m in masks]
        out["masks"] = masks
    return out


def from_dgl(graph, name="dgl"):
    """Reads a DGL graph, or any object with its methods. Features, labels and masks are node data; features and weights of edges are
    edge data."""
    if len(getattr(graph, "canonical_etypes", ())) > 1 or len(getattr(graph, "ntypes", ())) > 1:
        return from_dgl_hetero(graph, name)
    src, dst = graph.edges()
    out = {"src": array(src), "dst": array(dst), "num_nodes": int(graph.num_nodes()), "name": name}
    data = graph.ndata
    for key, sources in (("x", ("feat", "features")), ("y", ("label", "labels"))):
        for source in sources:
            if source in data and key not in out:
                out[key] = array(data[source])
    edges = getattr(graph, "edata", {})
    out["edge_attr"] = edge_rows(edges.get("feat"), len(out["src"]))
    out["edge_weight"] = array(edges.get("weight"))
    if masks := masks_of(lambda key: data[key] if key in data else None):
        out["masks"] = masks
    return out


def load_ogb(name, root):
    """Reads a data set of the package ogb, by its name. Its files hold pickled NumPy arrays, which torch.load
    refuses since PyTorch 2.6: they are read, without what could execute code."""
    kind = {"ogbg": "Graph", "ogbl": "Link"}.get(name[:4], "Node")
    made, torch = getattr(module(f"ogb.{kind.lower()}proppred"), f"{kind}PropPredDataset"), module("torch")
    own, safe = torch.load, types.SimpleNamespace(**vars(pickle) | {"Unpickler": Unpickler})
    torch.load = lambda path, *_, **__: own(path, map_location="cpu", weights_only=False, pickle_module=safe)
    try:
        dataset = made(name, root=root)
        read = {"Graph": from_ogb_graphs, "Link": from_ogb_links, "Node": from_ogb}[kind]
        return read(dataset, name)
    finally:
        torch.load = own


def from_ogb(dataset, name="ogb"):
    """Reads an OGB NodePropPredDataset, or any object with (graph, labels) at [0] and get_idx_split()."""
    graph, y = dataset[0]
    if "edge_index_dict" in graph:
        return from_dicts(graph, y, dataset.get_idx_split(), name)
    nodes, split = int(graph["num_nodes"]), dataset.get_idx_split()
    return {"src": graph["edge_index"][0], "dst": graph["edge_index"][1], "num_nodes": nodes, "name": name,
            "x": graph.get("node_feat"), "y": y, "edge_attr": edge_rows(graph.get("edge_feat"), graph["edge_index"].shape[1]),
            "masks": [mask(array(split[part]), nodes) for part in ("train", "valid", "test")]}


def one_hot(x):
    """Integers as a column for each value of a column, numbers as they are. A linear layer of these columns is a sum of
    embeddings, which OGB's encoders of atoms and bonds are."""
    if x is None or x.dtype.kind not in "biu":
        return x
    columns = x.reshape(len(x), -1).T
    return np.concatenate([np.equal.outer(column, np.unique(column)).astype(np.float16) for column in columns], axis=1)


def from_graphs(graphs, y, name):
    """Reads a set of graphs: dicts as OGB has them. y: a row for each."""
    ptr = np.cumsum([0] + [int(graph["num_nodes"]) for graph in graphs])
    y = np.stack([array(row).reshape(-1) for row in y])
    if y.dtype.kind not in "biuf":
        raise BadSource(f"labels of graphs must be numbers, got {y.dtype}")

    def joined(key):
        parts = [array(graph.get(key)) for graph in graphs]
        return None if any(part is None for part in parts) else one_hot(np.concatenate(parts))

    src, dst = np.concatenate([array(graph["edge_index"]) + begin for graph, begin in zip(graphs, ptr)], axis=1)
    return {"src": src, "dst": dst, "num_nodes": int(ptr[-1]), "name": name, "x": joined("node_feat"), "y": y,
            "edge_attr": joined("edge_feat"), "graph_ptr": ptr, "notes": [f"{len(graphs)} graphs"]}


def from_pyg_graphs(dataset, name="pyg"):
    """Reads a torch_geometric dataset of graphs with a label each."""
    graphs = [{"num_nodes": data.num_nodes, "edge_index": data.edge_index, "node_feat": getattr(data, "x", None),
               "edge_feat": getattr(data, "edge_attr", None)} for data in dataset]
    return from_graphs(graphs, [data.y for data in dataset], name)


def from_ogb_graphs(dataset, name="ogb"):
    """Reads an OGB GraphPropPredDataset."""
    graphs, y = zip(*(dataset[i] for i in range(len(dataset))))
    split = dataset.get_idx_split()
    return from_graphs(graphs, y, name) | {
        "masks": [mask(array(split[part]), len(graphs)) for part in ("train", "valid", "test")]}


def from_ogb_links(dataset, name="ogb"):
    """Reads an OGB LinkPropPredDataset, whose graph has the training edges: the others are added."""
    graph, split = dataset[0], dataset.get_edge_split()
    src, dst, weight, pairs = *graph["edge_index"], graph.get("edge_weight"), {}
    undirected = without_reverse(src, dst) == 0
    for part, key in (("val", "valid"), ("test", "test")):
        found = {name: array(values) for name, values in split[key].items()}
        if "source_node" in found:
            edges = np.stack([found["source_node"], found["target_node"]])
            pairs[f"{part}_negative_targets"] = found["target_node_neg"]
        elif "edge" in found:
            edges, pairs[f"{part}_negative_edges"] = found["edge"].T, found["edge_neg"].T
        else:
            raise BadSource(f"its split has {', '.join(found)}, expected edges or sources and targets")
        pairs[f"{part}_edges"] = edges
        for ends in (edges, edges[::-1])[:1 + undirected]:
            src, dst = np.concatenate([src, ends[0]]), np.concatenate([dst, ends[1]])
            if weight is not None:
                weight = np.concatenate([np.ravel(weight), found.get("weight", np.ones(ends.shape[1]))])
    return {"src": src, "dst": dst, "num_nodes": int(graph["num_nodes"]), "name": name, "x": graph.get("node_feat"),
            "edge_weight": weight, "pairs": pairs}


def from_networkx(graph, name="networkx", columns=None, features=None, **options):
    """Reads a NetworkX graph. Node attributes are features, label and split as the columns of a table of nodes are
    (tables.from_frames); the edge attribute `weight` is the weight, 1 where an edge has none. An edge of an undirected
    graph is stored in both directions."""
    ids, columns = list(graph.nodes), dict(columns or {})
    place = {node: i for i, node in enumerate(ids)}
    attributes = {}
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        for key, value in data.items():
            attributes.setdefault(str(key), [None] * len(ids))[i] = value
    ends = [(place[u], place[v], data) for u, v, data in graph.edges(data=True)]
    names = list(dict.fromkeys(str(key) for _, _, data in ends for key in data))
    key = role_of("weight", names, columns, "the edges")
    edges = [(u, v, data.get(key, 1)) for u, v, data in ends]
    if not graph.is_directed():
        edges += [(v, u, weight) for u, v, weight in edges if u != v]
    src, dst, weight = (list(part) for part in zip(*edges)) if edges else ([], [], [])
    out = {"src": np.array(src, np.int64), "dst": np.array(dst, np.int64), "num_nodes": len(ids), "name": name}
    if key is not None:
        try:
            out["edge_weight"] = np.array(weight, np.float32)
        except (TypeError, ValueError) as error:
            raise BadSource(f"edge attribute '{key}' must be numbers: {error}") from error
    return out | name_nodes(ids) | node_arrays(attributes, columns, features, "the nodes", **options)


def from_graphml(path, name=None, columns=None, features=None, **options):
    """Reads a GraphML file or a GML file, also gzip. In GML, `label` names a node where all differ."""
    networkx = module("networkx")
    with reading(path):
        if ".gml" in path[-7:]:
            try:
                graph = networkx.read_gml(path)
            except networkx.NetworkXError:  # some nodes have one label, or none
                graph = networkx.read_gml(path, label="id")
        else:
            graph = networkx.read_graphml(path)
    return from_networkx(graph, name or stem(path), columns, features, **options)


def from_pt(path, name=None, trust=False):
    """Reads what torch.save wrote: a torch_geometric Data, a dict of its tensors, or the tuple that InMemoryDataset
    keeps. Other classes can execute code while they are loaded: trust=True allows it."""
    torch = module("torch")
    try:
        module("torch_geometric")  # tells torch which of its classes are safe
    except BadSource:
        pass  # a dict of tensors needs no class
    if not os.path.exists(path):
        raise BadSource(f"{path}: no such file")
    try:
        data = torch.load(path, map_location="cpu", weights_only=not trust)
    except Exception as error:  # torch raises errors of many types
        text = str(error).split("\n", 1)[0]
        raise BadSource(f"{path}: cannot be loaded as plain tensors: {text}: give --trust if the file is from a source "
                        "that you trust, because loading it can execute code") from error
    if isinstance(data, (tuple, list)) and data:
        if len(data) > 1 and isinstance(data[1], dict) and any(len(slices) > 2 for slices in data[1].values()):
            raise BadSource(f"{path}: has several graphs, expected one")
        data = data[0]
    if isinstance(data, dict) and "edge_index_dict" in data:
        return from_dicts(data, name=name or stem(path))
    if isinstance(data, dict):
        data = types.SimpleNamespace(**data)
    if hasattr(data, "node_types"):
        return from_pyg(data, name or stem(path))
    if not hasattr(data, "num_nodes"):
        parts = [getattr(data, key, None) for key in ("x", "y", "train_mask")]
        counts = [len(array(part)) for part in parts if part is not None]
        if not counts:
            raise BadSource(f"{path}: has neither num_nodes nor x nor y")
        data.num_nodes = counts[0]
    return from_pyg(data, name or stem(path))


def stem(path):
    name = os.path.basename(path)
    for ending in (".gz", ".graphml", ".gml", ".xml", ".pt", ".pth"):
        name = name.removesuffix(ending)
    return name


def named(classes, kind, root):
    """Constructs a dataset such as Reddit or Planetoid:Cora from a module of dataset classes."""
    class_name, *arguments = kind.split(":")
    if not hasattr(classes, class_name):
        raise BadSource(f"{classes.__name__} has no dataset {class_name}")
    made = getattr(classes, class_name)
    if classes.__name__.startswith("dgl"):
        return made(*arguments, raw_dir=root)
    return made(os.path.join(root, *kind.split(":")), *arguments)
