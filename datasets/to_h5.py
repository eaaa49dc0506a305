#!/usr/bin/env python3
"""Converts a graph of a Python library to an HDF5 dataset. datasets/README.md describes the schema.

  python3 to_h5.py SOURCE FILE.h5 [--root FOLDER] [--undirected]

SOURCE is one of
  pyg:Reddit pyg:Planetoid:Cora       a dataset class of torch_geometric.datasets, and its name
  dgl:RedditDataset                   a dataset class of dgl.data
  ogb:ogbn-arxiv                      a node property dataset of OGB
  amazon.npz                          an archive of the gnn-benchmark layout (adj_data, attr_data, labels)
  reddit_data.npz,reddit_graph.npz    DGL's two archives of Reddit
  matrix.npz                          scipy.sparse.save_npz: edges go from row to column

From Python: write(path, **arrays), from_pyg(data), from_dgl(graph), from_ogb(dataset), from_npz(path).
Needs h5py and NumPy; torch_geometric, dgl and ogb only for their sources.
"""

import argparse
import importlib
import os
import sys

import h5py
import numpy as np

MASKS = ("train_mask", "val_mask", "test_mask")


class BadSource(Exception):
    """The source is missing or invalid; one line."""


def array(values):
    """Converts a tensor on any device to a NumPy array."""
    if values is None:
        return None
    for step in ("detach", "cpu"):
        if hasattr(values, step):
            values = getattr(values, step)()
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":
        values = values.float()
    return np.asarray(values.numpy() if hasattr(values, "numpy") else values)


def mask(nodes, count):
    out = np.zeros(count, np.uint8)
    out[np.asarray(nodes).ravel()] = 1
    return out


def edges_of(indptr, indices):
    """Row and column indices of a CSR matrix."""
    indptr = np.asarray(indptr)
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.asarray(indices)


def labels(y):
    """Class labels (NaN: unlabelled), or a multi-label matrix of 0 and 1."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dtype.kind == "f":
        if y.ndim == 1:
            y = np.where(np.isnan(y), -1, y)
        if not np.array_equal(y, np.floor(y)):
            raise BadSource("labels must be whole numbers")
    if y.ndim == 2:
        if not np.isin(y, (0, 1)).all():
            raise BadSource("labels of several columns must be 0 or 1")
        return y.astype(np.uint8)
    return y.astype(np.int64)


def undirect(src, dst, weight):
    """Adds the reverse of every edge and drops duplicates; the first is kept."""
    a, b = np.concatenate([src, dst]).astype(np.int64), np.concatenate([dst, src]).astype(np.int64)
    _, first = np.unique(a * (int(max(a.max(initial=0), b.max(initial=0))) + 1) + b, return_index=True)
    return a[first], b[first], None if weight is None else np.concatenate([weight, weight])[first]


def write(path, *, src, dst, num_nodes, name, x=None, x_csr=None, y=None, masks=None, edge_weight=None,
          num_features=None, undirected=False):
    """Writes the file atomically. x_csr: (indptr, indices, data); masks: three arrays [nodes] or
    [nodes, splits]."""
    src, dst = np.asarray(src).ravel(), np.asarray(dst).ravel()
    if edge_weight is not None:
        edge_weight = np.asarray(edge_weight, np.float32).ravel()
    if undirected:
        src, dst, edge_weight = undirect(src, dst, edge_weight)
    for what, ids in (("sources", src), ("destinations", dst)):
        if ids.size and (ids.min() < 0 or ids.max() >= num_nodes):
            raise BadSource(f"{what} of edges must be in [0, {num_nodes}), got {ids.min()} .. {ids.max()}")
    partial = f"{path}.part{os.getpid()}"

    def put(file, key, values):
        packed = values.nbytes < 32 << 20 and values.size > 0
        file.create_dataset(key, data=values, **({"compression": "gzip", "shuffle": True} if packed else {}))

    try:
        with h5py.File(partial, "w-") as file:
            file.attrs["rodeo_schema"] = np.int64(1)
            file.attrs["name"] = name
            file.attrs["num_nodes"] = np.int64(num_nodes)
            put(file, "edge_index", np.stack([src, dst]).astype(np.int32))
            if edge_weight is not None:
                put(file, "edge_weight", edge_weight)
            if x is not None:
                x = np.asarray(x)
                put(file, "x", x if x.dtype in (np.float16, np.float32) else x.astype(np.float32))
            if x_csr is not None:
                indptr, indices, data = x_csr
                put(file, "x_indptr", np.asarray(indptr, np.int64))
                put(file, "x_indices", np.asarray(indices, np.int32))
                put(file, "x_data", np.asarray(data, np.float32))
                if num_features is not None:
                    file.attrs["num_features"] = np.int64(num_features)
            if y is not None:
                y = labels(y)
                put(file, "y", y)
                if y.ndim == 1:
                    file.attrs["num_classes"] = np.int64(max(int(y.max(initial=0)) + 1, 1))
            for key, values in zip(MASKS, masks or ()):
                put(file, key, np.asarray(values).astype(np.uint8))
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def from_pyg(data, name="pyg"):
    """Reads a torch_geometric Data, or any object with its attributes."""
    if getattr(data, "edge_index", None) is not None:
        src, dst = array(data.edge_index)
    elif getattr(data, "adj_t", None) is not None:  # a SparseTensor: row i lists the sources of node i
        dst, src, _ = (array(part) for part in data.adj_t.coo())
    else:
        raise BadSource("the Data has neither edge_index nor adj_t")
    out = {"src": src, "dst": dst, "num_nodes": int(data.num_nodes), "name": name}
    for key, source in (("x", "x"), ("y", "y"), ("edge_weight", "edge_weight")):
        if getattr(data, source, None) is not None:
            out[key] = array(getattr(data, source))
    if all(getattr(data, key, None) is not None for key in MASKS):
        masks = [array(getattr(data, key)) for key in MASKS]
        splits = max([m.shape[1] for m in masks if m.ndim == 2], default=0)
        if splits:  # WikiCS and others have one test set for many splits
            masks = [m if m.ndim == 2 else np.repeat(m[:, None], splits, 1) for m in masks]
        out["masks"] = masks
    return out


def from_dgl(graph, name="dgl"):
    """Reads a DGL graph, or any object with its methods. Features, labels and masks are node data."""
    src, dst = graph.edges()
    out = {"src": array(src), "dst": array(dst), "num_nodes": int(graph.num_nodes()), "name": name}
    data = graph.ndata
    for key, sources in (("x", ("feat", "features")), ("y", ("label", "labels"))):
        for source in sources:
            if source in data and key not in out:
                out[key] = array(data[source])
    if all(key in data for key in MASKS):
        out["masks"] = [array(data[key]) for key in MASKS]
    return out


def from_ogb(dataset, name="ogb"):
    """Reads an OGB NodePropPredDataset, or any object with (graph, labels) at [0] and get_idx_split()."""
    graph, y = dataset[0]
    nodes, split = int(graph["num_nodes"]), dataset.get_idx_split()
    return {"src": graph["edge_index"][0], "dst": graph["edge_index"][1], "num_nodes": nodes, "name": name,
            "x": graph.get("node_feat"), "y": y,
            "masks": [mask(array(split[part]), nodes) for part in ("train", "valid", "test")]}


def from_benchmark_npz(file, name):
    """Reads the gnn-benchmark layout: adj as CSR, attr as CSR or dense."""
    src, dst = edges_of(file["adj_indptr"], file["adj_indices"])
    weight = np.asarray(file["adj_data"])
    out = {"src": src, "dst": dst, "num_nodes": len(file["adj_indptr"]) - 1, "name": name, "y": file["labels"]}
    if not (weight == 1).all():
        out["edge_weight"] = weight
    if "attr_matrix" in file:
        out["x"] = file["attr_matrix"]
    elif "attr_data" in file:
        out["x_csr"] = (file["attr_indptr"], file["attr_indices"], file["attr_data"])
        out["num_features"] = int(file["attr_shape"][1])
    return out


def from_scipy_npz(file, name):
    """Reads a file of scipy.sparse.save_npz."""
    layout = bytes(file["format"].item()).decode() if file["format"].dtype.kind == "S" else str(file["format"])
    if layout == "coo":
        src, dst, weight = file["row"], file["col"], file["data"]
    elif layout in ("csr", "csc"):
        src, dst = edges_of(file["indptr"], file["indices"])
        weight = file["data"]
        if layout == "csc":
            src, dst = dst, src
    else:
        raise BadSource(f"sparse matrices of format {layout} are not supported: save them as csr, csc or coo")
    rows, columns = (int(n) for n in file["shape"])
    if rows != columns:
        raise BadSource(f"a graph needs a square matrix, got {rows} x {columns}")
    out = {"src": src, "dst": dst, "num_nodes": rows, "name": name}
    if not (np.asarray(weight) == 1).all():
        out["edge_weight"] = weight
    return out


def from_reddit(data_path, graph_path, name="reddit"):
    """Reads reddit_data.npz and reddit_graph.npz of DGL."""
    with np.load(graph_path) as graph_file:
        graph = from_scipy_npz(graph_file, name)
    graph.pop("edge_weight", None)  # edge ids, not weights
    with np.load(data_path) as data:
        kinds = data["node_types"]
        graph.update(x=data["feature"], y=data["label"], masks=[kinds == kind for kind in (1, 2, 3)])
    return graph


def from_npz(path, name=None):
    name = name or os.path.splitext(os.path.basename(path))[0]
    with np.load(path, allow_pickle=False) as file:  # a pickle can execute code
        if "adj_indptr" in file:
            return from_benchmark_npz(file, name)
        if "format" in file and "shape" in file:
            return from_scipy_npz(file, name)
        raise BadSource(f"{path}: neither of the gnn-benchmark layout nor of scipy.sparse.save_npz: {sorted(file)}")


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadSource(f"this source needs the Python package {name.split('.')[0]}: {error}") from error


def named(classes, kind, root):
    """Constructs a dataset such as Reddit or Planetoid:Cora from a module of dataset classes."""
    class_name, *arguments = kind.split(":")
    if not hasattr(classes, class_name):
        raise BadSource(f"{classes.__name__} has no dataset {class_name}")
    made = getattr(classes, class_name)
    if classes.__name__.startswith("dgl"):
        return made(*arguments, raw_dir=root)
    return made(os.path.join(root, *kind.split(":")), *arguments)


def load(source, root):
    kind, colon, rest = source.partition(":")
    name = rest.split(":")[-1].lower()
    if colon and kind == "pyg":
        return from_pyg(named(module("torch_geometric.datasets"), rest, root)[0], name)
    if colon and kind == "dgl":
        return from_dgl(named(module("dgl.data"), rest, root)[0], name)
    if colon and kind == "ogb":
        return from_ogb(module("ogb.nodeproppred").NodePropPredDataset(rest, root=root), name)
    if "," in source:
        return from_reddit(*source.split(",", 1))
    if source.endswith(".npz"):
        return from_npz(source)
    raise BadSource(f"unknown source '{source}': pyg:NAME, dgl:NAME, ogb:NAME, FILE.npz or DATA.npz,GRAPH.npz")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("file")
    parser.add_argument("--root", default="data", help="download folder of the packages (default: data)")
    parser.add_argument("--undirected", action="store_true", help="add the reverse of every edge")
    options = parser.parse_args(arguments)
    try:
        graph = load(options.source, options.root)
        write(options.file, undirected=options.undirected, **graph)
    except (BadSource, OSError, KeyError, ValueError) as error:
        text = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        print(f"to_h5.py: {options.source}: {text}".replace("\n", " "), file=sys.stderr)
        return 2
    print(f"{options.file}: {graph['name']}, {graph['num_nodes']} nodes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
