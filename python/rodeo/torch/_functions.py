"""The operators as functions with defaults: what rodeo.torch exports, and the attention of layers."""
from typing import Optional

import torch
from torch import Tensor

from . import _attention_ops, _fused_attention, _ops  # noqa: F401  (register the operators)
from ._define import calls
from ..graph import Graph
from ..ops import GcnGraph, refuse_gradient


def spmm(graph: Graph, x: Tensor, weight: Optional[Tensor] = None, *, reduce: str = "sum",
         algorithm: str = "auto") -> Tensor:
    """y[i] = sum, mean, max or min of weight[e] x[j] over the edges e: j -> i. Gradients of x and weight.

    x         [sources, n], or with several heads [sources, heads, n]
    weight    [edges], or [edges, heads], in the graph's edge order; default: ones
    reduce    "sum", "mean", "max" or "min"; gradients of "max" and "min" go to the first edge with the extremum
    algorithm of the product and of the gradient of x: "auto", or one that docs/choosing_spmm.md names; for sum and mean
    returns   [nodes, n], or [nodes, heads, n]; rows without edges are zero

    ValueError, too, for unknown names and for an algorithm that the device or dtype does not have.
    """
    return calls.spmm(graph, x, weight, reduce, algorithm, False)


def sddmm(graph: Graph, b1: Tensor, b2: Tensor, *, op: str = "dot", weight: Optional[Tensor] = None) -> Tensor:
    """s[e] = weight[e] op(b1[i], b2[j]) for each edge e: j -> i. Gradients of b1, b2 and weight.

    b1      [nodes, k] or [nodes, heads, k];  b2  [sources, k] or [sources, heads, k]
    op      "dot" gives [edges] or [edges, heads]; "add" and "mul" give [edges, k] or [edges, heads, k]
    weight  [edges], of any floating dtype; default: ones. It is a ValueError in any other shape
    """
    s = calls.sddmm(graph, b1, b2, op)
    if weight is None:
        return s
    if weight.shape != (graph.num_edges,) or weight.device != s.device:
        raise ValueError(f"[sddmm] weight must be [{graph.num_edges}] on {s.device}, got {list(weight.shape)} on {weight.device}")
    return s * weight.view(-1, *[1] * (s.dim() - 1))


def edge_softmax(graph: Graph, score: Tensor) -> Tensor:
    """Softmax over the edges of each target, with a gradient.   score [edges] or [edges, heads] -> the same shape.

    Autocast runs it in f32.
    """
    return calls.edge_softmax(graph, score)


def edge_sum(graph: Graph, x: Tensor) -> Tensor:
    """y[i] = sum of x[e] over the edges e of target i, with a gradient.   x [edges] or [edges, k] -> [nodes] or [nodes, k]."""
    return calls.edge_sum(graph, x, False)


def permute(graph: Graph, values: Tensor, missing: float = 1.0) -> Tensor:
    """Graph.permute as an operator with a gradient, for values of any dtype.

    values   [original edges, ...], in the order of the edge_index that the graph was made from
    missing  the value of added self loops
    returns  [edges, ...] in the order of the graph
    """
    return calls.permute(graph, values, float(missing))


def gat_attention(graph: Graph, s: Tensor, t: Tensor, x: Tensor, *, negative_slope: float = 0.2, dropout: float = 0.0,
                  seed: Optional[Tensor] = None) -> Tensor:
    """The attention of GAT in one pass over the edges, with gradients of s, t and x:

        y[i, h] = sum of a[e, h] x[j, h],  a = dropout(softmax of LeakyReLU(s[i, h] + t[j, h]) over the edges of i)

    s        [nodes, heads];  t  [sources, heads];  x  [sources, heads, k]  ->  [nodes, heads, k]
    dropout  of attention weights, in [0, 1)
    seed     int64 [1] on the device of x, of which the mask is a function; default with dropout: drawn from PyTorch's
             generator of that device, anew in each replay of a torch.cuda.graph
    """
    return attention(graph, s, t, x, negative_slope, dropout, seed)


def _draw_seed(dropout, x):
    return torch.randint(0, 2**31 - 1, (1,), device=x.device) if dropout > 0 else None


def self_attention(handle, x, a_dst, a_src, negative_slope, dropout):
    """The attention of a GAT layer on a graph whose sources are its targets."""
    return calls.gat_self_attention(handle, x, a_dst, a_src, float(negative_slope), float(dropout),
                                    _draw_seed(dropout, x))[0]


def attention(handle, s, t, x, negative_slope, dropout, seed=None):
    if seed is None:
        seed = _draw_seed(dropout, x)
    recorded = torch.is_grad_enabled() and (s.requires_grad or t.requires_grad or x.requires_grad)
    if not (recorded or torch.jit.is_tracing()):  # a trace is for either
        return calls.gat_attention_only(handle, s, t, x, float(negative_slope), float(dropout), seed)
    return calls.gat_attention(handle, s, t, x, float(negative_slope), float(dropout), seed)[0]


def dot_attention(graph: Graph, q: Tensor, key: Tensor, v: Tensor, *, bias: Optional[Tensor] = None, edge: Optional[Tensor] = None,
                  scale: Optional[float] = None, dropout: float = 0.0, seed: Optional[Tensor] = None) -> Tensor:
    """Scaled dot-product attention along edges in one pass, with gradients of all operands:

        y[i, h] = sum of a[e, h] (v[j, h] + edge[e, h]),
        a = dropout(softmax of scale <q[i, h], key[j, h] + edge[e, h]> + bias[e, h] over the edges of i)

    q     [nodes, heads, k];  key  [sources, heads, k];  v  [sources, heads, m]  ->  [nodes, heads, m]
    bias  [edges, heads], edge [edges, heads, k] (with m == k), in the graph's edge order;  scale  default: 1 / sqrt(k)
    dropout, seed   as in gat_attention

    On CUDA, heads of more than 256 elements keep arrays of edge size.
    """
    return dot(graph, q, key, v, bias, edge, scale, dropout, seed)


def gatv2_attention(graph: Graph, l: Tensor, r: Tensor, a: Tensor, *, edge: Optional[Tensor] = None,  # noqa: E741
                    negative_slope: float = 0.2, dropout: float = 0.0, seed: Optional[Tensor] = None) -> Tensor:
    """The attention of GATv2 in one pass over the edges, with gradients of all operands:

        y[i, h] = sum of w[e, h] r[j, h],
        w = dropout(softmax of <a[h], LeakyReLU(l[i, h] + r[j, h] + edge[e, h])> over the edges of i)

    l     [nodes, heads, k];  r  [sources, heads, k];  a  [heads, k]  ->  [nodes, heads, k]
    edge  [edges, heads, k] in the graph's edge order
    dropout, seed   as in gat_attention

    On CUDA, heads of more than 256 elements keep arrays of edge size.
    """
    return gatv2(graph, l, r, a, edge, negative_slope, dropout, seed)


def dot(handle, q, key, v, bias, edge, scale, dropout, seed=None):
    scale = q.shape[-1] ** -0.5 if scale is None else float(scale)
    if seed is None:
        seed = _draw_seed(dropout, q)
    fused = _fused_attention.covers(q, max(q.shape[-1], v.shape[-1]))
    operator = calls.dot_attention if fused else _fused_attention.dot_composed
    return operator(handle, q, key, v, bias, edge, scale, float(dropout), seed)[0]


def gatv2(handle, l, r, a, edge, negative_slope, dropout, seed=None):  # noqa: E741
    if seed is None:
        seed = _draw_seed(dropout, l)
    operator = calls.gatv2_attention if _fused_attention.covers(l, l.shape[-1]) else _fused_attention.gatv2_composed
    return operator(handle, l, r, a, edge, float(negative_slope), float(dropout), seed)[0]


def gcn_propagate(normalized: GcnGraph, x: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 x for the result of rodeo.gcn_norm, with a gradient of x.   x [nodes, n] -> [nodes, n].

    Weights and scale are constants: a ValueError where they require gradients. scale is f32 for 16-bit x.
    """
    refuse_gradient("gcn_propagate", normalized.weight, normalized.scale)
    return calls.gcn_propagate(normalized.graph, normalized.scale, x, normalized.weight, False)


def segment_reduce(x: Tensor, offsets: Tensor, reduce: str = "sum") -> Tensor:
    """y[s] = "sum", "mean", "max" or "min" of the rows x[offsets[s]] ... x[offsets[s + 1] - 1], with a gradient of x.

    x        [rows] or [rows, n];  offsets  int64 or int32 [segments + 1], non-decreasing from 0 to rows
    returns  [segments] or [segments, n]; 0 for an empty segment. Checks offsets, for which it waits for the device:
             other offsets are a ValueError
    """
    return calls.segment_reduce(x, offsets, reduce)
