"""Aggregations of neighbours under PyG's names, made of the operators."""
import torch

from ._define import calls
from ._layers import _over_nodes, _spmm

NAMES = ("mean", "sum", "add", "max", "min", "var", "std", "softmax")


def names_of(layer, aggr):
    """The names in `aggr`, one or a list of them, checked."""
    names = [aggr] if isinstance(aggr, str) else list(aggr) if isinstance(aggr, (list, tuple)) else []
    if not names or any(not isinstance(name, str) or name not in NAMES for name in names):
        raise ValueError(f"{layer}: aggr must be {', '.join(NAMES)}, or a list of these, got {aggr!r}: use torch_geometric.nn for it")
    return names


def aggregate(handle, x, weight, name):
    """[..., nodes, n] of the messages weight[e] x[source of e]. `std` and `softmax` have PyG's bounds and default temperature."""
    if name == "softmax":
        return _over_nodes(lambda x: _softmax(handle, x, weight), x)
    if name not in ("var", "std"):
        return _spmm(handle, x, weight, "sum" if name == "add" else name)
    mean = _spmm(handle, x, weight, "mean")
    variance = _spmm(handle, x * x, None if weight is None else weight * weight, "mean") - mean * mean
    return variance if name == "var" else _deviation(variance)


def _softmax(handle, x, weight):
    """The softmax of each column alone."""
    messages = calls.of_ends(handle, x, True)
    return _softmax_of_edges(handle, messages if weight is None else messages * weight.unsqueeze(1))


def _softmax_of_edges(handle, messages):
    return calls.edge_sum(handle, calls.edge_softmax(handle, messages).to(messages.dtype) * messages, False)


def _deviation(variance):
    """Where a variance is too small to tell from rounding it is zero, with no gradient."""
    # PyG compares the root with its bound. Equality there does not survive the code that PyTorch fuses for CUDA.
    return variance.clamp(min=1e-5).sqrt().masked_fill(variance <= 1e-5, 0.0)


def aggregate_edges(handle, messages, name, nodes):
    """[nodes, n] of edge values [edges, n]."""
    if name == "softmax":
        return _softmax_of_edges(handle, messages)
    # The product of edge weights, one for each column, with ones is the aggregate of the weights.
    ones = messages.new_ones((nodes, messages.size(1), 1))

    def product(values, reduce):
        return calls.spmm(handle, ones, values, reduce, "auto", False).squeeze(-1)

    if name not in ("var", "std"):
        return product(messages, "sum" if name == "add" else name)
    mean = product(messages, "mean")
    variance = product(messages * messages, "mean") - mean * mean
    return variance if name == "var" else _deviation(variance)
