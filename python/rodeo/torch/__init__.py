"""The operators of rodeo with gradients, and layers (rodeo.torch.nn) that replace those of PyTorch Geometric.

They are custom operators of PyTorch: autograd, torch.compile(fullgraph=True), autocast and torch.cuda.graph work.
Tensors may have any strides. There are no second derivatives. A captured graph must have run once before.
"""
from typing import Optional

import torch as _torch
from torch import Tensor as _Tensor

if not hasattr(_torch.library, "register_autograd"):
    raise ImportError(f"rodeo.torch needs PyTorch 2.4 or later, got {_torch.__version__}")

from ..graph import Graph  # noqa: E402
from ..ops import GcnGraph, refuse_gradient  # noqa: E402
from ._graphs import graph_of  # noqa: E402
from . import _ops  # noqa: E402, F401  (registers the operators)
from ._define import calls as _ops_of  # noqa: E402

__all__ = ["edge_softmax", "edge_sum", "gat_attention", "gcn_propagate", "graph_of", "nn", "permute", "sddmm",
           "segment_reduce", "spmm"]


def spmm(graph: Graph, x: _Tensor, weight: Optional[_Tensor] = None, *, reduce: str = "sum",
         algorithm: str = "auto") -> _Tensor:
    """rodeo.spmm with gradients of x and weight. Those of "max" and "min" go to the first edge with the extremum.

    algorithm is that of the gradient of x, too.
    """
    return _ops_of.spmm(graph._id, x, weight, reduce, algorithm)


def sddmm(graph: Graph, b1: _Tensor, b2: _Tensor, *, op: str = "dot", weight: Optional[_Tensor] = None) -> _Tensor:
    """rodeo.sddmm with gradients of b1, b2 and weight."""
    s = _ops_of.sddmm(graph._id, b1, b2, op)
    if weight is None:
        return s
    if weight.shape != (graph.num_edges,) or weight.device != s.device:
        raise ValueError(f"[sddmm] weight must be [{graph.num_edges}] on {s.device}, got {list(weight.shape)} on {weight.device}")
    return s * weight.view(-1, *[1] * (s.dim() - 1))


def edge_softmax(graph: Graph, score: _Tensor) -> _Tensor:
    """rodeo.edge_softmax with a gradient."""
    return _ops_of.edge_softmax(graph._id, score)


def edge_sum(graph: Graph, x: _Tensor) -> _Tensor:
    """rodeo.edge_sum with a gradient."""
    return _ops_of.edge_sum(graph._id, x)


def permute(graph: Graph, values: _Tensor, missing: float = 1.0) -> _Tensor:
    """Graph.permute as an operator: values [edges, ...] in the order of edge_index, in the order of the graph."""
    return _ops_of.permute(graph._id, values, float(missing))


def gat_attention(graph: Graph, s: _Tensor, t: _Tensor, x: _Tensor, *, negative_slope: float = 0.2, dropout: float = 0.0,
                  seed: Optional[_Tensor] = None) -> _Tensor:
    """rodeo.gat_attention with gradients of s, t and x.

    seed: int64 [1] on the device of x; default with dropout: drawn from PyTorch's generator of that device.
    """
    return _attention(graph._id, s, t, x, negative_slope, dropout, seed)


def _draw_seed(dropout, x):
    return _torch.randint(0, 2**31 - 1, (1,), device=x.device) if dropout > 0 else None


def _self_attention(number, x, a_dst, a_src, negative_slope, dropout):
    """The attention of a GAT layer on a graph whose sources are its targets."""
    return _ops_of.gat_self_attention(number, x, a_dst, a_src, float(negative_slope), float(dropout),
                                      _draw_seed(dropout, x))[0]


def _attention(number, s, t, x, negative_slope, dropout, seed=None):
    if seed is None:
        seed = _draw_seed(dropout, x)
    if not (_torch.is_grad_enabled() and (s.requires_grad or t.requires_grad or x.requires_grad)):
        return _ops_of.gat_attention_only(number, s, t, x, float(negative_slope), float(dropout), seed)
    return _ops_of.gat_attention(number, s, t, x, float(negative_slope), float(dropout), seed)[0]


def gcn_propagate(normalized: GcnGraph, x: _Tensor) -> _Tensor:
    """rodeo.gcn_propagate with a gradient of x: weights and scale are constants."""
    refuse_gradient("gcn_propagate", normalized.weight, normalized.scale)
    return _ops_of.gcn_propagate(normalized.graph._id, normalized.scale, x, normalized.weight, False)


def segment_reduce(x: _Tensor, offsets: _Tensor, reduce: str = "sum") -> _Tensor:
    """rodeo.segment_sum, segment_mean, segment_max or segment_min, with a gradient of x."""
    return _ops_of.segment_reduce(x, offsets, reduce)


from . import nn  # noqa: E402
