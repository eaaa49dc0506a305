"""Graphs behind the handles that operators take, and behind edge_index tensors."""
import collections
import threading
import weakref
from typing import Any, NamedTuple, Optional

import torch

from . import _private
from ..graph import Graph, living
from ..ops import gcn_norm

_MAX_KEPT = 32
_kept = collections.OrderedDict()  # key -> (weak references to storages, Graph, copies of tensors without a version)
_lock = threading.Lock()


class Handle(NamedTuple):
    """How an operator is told its graph: op(*key, loops, ...), since operators of PyTorch take no Python objects.

    key    (Graph._id,); or in compiled and traced code (edge_index, nodes, sources), of the operator "..._on_edges"
    loops  means with_one_loop(graph): compiled code cannot make that graph itself
    plain  the Graph without the loops, which must live while operators run; None where only the key is known
    """

    key: tuple
    loops: bool = False
    plain: Optional[Graph] = None

    def graph(self):
        plain = self.plain
        if plain is None:
            plain = cached_graph(*self.key) if self.on_edges() else graph_of_id(self.key[0])
        return with_one_loop(plain) if self.loops else plain

    def with_loops(self):
        return Handle(self.key, True, self.plain)

    def on_edges(self):
        return len(self.key) > 1


def handle_of(graph):
    return Handle((graph._id,), False, graph)


def graph_of_handle(graph):
    """The Graph of what operators are told: of a Handle, or a Graph itself."""
    return graph if isinstance(graph, Graph) else graph.graph()


def graph_of(edge_index: Any, num_nodes: int, num_sources: Optional[int] = None) -> Graph:
    """The Graph of an edge_index tensor. Kept while the tensor lives and is not changed in place, for the last 32.

    Sparse matrices, whose entry [i, j] is an edge j -> i, have a graph, too: tensors of torch.sparse and torch_sparse.SparseTensor.
    PyTorch counts in-place changes. It does not see those through NumPy or .data: make another tensor for them.
    """
    return _private.outside_compiler(_graph_of)(edge_index, num_nodes, num_sources)


_private.not_compiled(graph_of)


def _graph_of(edge_index, num_nodes, num_sources):
    if isinstance(edge_index, Graph):
        return edge_index
    if is_sparse(edge_index):
        return of_sparse(edge_index)[0]
    if not isinstance(edge_index, torch.Tensor) or edge_index.layout != torch.strided:
        raise ValueError("[graph] edge_index must be a dense tensor [2, edges], a sparse matrix [targets, sources] or a rodeo.Graph: "
                         "make one by rodeo.Graph.from_edge_index or rodeo.Graph.from_csr")
    return cached_graph(edge_index, num_nodes, num_sources)


def cached_graph(edge_index, num_nodes, num_sources):
    """graph_of for a dense tensor."""
    edge_index = _private.without_transforms(edge_index)
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"[graph] edge_index must be [2, edges], got {list(edge_index.shape)}")
    if num_sources == num_nodes:
        num_sources = None
    return _cached((edge_index,), (num_nodes, num_sources),
                   lambda: Graph.from_edge_index(edge_index, num_nodes, num_sources=num_sources))


def is_sparse(matrix):
    if isinstance(matrix, torch.Tensor):  # first: PyTorch 2.4 does not compile hasattr of a tensor
        return matrix.layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
    return hasattr(matrix, "sparse_sizes") and hasattr(matrix, "csr")


def of_sparse(matrix):
    """(Graph, its values in the order that Graph.permute takes) of a sparse matrix. SparseTensor may have None for values."""
    if not isinstance(matrix, torch.Tensor):
        indptr, indices, values = matrix.csr()
        rows, cols = matrix.sparse_sizes()
        return _cached((indptr, indices), (rows, cols), lambda: Graph.from_csr(indptr, indices, cols)), values
    if matrix.dim() != 2 or (matrix.layout == torch.sparse_coo and matrix.sparse_dim() != 2):
        raise ValueError(f"[graph] a sparse adjacency must be [targets, sources] with scalar values, got {list(matrix.shape)}")
    rows, cols = matrix.shape
    if matrix.layout == torch.sparse_csr:
        indptr, indices = matrix.crow_indices(), matrix.col_indices()
        return _cached((indptr, indices), (rows, cols), lambda: Graph.from_csr(indptr, indices, cols)), matrix.values()
    if matrix.layout == torch.sparse_csc:
        indptr, indices = matrix.ccol_indices(), matrix.row_indices()

        def make():
            sources = torch.arange(cols, device=indices.device).repeat_interleave(indptr.diff())
            return Graph.from_edge_index((sources, indices.long()), rows, num_sources=cols)

        return _cached((indptr, indices), (rows, cols, "csc"), make), matrix.values()
    matrix = matrix.coalesce()
    ends = matrix.indices()
    return _cached((ends,), (rows, cols, "coo"), lambda: Graph.from_edge_index((ends[1], ends[0]), rows, num_sources=cols)), matrix.values()


def _cached(tensors, sizes, make):
    """make(), a Graph, kept while the tensors live and are not changed."""
    counted = not any(t.is_inference() for t in tensors)
    key = sizes, *((t.data_ptr(), t.shape, t.stride(), t.dtype, t.device, t._version if counted else None) for t in tensors)
    with _lock:
        references, graph, copies = _kept.get(key, ((), None, ()))
        if graph is not None:
            _kept.move_to_end(key)
    if graph is not None and _alive(references) and (counted or _are_unchanged(tensors, copies)):
        return graph
    graph = _private.outside_transforms(make)()
    with _lock:
        # The object of a storage lives as long as its memory.
        _kept[key] = [weakref.ref(t.untyped_storage()) for t in tensors], graph, () if counted else [t.clone() for t in tensors]
        for old in [k for k, (references, *_) in _kept.items() if not _alive(references)]:
            del _kept[old]
        while len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
    return graph


def _alive(references):
    return all(reference() is not None for reference in references)


def _are_unchanged(tensors, copies):
    """Tensors of inference mode have no version: their values are compared, but not while a CUDA graph is captured."""
    if tensors[0].is_cuda and torch.cuda.is_current_stream_capturing():
        return True
    return all(torch.equal(t, copy) for t, copy in zip(tensors, copies))


@_private.outside_transforms
def with_one_loop(graph):
    """The graph with exactly one edge i -> i for each i that is a source and a target, as PyG adds self loops. Cached on the graph.

    edge_ids: the position of each edge in `graph`, of the last one of several self loops; -1 for an added one.
    """
    if "one_loop" not in graph._cache:
        graph._cache["one_loop"] = _make_one_loop(graph)
    return graph._cache["one_loop"]


def num_looped_edges(graph):
    """with_one_loop(graph).num_edges. It makes no tensors: fake implementations, where these would be fake, use it."""
    if "looped_edges" not in graph._cache:
        loops = graph._core.count_self_loops(graph._like)
        graph._cache["looped_edges"] = graph.num_edges - loops + min(graph.num_nodes, graph.num_sources)
    return graph._cache["looped_edges"]


def _make_one_loop(graph):
    sources, targets = graph.edge_index()
    loops = (sources == targets).nonzero().squeeze(1)
    number = min(graph.num_nodes, graph.num_sources)
    if graph.num_nodes == graph.num_sources and (loops.numel() == 0 or loops.numel() == torch.unique(sources[loops]).numel()):
        return graph.with_self_loops()
    kept = (sources != targets).nonzero().squeeze(1)
    node = torch.arange(number, device=sources.device, dtype=sources.dtype)
    looped = Graph.from_edge_index((torch.cat([sources[kept], node]), torch.cat([targets[kept], node])), graph.num_nodes,
                                   num_sources=graph.num_sources)
    last = torch.full((number,), -1, device=sources.device, dtype=torch.int64)
    last.scatter_reduce_(0, sources[loops].long(), loops, "amax")
    looped._values = graph.num_edges
    looped._cache["edge_ids"] = torch.cat([kept, last])[looped.edge_ids]
    return looped


def graph_of_id(number):
    """The living graph with this Graph._id."""
    graph = living(number)
    if graph is None:
        raise ValueError(f"[graph] graph {number} no longer exists: keep the rodeo.Graph while its operators run")
    return graph


@_private.outside_transforms
def edge_ends(graph):
    """(sources, targets) of the edges in the graph's order: int64, cached."""
    if "ends" not in graph._cache:
        graph._cache["ends"] = tuple(end.long() for end in graph.edge_index())
    return graph._cache["ends"]


def normalized(graph, dtype):
    """gcn_norm, with one self loop a node, of a graph without edge weights. 16-bit values have scales in f32."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    key = ("gcn", wide)
    if key not in graph._cache:
        looped = with_one_loop(graph)
        graph._cache[key] = gcn_norm(looped, dtype=str(wide).removeprefix("torch."))
    return graph._cache[key]


def inverse_counts(graph, dtype):
    """[nodes, 1]: 1 / the number of edges of each target, 1 where there is none."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    key = ("counts", wide)
    if key not in graph._cache:
        indptr = graph.indptr
        graph._cache[key] = (1 / (indptr[1:] - indptr[:-1]).clamp(min=1).to(wide)).unsqueeze(1)
    return graph._cache[key]
