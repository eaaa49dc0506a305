"""NumPy archives: the gnn-benchmark layout, graphgallery, heterophilous graphs, scipy.sparse.save_npz, DGL's Reddit."""

import contextlib
import os
import pickle

import numpy as np

from .common import BadSource, edges_of, reading


@contextlib.contextmanager
def opened(path):
    with reading(path), open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:  # pickles can execute code
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise BadSource("it is no .npz archive")
        yield file


class Matrix:
    """Attributes of a pickled SciPy matrix."""


class Unpickler(pickle.Unpickler):
    """Reads arrays, tensors and SciPy matrices. Other classes could execute code."""

    def find_class(self, module, name):
        if module.startswith("scipy.sparse") and name[:3] in ("csr", "csc", "coo"):
            return type(name, (Matrix,), {"layout": name[:3]})
        known = {"_reconstruct": np.empty(0).__reduce__()[0], "scalar": np.float64(0).__reduce__()[0],
                 "ndarray": np.ndarray, "dtype": np.dtype}
        if module.split(".")[0] == "numpy" and name in known:
            return known[name]
        if (module, name) in (("_codecs", "encode"), ("collections", "OrderedDict"), ("torch._utils", "_rebuild_tensor_v2")):
            return super().find_class(module, name)
        raise BadSource(f"it holds a pickled {module}.{name}, and loading it could execute code")


def member(file, key):
    """An array of an archive, or the SciPy matrix that is pickled there."""
    with file.zip.open(f"{key}.npy") as stream:
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        if not header(stream)[2].hasobject:
            return file[key]
        value = Unpickler(stream).load()
        return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def entries(layout, get):
    """Row, column and value of the entries of a sparse matrix. `get`: an attribute, by name."""
    if layout == "coo":
        row, column = get("coords") if get("coords") is not None else (get("row"), get("col"))
        return np.asarray(row), np.asarray(column), np.asarray(get("data"))
    if layout not in ("csr", "csc"):
        raise BadSource(f"sparse matrices of format {layout} are not supported: save them as csr, csc or coo")
    row, column = edges_of(get("indptr"), get("indices"))
    return *((column, row) if layout == "csc" else (row, column)), np.asarray(get("data"))


def graph_of(name, shape, row, column, weight):
    rows, columns = (int(n) for n in shape)
    if rows != columns:
        raise BadSource(f"a graph needs a square matrix, got {rows} x {columns}")
    out = {"src": row, "dst": column, "num_nodes": rows, "name": name}
    return out if (weight == 1).all() else out | {"edge_weight": weight}


def from_benchmark_npz(file, name):
    """Reads the gnn-benchmark layout: adj as CSR, attr as CSR or dense."""
    nodes = len(file["adj_indptr"]) - 1
    src, dst = edges_of(file["adj_indptr"], file["adj_indices"])
    out = graph_of(name, (nodes, nodes), src, dst, np.asarray(file["adj_data"])) | {"y": file["labels"]}
    if "attr_matrix" in file:
        out["x"] = file["attr_matrix"]
    elif "attr_data" in file:
        out["x_csr"] = (file["attr_indptr"], file["attr_indices"], file["attr_data"])
        out["num_features"] = int(file["attr_shape"][1])
    return out


def from_graphgallery_npz(file, name):
    """Reads a data set of graphgallery: pickled SciPy matrices adj_matrix and node_attr (or dense), and node_label."""
    def first(*keys):
        return next((member(file, key) for key in keys if key in file), None)

    adj, x, y = first("adj_matrix"), first("node_attr", "attr_matrix"), first("node_label", "label", "labels")
    if not isinstance(adj, Matrix):
        raise BadSource("adj_matrix is no SciPy matrix")
    out = graph_of(name, adj._shape, *entries(adj.layout, vars(adj).get))
    if isinstance(x, Matrix):
        row, column, data = entries(x.layout, vars(x).get)
        order = np.argsort(row, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=x._shape[0]))])
        out |= {"x_csr": (indptr, column[order], data[order]), "num_features": int(x._shape[1])}
    elif x is not None:
        out["x"] = x
    return out if y is None else out | {"y": y}


def from_heterophilous_npz(file, name):
    """Reads an archive of Platonov et al. (ICLR 2023): each edge once, masks [splits, nodes]."""
    edges = np.asarray(file["edges"])
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise BadSource(f"edges must have a row of two nodes for each edge, got {edges.shape}")
    src, dst = edges.T
    kept = src != dst
    return {"src": np.concatenate([src, dst[kept]]), "dst": np.concatenate([dst, src[kept]]), "name": name,
            "num_nodes": len(file["node_labels"]), "x": file["node_features"], "y": file["node_labels"],
            "masks": [np.ascontiguousarray(np.atleast_2d(file[f"{part}_masks"]).T) for part in ("train", "val", "test")]}


def from_scipy_npz(file, name):
    """Reads a file of scipy.sparse.save_npz."""
    layout = bytes(file["format"].item()).decode() if file["format"].dtype.kind == "S" else str(file["format"])
    return graph_of(name, file["shape"], *entries(layout, lambda key: file[key] if key in file else None))


def from_reddit(data_path, graph_path, name="reddit"):
    """Reads reddit_data.npz and reddit_graph.npz of DGL."""
    with opened(graph_path) as graph_file:
        graph = from_scipy_npz(graph_file, name)
    graph.pop("edge_weight", None)  # edge ids, not weights
    with opened(data_path) as data:
        kinds = data["node_types"]
        graph.update(x=data["feature"], y=data["label"], masks=[kinds == kind for kind in (1, 2, 3)])
    return graph


LAYOUTS = (  # arrays that a layout has, its reader
    (("adj_indptr",), from_benchmark_npz),
    (("adj_matrix",), from_graphgallery_npz),
    (("edges", "train_masks"), from_heterophilous_npz),
    (("format", "shape"), from_scipy_npz),
)


def from_npz(path, name=None):
    with opened(path) as file:
        for keys, read in LAYOUTS:
            if all(key in file for key in keys):
                return read(file, name or os.path.splitext(os.path.basename(path))[0])
        raise BadSource("none of the gnn-benchmark layout, of graphgallery, of the heterophilous graphs and of "
                        f"scipy.sparse.save_npz: it has {', '.join(sorted(file)) or 'no array'}")
