"""rodeo.Graph: one graph, with everything that operators derive from it."""
import itertools
import weakref
from typing import Any, Optional, Tuple

import numpy as np

from . import _core, _frameworks
from .dataset import _host

_ids = itertools.count(1)
_by_id = {}  # Graph._id -> weak reference: a lookup costs a third of that of a WeakValueDictionary


def living(number):
    """The graph with this Graph._id, or None where it no longer exists."""
    reference = _by_id.get(number)
    return None if reference is None else reference()


class Graph:
    """A sparse matrix pattern: row i has an entry in column j for each edge j -> i. Operators sum over rows.

    Built once, used often: the transpose, plans of kernels and choices of algorithms are cached inside. Edges are
    kept in CSR order, sorted by (target, source); arrays of edge values that operators take and return are in that
    order. `permute` brings values in the order of the original edge_index into it.

    Not for change: there is no way to add an edge. Threads may share a graph on the CPU; on CUDA use it from one
    thread at a time. Attributes: num_nodes (targets), num_sources, num_edges, device, edge_ids.
    """

    def __init__(self, core: Any, like: Any, values: Optional[int] = None) -> None:
        if not isinstance(core, _core.Graph):
            raise TypeError("use Graph.from_edge_index, Graph.from_csr or Graph.load")
        self._core = core
        self._like = like
        self._values = core.num_edges if values is None else values  # the length of what permute takes
        self._id = next(_ids)
        self._transposed = None
        self._cache = {}
        self.num_nodes = core.num_rows
        self.num_sources = core.num_cols
        self.num_edges = core.num_edges
        self.device = core.device
        _by_id[self._id] = weakref.ref(self, lambda _, number=self._id: _by_id.pop(number, None))

    @classmethod
    def from_edge_index(cls, edge_index: Any, num_nodes: Optional[int] = None, *, num_sources: Optional[int] = None,
                        self_loops: str = "keep", symmetrize: bool = False, drop_duplicates: bool = False) -> "Graph":
        """A graph from an edge list, as in PyTorch Geometric.

        edge_index       int64 or int32 [2, edges], any order: sources, targets. Or a pair of arrays [edges]
        num_nodes        of targets, and of sources too unless num_sources is given; default: the largest id + 1
        num_sources      for a bipartite graph
        self_loops       "keep", "drop", or "add": one for each node that has none
        symmetrize       adds the reverse of each edge; drops duplicates
        drop_duplicates  keeps the first of equal edges

        Built on the array's device. ValueError names the first edge with an id out of range.
        """
        source, target = _rows_of(edge_index)
        if num_nodes is None:
            count = source.shape[0]
            if num_sources is None:
                num_nodes = max(int(source.max()), int(target.max())) + 1 if count else 0
            else:
                num_nodes = int(target.max()) + 1 if count else 0
        sources = num_nodes if num_sources is None else num_sources
        core = _core.Graph.from_edges(source, target, sources, num_nodes, self_loops, symmetrize, drop_duplicates)
        return cls(core, _frameworks.like_of(source), source.shape[0])

    @classmethod
    def from_csr(cls, indptr: Any, indices: Any, num_sources: Optional[int] = None) -> "Graph":
        """A graph from CSR arrays: row i has the sources indices[indptr[i]] ... indices[indptr[i + 1] - 1].

        indptr   int64 or int32 [nodes + 1];  indices  int64 or int32 [edges]. num_sources: default as many as nodes.
        Sorted rows of int32 indices and int64 indptr are not copied: do not change them while the graph lives.
        """
        _frameworks.know(indptr)
        if num_sources is None:
            num_sources = indptr.shape[0] - 1
        return cls(_core.Graph.from_csr(indptr, indices, num_sources), _frameworks.like_of(indptr))

    @classmethod
    def load(cls, path: Any, device: str = "cpu") -> "Graph":
        """The edges of a dataset file (HDF5; datasets/README.md has the format), without features."""
        core = _core.Graph.load(str(path), device)
        return cls(core, _like_on(device))

    @property
    def T(self) -> "Graph":
        """The graph with all edges reversed. Cached; the transpose of the transpose is this graph."""
        if self._transposed is None:
            self._transposed = Graph(self._core.transposed(self._like), self._like, self.num_edges)
            self._transposed._transposed = self
        return self._transposed

    def to(self, device: Any) -> "Graph":
        """A copy on "cpu", "cuda" or "cuda:i", without cached plans; the same graph if it is there already."""
        device = str(device)
        core = self._core.to("cuda:0" if device == "cuda" else device)
        if core.device == self.device:
            return self
        moved = Graph(core, _like_on(core.device, self._like), self._values)
        if core.edge_ids is None and self.edge_ids is not None:  # of a copy by pickle
            moved._cache["edge_ids"] = _as_like(_host(self.edge_ids), moved._like)
        return moved

    def with_self_loops(self) -> "Graph":
        """The graph with an edge i -> i for every node that has none. edge_ids is -1 for these."""
        if "loops" not in self._cache:
            self._cache["loops"] = Graph(self._core.with_self_loops(self._like), self._like, self.num_edges)
        return self._cache["loops"]

    @property
    def indptr(self) -> Any:
        """int64 [nodes + 1]. Shares memory with the graph: do not change it. So do indices and edge_ids."""
        return _frameworks.from_dlpack(self._core.indptr, self._like)

    @property
    def indices(self) -> Any:
        """int32 [edges]: the source of each edge."""
        return _frameworks.from_dlpack(self._core.indices, self._like)

    @property
    def edge_ids(self) -> Any:
        """int64 [edges]: for each edge its position in the original edge_index; -1 for an added self loop.

        Of the transpose: positions in the graph that it is of. None where no edge moved.
        """
        if "edge_ids" not in self._cache:
            ids = self._core.edge_ids
            self._cache["edge_ids"] = None if ids is None else _frameworks.from_dlpack(ids, self._like)
        return self._cache["edge_ids"]

    def edge_index(self) -> Tuple[Any, Any]:
        """(sources, targets) of the edges in the graph's order: two int32 arrays [edges]."""
        return self.indices, self._core.rows_of_edges(self._like)

    def permute(self, values: Any, missing: float = 1) -> Any:
        """Edge values [edges, ...] in the order of the original edge_index, in the order of this graph.

        missing: the value of added self loops. PyTorch records it, for tensors that require gradients.
        """
        shape = tuple(getattr(values, "shape", ()))
        if shape[:1] != (self._values,):
            raise ValueError(f"[permute] values must be [{self._values}, ...], one for each original edge, got {list(shape)}")
        ids = self.edge_ids
        if ids is None:
            return values
        if _frameworks.know(values):
            if self._has_added_loops():
                if not self._values:
                    return values.new_full((self.num_edges, *shape[1:]), missing)
                gathered = values[ids.clamp(min=0)]
                return gathered.masked_fill((ids < 0).view(-1, *[1] * (values.dim() - 1)), missing)
            return values[ids]
        if self._core.edge_ids is None:  # of a copy by pickle
            values = _host(values)
            taken = values[np.maximum(ids, 0)] if self._values else np.zeros((self.num_edges, *shape[1:]), values.dtype)
            taken[ids < 0] = missing
            return taken
        return self._core.permute(values, missing)

    def _has_added_loops(self):
        if "added" not in self._cache:
            self._cache["added"] = bool((self.edge_ids < 0).any())
        return self._cache["added"]

    def __reduce__(self):
        """For pickle: the edges, without cached plans. The copy is on the same device, and of NumPy where this one was."""
        numpy_like = not _frameworks.know(self._like)
        graph = self.to("cpu")
        arrays = [None if a is None else _host(a) for a in (graph.indptr, graph.indices, graph.edge_ids)]
        return _restored, (*arrays, self.num_sources, self._values, self.device, numpy_like)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self  # nobody changes it

    def explain(self) -> str:
        """Which algorithm "auto" chose for which spmm and sddmm of this graph so far, and why. Empty before the first one."""
        return self._core.explain()

    def __repr__(self):
        sources = "" if self.num_sources == self.num_nodes else f", num_sources={self.num_sources}"
        return f"rodeo.Graph(num_nodes={self.num_nodes}{sources}, num_edges={self.num_edges}, device='{self.device}')"


def _restored(indptr, indices, edge_ids, num_sources, values, device, numpy_like):
    like = np.empty((0,), "float32")
    if not numpy_like:
        import torch
        like = torch.empty((0,))
        _frameworks.know(like)
    indptr, indices = (_as_like(np.require(array, requirements="CW"), like) for array in (indptr, indices))
    graph = Graph(Graph.from_csr(indptr, indices, num_sources)._core, like, values)
    graph._cache["edge_ids"] = None if edge_ids is None else _as_like(edge_ids, like)
    return graph.to(device)


def _as_like(array, like):
    """A NumPy array in the framework of `like`, on its device."""
    if _frameworks.know(like):
        import torch
        return torch.as_tensor(array, device=like.device)
    if type(like).__module__.startswith("cupy"):
        import cupy
        return cupy.asarray(array)
    return array


def _rows_of(edge_index):
    if _frameworks.know(edge_index) or hasattr(edge_index, "shape"):
        shape = tuple(edge_index.shape)
        if len(shape) != 2 or shape[0] != 2:
            raise ValueError(f"[graph] edge_index must be [2, edges], got {list(shape)}")
        rows = edge_index[0], edge_index[1]
        if _frameworks.know(edge_index):
            return rows[0].contiguous(), rows[1].contiguous()
        return tuple(row if _is_contiguous(row) else row.copy() for row in rows)
    source, target = edge_index
    _frameworks.know(source)
    return source, target


def _is_contiguous(row):
    flags = getattr(row, "flags", None)
    return True if flags is None else bool(getattr(flags, "c_contiguous", True))


def _like_on(device, like=None):
    """An empty array on a device: of PyTorch for CUDA, or if `like` is one of its tensors, else of NumPy."""
    if like is not None and _frameworks.know(like):
        return like.new_empty((0,), device=device)
    if str(device).startswith("cuda"):
        try:
            import torch
        except ImportError:
            try:
                import cupy
            except ImportError:
                raise ImportError(f"arrays on {device} are those of PyTorch or CuPy, and neither is installed: "
                                  "pip install torch, or cupy-cuda13x; rodeo.train() needs neither") from None
            return cupy.empty((0,), dtype="float32")
        like = torch.empty((0,), device=device)
        _frameworks.know(like)
        return like
    return np.empty((0,), dtype="float32")
