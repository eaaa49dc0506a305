"""NumPy archives: the gnn-benchmark layout, heterophilous graphs, scipy.sparse.save_npz, and DGL's two files of Reddit."""

import os

import numpy as np

from .common import BadSource, edges_of


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


def from_heterophilous_npz(file, name):
    """Reads an archive of Platonov et al. (ICLR 2023): each edge once, masks [splits, nodes]."""
    src, dst = np.asarray(file["edges"]).T
    kept = src != dst
    return {"src": np.concatenate([src, dst[kept]]), "dst": np.concatenate([dst, src[kept]]), "name": name,
            "num_nodes": len(file["node_labels"]), "x": file["node_features"], "y": file["node_labels"],
            "masks": [np.ascontiguousarray(file[f"{part}_masks"].T) for part in ("train", "val", "test")]}


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
        if "edges" in file and "train_masks" in file:
            return from_heterophilous_npz(file, name)
        if "format" in file and "shape" in file:
            return from_scipy_npz(file, name)
        raise BadSource(f"{path}: none of the gnn-benchmark layout, of the heterophilous graphs and of scipy.sparse.save_npz: {sorted(file)}")
