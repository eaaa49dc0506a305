"""Graphs of several node types and relations: HeteroData of torch_geometric, DGL's heterographs, OGB's dictionaries."""

import re

import numpy as np

from .common import MASKS, BadSource, array, mask
from .write import check_masks, check_rows, prepare_nodes, put, put_nodes, write_file

NODE_KEYS = {"x": ("x", "feat", "features"), "y": ("y", "label", "labels")}


def node_store(get, count):
    """The arrays of one node type. `get`: the value of a key, or None."""
    out = {"num_nodes": int(count)}
    for key, names in NODE_KEYS.items():
        value = next((array(get(name)) for name in names if get(name) is not None), None)
        if value is not None:
            out[key] = value
    masks = [array(get(key)) for key in MASKS]
    if all(m is not None for m in masks):
        out["masks"] = masks
    return out


def from_pyg_hetero(data, name="pyg", target=None):
    """Reads a torch_geometric HeteroData, or any object with its attributes."""
    def store(kind):
        values = data[kind]
        return lambda key: getattr(values, key, None) if not isinstance(values, dict) else values.get(key)

    types = {kind: node_store(store(kind), data[kind].num_nodes) for kind in data.node_types}
    edges = {}
    for kind in data.edge_types:
        if getattr(data[kind], "edge_index", None) is not None:
            edges[kind] = tuple(array(ids) for ids in data[kind].edge_index)
        elif getattr(data[kind], "adj_t", None) is not None:  # a SparseTensor: row i lists the sources of node i
            dst, src, _ = (array(part) for part in data[kind].adj_t.coo())
            edges[kind] = (src, dst)
        else:
            raise BadSource(f"the relation {kind} has neither edge_index nor adj_t")
    return {"name": name, "types": types, "edges": edges, "target": target}


def from_dgl_hetero(graph, name="dgl", target=None):
    """Reads a DGL heterograph, or any object with its methods. Features, labels and masks are node data."""
    types = {kind: node_store(graph.nodes[kind].data.get, graph.num_nodes(kind)) for kind in graph.ntypes}
    edges = {kind: tuple(array(ids) for ids in graph.edges(etype=kind)) for kind in graph.canonical_etypes}
    return {"name": name, "types": types, "edges": edges, "target": target}


def from_dicts(graph, labels=None, split=None, name="dicts", target=None):
    """Reads dictionaries as OGB has them: edge_index_dict {(source, relation, target): [2, edges]}, num_nodes_dict, and
    optionally node_feat_dict or x_dict, y_dict, train_mask_dict and so on, by type. labels: {type: y}; split:
    {"train" | "valid" | "test": {type: node ids}}."""
    def of(kind):
        found = {key: (graph.get(f"{key}_dict") or {}).get(kind) for key in ("x", "y", *MASKS)}
        if (graph.get("node_feat_dict") or {}).get(kind) is not None:
            found["x"] = graph["node_feat_dict"][kind]
        if labels is not None and labels.get(kind) is not None:
            found["y"] = labels[kind]
        return found

    types = {}
    for kind, count in graph["num_nodes_dict"].items():
        types[kind] = node_store(of(kind).get, count)
        if split is not None and kind in split["train"]:
            types[kind]["masks"] = [mask(array(split[part][kind]), int(count)) for part in ("train", "valid", "test")]
    edges = {kind: tuple(array(ids)) for kind, ids in graph["edge_index_dict"].items()}
    return {"name": name, "types": types, "edges": edges, "target": target}


def clean(name):
    """A name as a file may have it."""
    return re.sub(r"[\x00-\x20./:\"\\\\\x7f]", "_", str(name))[:200] or "_"


def write_hetero(path, *, name, types, edges, target=None, regression=False, multi_label=False, notes=()):
    """Writes a file of several node types, schema version 2, atomically. types: {name: arrays, as those of write()}; edges:
    {(source, relation, target): (sources, targets)}. target: the type whose labels are learned; the only one with labels.
    Returns what was understood."""
    cleaned = {kind: clean(kind) for kind in types}
    lines = {kind: ":".join(clean(part) for part in kind) for kind in edges}
    for what, names in (("node types", cleaned), ("relations", lines)):
        if len(set(names.values())) < len(names):
            raise BadSource(f"two {what} have one name, once characters that files may not have are _: {', '.join(names.values())}")
    labelled = [kind for kind in types if types[kind].get("y") is not None]
    if target is None and len(labelled) == 1:
        target = labelled[0]
    if target is not None and target not in labelled:
        raise BadSource(f"the target type {target} has no labels; there are those of {', '.join(labelled) or 'no type'}")
    ready = {}
    for kind, store in types.items():
        store = {"x_csr": None, "num_features": None, "x": None, "y": None, "masks": None, "class_names": None, "node_id": None,
                 "node_names": None} | store
        check_rows(store["num_nodes"], (), features=store["x"], labels=store["y"], **dict(zip(MASKS, store["masks"] or ())))
        ready[kind] = prepare_nodes(regression=regression and kind == target, multi_label=multi_label, **store)
        if store["masks"]:
            check_masks(store["masks"], ready[kind]["y"], "nodes")
    for (source, relation, end), ids in edges.items():
        for kind in (source, end):
            if kind not in types:
                raise BadSource(f"the relation {relation} is of the node type {kind}, which is not there")
        for what, kind, values in (("sources", source, ids[0]), ("targets", end, ids[1])):
            count, values = types[kind]["num_nodes"], np.asarray(values)
            if values.size and (values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= count):
                raise BadSource(f"{what} of {source}:{relation}:{end} must be integers in [0, {count})")
        if len(ids[0]) != len(ids[1]):
            raise BadSource(f"{source}:{relation}:{end} has {len(ids[0])} sources and {len(ids[1])} targets")

    def fill(file):
        file.attrs["rodeo_schema"] = np.int64(2)
        file.attrs["name"] = name
        file.attrs["node_types"] = "\n".join(cleaned.values())
        file.attrs["relations"] = "\n".join(lines.values())
        if target is not None:
            file.attrs["target_type"] = cleaned[target]
        for kind, nodes in ready.items():
            group = file.create_group(f"nodes/{cleaned[kind]}")
            group.attrs["num_nodes"] = np.int64(types[kind]["num_nodes"])
            put_nodes(group, nodes)
        for kind, ids in edges.items():
            put(file.create_group(f"edges/{lines[kind]}"), "edge_index", np.stack([np.asarray(part).ravel() for part in ids]).astype(np.int32))

    write_file(path, fill)
    understood = [f"{kind}: labels: {nodes['understood']}" for kind, nodes in ready.items() if nodes["y"] is not None]
    total, joined = sum(store["num_nodes"] for store in types.values()), sum(len(ids[0]) for ids in edges.values())
    counts = {"node type": len(types), "node": total, "relation": len(edges), "edge": joined}
    return [*notes, *understood, ", ".join(f"{count} {what}{'s' * (count != 1)}" for what, count in counts.items())]
