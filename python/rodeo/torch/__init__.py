"""The operators of rodeo with gradients, and layers (rodeo.torch.nn) that replace those of PyTorch Geometric.

They are custom operators of PyTorch: autograd to any order, forward mode, torch.func, torch.compile(fullgraph=True),
torch.jit.trace, autocast and torch.cuda.graph work. Tensors may have any strides. A captured graph must have run once before.

All tensors of a call have one floating dtype (f64, f32, bf16 or f16; 16-bit types are accumulated in f32) and are on the
device of the graph. ValueError names the tensor whose shape, dtype or device is wrong. Same inputs, same bits.
"""
import torch as _torch

if not hasattr(_torch.library, "register_autograd"):
    raise ImportError(f"rodeo.torch needs PyTorch 2.4 or later, got {_torch.__version__}")

from . import nn  # noqa: E402
from ._functions import (dot_attention, edge_softmax, edge_sum, gat_attention, gatv2_attention, gcn_propagate,  # noqa: E402
                         permute, sddmm, segment_reduce, spmm)
from ._graphs import graph_of  # noqa: E402

__all__ = ["dot_attention", "edge_softmax", "edge_sum", "gat_attention", "gatv2_attention", "gcn_propagate", "graph_of", "nn",
           "permute", "sddmm", "segment_reduce", "spmm"]
