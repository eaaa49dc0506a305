"""Writing of a dataset file."""

import os

import h5py
import numpy as np

from .common import MASKS, BadSource, classify, from_one, labels, reading


def undirect(src, dst, *arrays):
    """Adds the reverse of every edge, with its values in `arrays`, and drops duplicates; the first is kept."""
    a, b = np.concatenate([src, dst]).astype(np.int64), np.concatenate([dst, src]).astype(np.int64)
    _, first = np.unique(a * (int(max(a.max(initial=0), b.max(initial=0))) + 1) + b, return_index=True)
    return a[first], b[first], *(None if values is None else np.concatenate([values, values])[first] for values in arrays)


def without_reverse(src, dst):
    """The number of edges whose reverse is not there."""
    src, dst = np.asarray(src).ravel().astype(np.int64), np.asarray(dst).ravel().astype(np.int64)
    nodes = int(max(src.max(initial=0), dst.max(initial=0))) + 1
    return int((~np.isin(src * nodes + dst, dst * nodes + src)).sum())


def as_features(x):
    """float16 and float32 as they are; integers, bools and doubles as float32."""
    x = np.asarray(x)
    if x.dtype.kind not in "biuf" or x.ndim != 2:
        raise BadSource(f"features must be numbers, a row of them for each node or edge, got {x.dtype} {x.shape}")
    if x.dtype not in (np.float16, np.float32):
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise BadSource(f"features must be finite numbers, x[{row}, {column}] is {x[row, column]}")
    return x


def check_rows(num_nodes, edges, of="nodes", **arrays):
    """Each array has a row for each node; (sources, destinations, values) have one length and name nodes."""
    for what, ids in zip(("sources", "destinations"), edges):
        if ids.size and ids.dtype.kind not in "iu":
            raise BadSource(f"{what} of edges must be integers, got {ids.dtype}")
        if ids.size and (ids.min() < 0 or ids.max() >= num_nodes):
            raise BadSource(f"{what} of edges must be in [0, {num_nodes}), got {ids.min()} .. {ids.max()}")
    lengths = [len(part) for part in edges if part is not None]
    if len(set(lengths)) > 1:
        raise BadSource(f"sources, destinations and values of edges are of different numbers: {lengths}")
    for what, values in arrays.items():
        if values is not None and np.shape(values)[:1] != (num_nodes,):
            raise BadSource(f"{what} must have a row for each of {num_nodes} {of}, got {np.shape(values)}")


def check_sparse(num_nodes, num_features, x_csr):
    """x_csr is a CSR matrix of that shape."""
    indptr, indices, data = (np.asarray(part) for part in x_csr)
    good = indptr.shape == (num_nodes + 1,) and indices.shape == data.shape == (int(indptr[-1]),) and indptr[0] == 0 and \
        (np.diff(indptr) >= 0).all()
    if not good or (indices.size and not 0 <= indices.min() <= indices.max() < (num_features or 2**31)):
        raise BadSource(f"sparse features are no CSR matrix of {num_nodes} rows and {num_features or 'some'} columns")
    if not np.isfinite(data).all():
        raise BadSource(f"sparse features must be finite numbers, one is {data[~np.isfinite(data)][0]}")


def check_masks(masks, y, of):
    """Three masks of one shape, [rows] or [rows, splits], of 0 and 1, which share no row; rows in them have labels."""
    masks = [np.asarray(mask) for mask in masks]
    shapes = [mask.shape for mask in masks]
    if len(set(shapes)) > 1 or len(shapes[0]) > 2:
        raise BadSource(f"the masks must be [{of}] or [{of}, splits], all of one shape, got {', '.join(map(str, shapes))}")
    for name, mask in zip(MASKS, masks):
        if not np.isin(mask, (0, 1)).all():
            raise BadSource(f"{name} must have 0 and 1 only")
    parts = [mask.astype(bool).reshape(len(mask), -1) for mask in masks]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        if (both := np.argwhere(parts[one] & parts[other])).size:
            raise BadSource(f"{MASKS[one]} and {MASKS[other]} both have row {both[0][0]}, of split {both[0][1]}")
    if y is not None and y.ndim == 1 and y.dtype.kind == "i":
        unlabelled = np.flatnonzero(np.logical_or.reduce(parts).any(1) & (y < 0))
        if unlabelled.size:
            raise BadSource(f"row {unlabelled[0]} is in the split and has no label")


def lines_of(what, names, count):
    """Names as the bytes of a text with a line for each."""
    names = [str(name) for name in names]
    if len(names) != count:
        raise BadSource(f"{what} must have {count} names, got {len(names)}")
    for name in names:
        if "\n" in name or "\0" in name:
            raise BadSource(f"{what}: {name!r} has a line break or a zero byte")
    return "\n".join(names)


def put(file, key, values):
    packed = values.nbytes < 32 << 20 and values.size > 0
    file.create_dataset(key, data=values, **({"compression": "gzip", "shuffle": True} if packed else {}))


def prepare_nodes(x, x_csr, num_features, y, masks, class_names, node_id, node_names, regression, multi_label, num_nodes):
    """Features and labels as a file has them, and `understood`, what the labels are."""
    if x_csr is not None:
        check_sparse(num_nodes, num_features, x_csr)
    if y is not None and np.asarray(y).dtype.kind in "OUS":
        y, class_names = classify(y)
    y, understood = (None, "none") if y is None else labels(y, regression, multi_label)
    if y is not None and y.ndim == 1 and y.dtype.kind == "i" and not class_names:
        y, class_names = from_one(y)
    if class_names and y is not None and y.ndim == 1:
        understood = f"{len(class_names)} classes with names: {', '.join(class_names[:5])}{', ...' * (len(class_names) > 5)}"
    if node_names is not None:
        node_names = lines_of("node_names", node_names, num_nodes)
    return {"x": None if x is None else as_features(x), "x_csr": x_csr, "num_features": num_features, "y": y, "masks": masks,
            "class_names": class_names, "node_id": node_id, "node_names": node_names, "understood": understood}


def put_nodes(file, nodes, prefix=""):
    """Writes what prepare_nodes() returned. prefix: of the names of labels and masks."""
    if nodes["x"] is not None:
        put(file, "x", nodes["x"])
    if nodes["x_csr"] is not None:
        indptr, indices, data = nodes["x_csr"]
        put(file, "x_indptr", np.asarray(indptr, np.int64))
        put(file, "x_indices", np.asarray(indices, np.int32))
        put(file, "x_data", np.asarray(data, np.float32))
        if nodes["num_features"] is not None:
            file.attrs["num_features"] = np.int64(nodes["num_features"])
    y = nodes["y"]
    if y is not None:
        put(file, prefix + "y", y)
        classes = y.shape[1] if y.ndim == 2 else max(int(y.max(initial=0)) + 1, 1)
        file.attrs["num_classes"] = np.int64(classes)
        if nodes["class_names"]:
            file.attrs["class_names"] = lines_of("class_names", nodes["class_names"], classes)
    for key, values in zip(MASKS, nodes["masks"] or ()):
        put(file, prefix + key, np.asarray(values).astype(np.uint8))
    if nodes["node_id"] is not None:
        put(file, "node_id", np.asarray(nodes["node_id"], np.int64))
    if nodes["node_names"] is not None:
        put(file, "node_names", np.frombuffer(nodes["node_names"].encode(), np.uint8))


def write_file(path, fill):
    """Writes a file atomically: fill(file) writes its contents."""
    path = os.path.realpath(path)  # a link stays a link
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadSource(f"{path}: is not a regular file: name another one to write")
    partial = f"{path}.part{os.getpid()}"
    try:
        with reading(path), h5py.File(partial, "w-") as file:
            fill(file)
        with reading(path):
            os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def write(path, *, src, dst, num_nodes, name, x=None, x_csr=None, y=None, masks=None, edge_weight=None,
          num_features=None, undirected=False, drop_self_loops=False, class_names=None, node_id=None, node_names=None,
          regression=False, multi_label=False, notes=(), edge_attr=None, graph_ptr=None, pairs=None):
    """Writes the file atomically. x: [nodes, features] of any numbers; x_csr: (indptr, indices, data); y: numbers, or
    texts, which become classes with names; masks: three arrays [nodes] or [nodes, splits]; regression: y is targets,
    even if all numbers are whole; multi_label: a matrix y stays several labels even if each row has exactly one 1;
    graph_ptr: the first node of each graph of a set, and the number of nodes: y and masks are then of graphs; pairs:
    arrays of a split of the edges, such as val_edges. Returns what was understood, a list of lines that begins with
    `notes`."""
    src, dst = np.asarray(src).ravel(), np.asarray(dst).ravel()
    if edge_weight is not None:
        edge_weight = np.asarray(edge_weight, np.float32).ravel()
    if num_nodes < 1:
        raise BadSource("it has no nodes")
    rows, of, prefix = (num_nodes, "nodes", "") if graph_ptr is None else (len(graph_ptr) - 1, "graphs", "graph_")
    check_rows(num_nodes, (src, dst, edge_weight, edge_attr), features=x)
    check_rows(rows, (), of, labels=y, **dict(zip(MASKS, masks or ())))
    if drop_self_loops:
        kept = src != dst
        src, dst, edge_weight, edge_attr = (None if v is None else v[kept] for v in (src, dst, edge_weight, edge_attr))
    if undirected:
        src, dst, edge_weight, edge_attr = undirect(src, dst, edge_weight, edge_attr)
    nodes = prepare_nodes(x, x_csr, num_features, y, masks, class_names, node_id, node_names, regression, multi_label, num_nodes)
    if graph_ptr is not None and nodes["y"] is not None and nodes["y"].ndim == 1 and nodes["y"].min(initial=0) < 0:
        if nodes["y"].max() > 1:
            raise BadSource("some graphs have no class: leave them out")
        nodes["y"] = nodes["y"].astype(np.int8)[:, None]
    if masks:
        check_masks(masks, nodes["y"], of)

    def fill(file):
        file.attrs["rodeo_schema"] = np.int64(1)
        file.attrs["name"] = name
        file.attrs["num_nodes"] = np.int64(num_nodes)
        put(file, "edge_index", np.stack([src, dst]).astype(np.int32))
        if edge_weight is not None:
            put(file, "edge_weight", edge_weight)
        if edge_attr is not None:
            put(file, "edge_attr", as_features(edge_attr))
        if graph_ptr is not None:
            put(file, "graph_ptr", np.asarray(graph_ptr, np.int64))
        for key, ids in (pairs or {}).items():
            put(file, key, np.asarray(ids).astype(np.int32))
        put_nodes(file, nodes, prefix)

    write_file(path, fill)
    return [*notes, f"labels: {nodes['understood']}".replace(" a node", f" a {of[:-1]}")]
