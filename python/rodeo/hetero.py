"""rodeo.HeteroGraph: one graph of several node types and relations."""
import os
from typing import Any, Dict, Mapping, Optional, Tuple

import numpy as np

from . import _core, _frameworks
from .dataset import Dataset, _host

Relation = Tuple[str, str, str]  # source type, name, target type


class HeteroGraph:
    """A graph of several node types and relations, for rodeo.train and as an HDF5 file (datasets/README.md).

        graph = rodeo.HeteroGraph.from_pyg(data)             # HeteroData of PyG
        result = rodeo.train(graph, model="rgcn", undirected=True)

    Attributes: name, node_types, relations, target, num_nodes, num_edges, num_classes.
    """

    def __init__(self, nodes: Mapping[str, Any], edges: Mapping[Relation, Any], target: Optional[str] = None, name: str = "hetero") -> None:
        """From arrays of any framework; those on a GPU are copied to the host. Do not change them afterwards.

        nodes   {type: its arguments, as rodeo.Dataset has them: x, y, train_mask, val_mask, test_mask, num_nodes}; all are optional
                but num_nodes where there is neither x nor y. A number is num_nodes
        edges   {(source type, name, target type): integers [2, edges], ids of sources and targets within their types}
        target  the type whose labels are learned; default: the only one that has labels
        """
        if isinstance(nodes, _core.HeteroDataset):
            self._core = nodes
        else:
            types = {kind: _nodes(kind, given) for kind, given in nodes.items()}
            labelled = [kind for kind, part in types.items() if "y" in part.arrays()]
            if target is None and len(labelled) > 1:
                raise ValueError(f"[dataset] {' and '.join(labelled)} have labels: say by target which of these types is learned")
            target = labelled[0] if target is None and labelled else target
            if target is not None and target not in types:
                raise ValueError(f"[dataset] there is no node type {target!r}, there are {', '.join(types)}")
            places = list(types)
            relations = [_relation(relation, ids, types, places) for relation, ids in edges.items()]
            self._core = _core.HeteroDataset.from_parts(name, [(kind, part._core) for kind, part in types.items()], relations,
                                                        -1 if target is None else places.index(target))
        self._types = {kind: Dataset(part) for kind, part in self._core.types()}

    @classmethod
    def from_pyg(cls, data: Any, target: Optional[str] = None, split: int = 0, name: str = "pyg") -> "HeteroGraph":
        """From a HeteroData of PyTorch Geometric, or a dataset of one. Edge features are not read. split: of masks [nodes, splits]."""
        from ._convert import _column, _edges, _features, _get, _MASKS
        if not hasattr(data, "node_types") and hasattr(data, "__getitem__") and len(data) == 1:
            data = data[0]
        if getattr(data, "node_types", None) is None:
            raise ValueError(f"[dataset] from_pyg wants HeteroData, with node_types, got {type(data).__name__}: graphs of one node type "
                             "are rodeo.Dataset.from_pyg")
        nodes = {kind: {"x": _features(data[kind]), "y": _get(data[kind], "y"), "num_nodes": data[kind].num_nodes,
                        **{mask: _column(mask, _get(data[kind], mask), split) for mask in _MASKS}} for kind in data.node_types}
        return cls(nodes, {kind: _edges(data[kind]) for kind in data.edge_types}, target, name)

    @classmethod
    def from_dgl(cls, data: Any, target: Optional[str] = None, name: str = "dgl") -> "HeteroGraph":
        """From a heterograph of DGL, or a dataset of one. Features of edges are not read.

        Nodes have "feat", "label", "train_mask", "val_mask" and "test_mask"; all are optional.
        """
        from ._convert import dgl_arrays
        graph = data if hasattr(data, "canonical_etypes") else data[0]
        nodes = {kind: {**dgl_arrays(graph.nodes[kind].data), "num_nodes": graph.num_nodes(kind)} for kind in graph.ntypes}
        return cls(nodes, {kind: np.stack([_host(ids) for ids in graph.edges(etype=kind)]) for kind in graph.canonical_etypes}, target,
                   name)

    @classmethod
    def load(cls, path: Any, split: str = "", seed: int = 0) -> "HeteroGraph":
        """Reads and checks a file. split: "", "2" (one of the file's) or "60/20/20" (random, by seed), of the target type."""
        return cls(_core.HeteroDataset.load(os.fspath(path), split, seed), {})

    def save(self, path: Any) -> None:
        """Writes an HDF5 file, atomically."""
        self._core.save(os.fspath(path))

    def nodes(self, kind: Optional[str] = None) -> Dataset:
        """The features, labels and split of a type as a Dataset without edges; default: of the target type."""
        if kind is None and self.target is None:
            raise ValueError("[dataset] no node type has labels: give y to one, or say by target which is learned")
        if kind is not None and kind not in self._types:
            raise ValueError(f"[dataset] there is no node type {kind!r}, there are {', '.join(self._types)}")
        return self._types[kind or self.target]  # type: ignore[index]

    def edges(self) -> Dict[Relation, Tuple[np.ndarray, np.ndarray]]:
        """{(source type, name, target type): ids of sources, ids of targets}. Do not change them."""
        kinds = list(self._types)
        return {(kinds[source], name, kinds[end]): (_frameworks.from_dlpack(src, None), _frameworks.from_dlpack(dst, None))
                for source, name, end, src, dst in self._core.relations()}

    @property
    def name(self) -> str:
        return self._core.name

    @property
    def target(self) -> Optional[str]:
        return list(self._types)[self._core.target] if self._core.target >= 0 else None

    @property
    def node_types(self) -> Dict[str, int]:
        """{type: number of nodes}."""
        return {kind: part.num_nodes for kind, part in self._types.items()}

    @property
    def relations(self) -> Dict[Relation, int]:
        """{(source type, name, target type): number of edges}."""
        return {relation: len(ids[0]) for relation, ids in self.edges().items()}

    @property
    def num_nodes(self) -> int:
        return sum(self.node_types.values())

    @property
    def num_edges(self) -> int:
        return sum(self.relations.values())

    @property
    def num_features(self) -> int:
        """Features of the target type."""
        return self.nodes().num_features

    @property
    def num_classes(self) -> int:
        return self.nodes().num_classes

    @property
    def is_regression(self) -> bool:
        return self.target is not None and self.nodes().is_regression

    def __reduce__(self):
        return _restored, (self._types, self.edges(), self.target, self.name)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self  # nobody changes it

    def __repr__(self):
        return (f"rodeo.HeteroGraph({self.name!r}, node_types={self.node_types}, "
                f"relations={[':'.join(relation) for relation in self.relations]}, target={self.target!r}, num_edges={self.num_edges})")


def _restored(types, edges, target, name):
    return HeteroGraph(types, edges, target, name)


def _nodes(kind, given):
    """The Dataset of a node type."""
    if isinstance(given, Dataset):
        return given
    try:
        return Dataset(np.zeros((2, 0), np.int64), **({"num_nodes": int(given)} if isinstance(given, (int, np.integer)) else given), name=kind)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error}, of the node type {kind!r}") from None


def _relation(relation, ids, types, places):
    """A relation in the form that rodeo._core takes."""
    if not isinstance(relation, tuple) or len(relation) != 3:
        raise ValueError(f"[dataset] a relation is (source type, name, target type), got {relation!r}")
    source, name, end = relation
    if len(ids) != 2:
        raise ValueError(f"[dataset] edges of {':'.join(relation)} must be integers [2, edges], got {len(ids)} rows")
    arrays = []
    for kind, part in (source, ids[0]), (end, ids[1]):
        if kind not in types:
            raise ValueError(f"[dataset] the relation {':'.join(relation)} has the node type {kind!r}, there are {', '.join(types)}")
        part, count = _host(part), types[kind].num_nodes
        if part.ndim != 1 or part.dtype.kind not in "iu" or (part.size and (part.min() < 0 or part.max() >= count)):
            raise ValueError(f"[dataset] edges of {':'.join(relation)} must be integers [2, edges], of {kind} in [0, {count})")
        arrays.append(_host(part, np.int64))
    if arrays[0].size != arrays[1].size:
        raise ValueError(f"[dataset] {':'.join(relation)} has {arrays[0].size} sources and {arrays[1].size} targets")
    return places.index(source), name, places.index(end), *arrays
