"""Operators on arrays of PyTorch, NumPy, CuPy and everything else with DLPack.

They compute; for tensors that require gradients they call the function of the same name in rodeo.torch, which
records. `out` is an array of the result's shape, dtype and device that the result is written to. It shares no memory
with the operands, and cannot be recorded. f64, f32, bf16 and f16; 16-bit types are accumulated in f32. Same inputs, same bits.
"""
from typing import Any, NamedTuple, Optional

from . import _core, _frameworks
from .graph import Graph

Array = Any  # an array of PyTorch, NumPy, CuPy, JAX or another framework with DLPack


def _recorded(name, out, *arrays):
    """The function of rodeo.torch, if PyTorch would record this call, or watch it in another way."""
    if not _frameworks.is_seen(*arrays, out):
        return None
    if out is not None:
        raise ValueError(f"[{name}] out cannot be recorded for gradients: use torch.no_grad(), or call without out")
    from . import torch as recorded
    return getattr(recorded, name)


def _recorded_attention(name, dropout, seed, out, *arrays):
    recorded = _recorded(name, out, *arrays)
    if recorded and dropout > 0 and seed is None:  # as without gradients, where the C++ function checks it
        raise ValueError(f"[{name}] with dropout, seed must be an int64 array of one element on the device of "
                         "the operands")
    return recorded


def refuse_gradient(name, *arrays):
    """For arrays that are constants in every path: their gradients would be lost without a word."""
    if _frameworks.wants_gradient(*arrays):
        raise ValueError(f"[{name}] weight and scale are constants, but they require gradients: give weight.detach(), or use "
                         "rodeo.torch.nn.GCNConv, which records the normalization")


def _written(result, out):
    if out is not None:
        _frameworks.note_written(out)
    return result


def spmm(graph: Graph, x: Array, weight: Optional[Array] = None, *, reduce: str = "sum", algorithm: str = "auto",
         out: Optional[Array] = None) -> Array:
    """y[i] = sum, mean, max or min of weight[e] x[j] over the edges e: j -> i. Rows without edges are zero.

    x         [sources, n], or with several heads [sources, heads, n]
    weight    [edges], or [edges, heads], in the graph's edge order; default: ones
    reduce    "sum", "mean" (divides by the number of edges), "max" or "min"
    algorithm "auto", or one that docs/choosing_spmm.md names; for sum and mean, and for the gradient of x
    returns   [nodes, n], or [nodes, heads, n]
    """
    recorded = _recorded("spmm", out, x, weight)
    if recorded:
        return recorded(graph, x, weight, reduce=reduce, algorithm=algorithm)
    return _written(_core.spmm(graph._core, x, weight, reduce, algorithm, out), out)


def sddmm(graph: Graph, b1: Array, b2: Array, *, op: str = "dot", weight: Optional[Array] = None,
          out: Optional[Array] = None) -> Array:
    """s[e] = weight[e] op(b1[i], b2[j]) for each edge e: j -> i.

    b1      [nodes, k] or [nodes, heads, k];  b2  [sources, k] or [sources, heads, k]
    op      "dot" gives [edges] or [edges, heads]; "add" and "mul" give [edges, k] or [edges, heads, k]
    weight  [edges]; default: ones
    """
    recorded = _recorded("sddmm", out, b1, b2, weight)
    if recorded:
        return recorded(graph, b1, b2, op=op, weight=weight)
    return _written(_core.sddmm(graph._core, b1, b2, op, weight, out), out)


def edge_softmax(graph: Graph, score: Array, *, out: Optional[Array] = None) -> Array:
    """Softmax over the edges of each target.   score [edges] or [edges, heads] -> the same shape."""
    recorded = _recorded("edge_softmax", out, score)
    return recorded(graph, score) if recorded else _written(_core.edge_softmax(graph._core, score, out), out)


def edge_sum(graph: Graph, x: Array, *, out: Optional[Array] = None) -> Array:
    """y[i] = sum of x[e] over the edges e of target i.   x [edges] or [edges, k] -> [nodes] or [nodes, k]."""
    recorded = _recorded("edge_sum", out, x)
    return recorded(graph, x) if recorded else _written(_core.edge_sum(graph._core, x, False, out), out)


def gat_attention(graph: Graph, s: Array, t: Array, x: Array, *, negative_slope: float = 0.2, dropout: float = 0.0,
                  seed: Optional[Array] = None, out: Optional[Array] = None) -> Array:
    """The attention of GAT in one pass over the edges:

        y[i, h] = sum of a[e, h] x[j, h],  a = dropout(softmax of LeakyReLU(s[i, h] + t[j, h]) over the edges of i)

    s        [nodes, heads];  t  [sources, heads];  x  [sources, heads, k]  ->  [nodes, heads, k]
    dropout  of attention weights, in [0, 1). Its mask is a function of seed: an int64 array of one element on the
             device of x, read when the kernel runs; required with dropout. rodeo.torch.gat_attention draws one
    """
    recorded = _recorded_attention("gat_attention", dropout, seed, out, s, t, x)
    if recorded:
        return recorded(graph, s, t, x, negative_slope=negative_slope, dropout=dropout, seed=seed)
    return _written(_core.gat_attention(graph._core, s, t, x, negative_slope, dropout, seed, out), out)


def dot_attention(graph: Graph, q: Array, key: Array, v: Array, *, bias: Optional[Array] = None, edge: Optional[Array] = None,
                  scale: Optional[float] = None, dropout: float = 0.0, seed: Optional[Array] = None) -> Array:
    """Scaled dot-product attention along the edges, in one pass over them:

        y[i, h] = sum of a[e, h] (v[j, h] + edge[e, h]),
        a = dropout(softmax of scale <q[i, h], key[j, h] + edge[e, h]> + bias[e, h] over the edges of i)

    q      [nodes, heads, k];  key  [sources, heads, k];  v  [sources, heads, m]  ->  [nodes, heads, m]
    bias   [edges, heads];  edge  [edges, heads, k], where m == k, in the graph's edge order
    scale  default: 1 / sqrt(k);  dropout, seed  as in gat_attention
    """
    recorded = _recorded_attention("dot_attention", dropout, seed, None, q, key, v, bias, edge)
    if recorded:
        return recorded(graph, q, key, v, bias=bias, edge=edge, scale=scale, dropout=dropout, seed=seed)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return _core.dot_attention_saved(graph._core, q, key, v, bias, edge, scale, dropout, seed)[0]


def gatv2_attention(graph: Graph, l: Array, r: Array, a: Array, *, edge: Optional[Array] = None,  # noqa: E741
                    negative_slope: float = 0.2, dropout: float = 0.0, seed: Optional[Array] = None) -> Array:
    """The attention of GATv2 in one pass over the edges:

        y[i, h] = sum of w[e, h] r[j, h],
        w = dropout(softmax of <a[h], LeakyReLU(l[i, h] + r[j, h] + edge[e, h])> over the edges of i)

    l     [nodes, heads, k];  r  [sources, heads, k];  a  [heads, k]  ->  [nodes, heads, k]
    edge  [edges, heads, k] in the graph's edge order;  dropout, seed  as in gat_attention
    """
    recorded = _recorded_attention("gatv2_attention", dropout, seed, None, l, r, a, edge)
    if recorded:
        return recorded(graph, l, r, a, edge=edge, negative_slope=negative_slope, dropout=dropout, seed=seed)
    return _core.gatv2_attention_saved(graph._core, l, r, a, edge, negative_slope, dropout, seed)[0]


class GcnGraph(NamedTuple):
    """D^-1/2 (A + I) D^-1/2 as a graph with self loops, its edge weights and the scale D^-1/2 of each row."""

    graph: Graph
    weight: Any  # [edges] in the order of graph, before scaling; None without edge weights
    scale: Any   # [nodes]


def gcn_norm(graph: Graph, weight: Optional[Array] = None, *, dtype: str = "float32") -> GcnGraph:
    """The normalisation of graph convolution (Kipf & Welling, ICLR 2017), as a GcnGraph for gcn_propagate.

    weight  [edges] in the graph's edge order; added self loops have weight 1
    dtype   of scale without weight
    A node that has a self loop gets no second one. No gradients: a weight that requires them is a ValueError.
    """
    refuse_gradient("gcn_norm", weight)
    like = graph._like if weight is None else weight
    _frameworks.know(like)
    core, looped_weight, scale = _core.gcn_norm(graph._core, like, weight, dtype)
    return GcnGraph(Graph(core, graph._like), looped_weight, scale)


def gcn_propagate(normalized: GcnGraph, x: Array, *, out: Optional[Array] = None) -> Array:
    """D^-1/2 (A + I) D^-1/2 x for the result of gcn_norm.   x [nodes, n] -> [nodes, n]."""
    refuse_gradient("gcn_propagate", normalized.weight, normalized.scale)
    recorded = _recorded("gcn_propagate", out, x)
    if recorded:
        return recorded(normalized, x)
    return _written(_core.gcn_propagate(normalized.graph._core, normalized.scale, x, normalized.weight, out), out)


def segment_sum(x: Array, offsets: Array, *, out: Optional[Array] = None) -> Array:
    """y[s] = sum of the rows x[offsets[s]] ... x[offsets[s + 1] - 1].

    x        [rows] or [rows, n];  offsets  int64 or int32 [segments + 1], non-decreasing from 0 to rows
    returns  [segments] or [segments, n]; 0 for an empty segment. Checks offsets, for which it waits for the device.
    """
    return _segment("sum", x, offsets, out)


def segment_mean(x: Array, offsets: Array, *, out: Optional[Array] = None) -> Array:
    """The mean of the rows of each segment, with the arguments of segment_sum."""
    return _segment("mean", x, offsets, out)


def segment_max(x: Array, offsets: Array, *, out: Optional[Array] = None) -> Array:
    """The maximum of each column of a segment, with the arguments of segment_sum; NaN where a row is."""
    return _segment("max", x, offsets, out)


def segment_min(x: Array, offsets: Array, *, out: Optional[Array] = None) -> Array:
    """The minimum of each column of a segment, with the arguments of segment_sum; NaN where a row is."""
    return _segment("min", x, offsets, out)


def _segment(reduce, x, offsets, out):
    recorded = _recorded("segment_reduce", out, x)
    _frameworks.know(offsets)
    return recorded(x, offsets, reduce) if recorded else _written(_core.segment_reduce(x, offsets, reduce, out), out)
