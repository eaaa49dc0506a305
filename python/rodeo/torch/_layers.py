"""What the layers share: checks of arguments, initialisation, the graph of an edge_index."""
import math

import torch
from torch import nn

from ._graphs import EdgeIndex, graph_of
from ..graph import Graph


def _check_rest(layer, rest, **allowed):
    """Refuses arguments of PyG that would change the result."""
    allowed = {"flow": "source_to_target", "node_dim": (0, -2, -3), "decomposed_layers": 1, "aggr": ("add", "sum"), **allowed}
    for name, value in rest.items():
        if name not in allowed:
            raise TypeError(f"{layer} has no argument {name}")
        choices = allowed[name] if isinstance(allowed[name], tuple) else (allowed[name],)
        if value not in choices:
            raise ValueError(f"{layer}: {name} must be {' or '.join(repr(c) for c in choices)}, got {value!r}: "
                             "use torch_geometric.nn for it")


def _check_width(layer, width):
    if not isinstance(width, int) or width < 1:
        raise ValueError(f"{layer}: in_channels must be a positive number, got {width!r}: lazy widths (-1) are those of "
                         "torch_geometric.nn")


def _linear(inputs, outputs, bias):
    layer = nn.Linear(inputs, outputs, bias=bias)
    return layer


def _glorot(weight):
    limit = math.sqrt(6.0 / (weight.size(-2) + weight.size(-1)))
    with torch.no_grad():
        weight.uniform_(-limit, limit)


def _reset_glorot(linear, zero_bias=True):
    _glorot(linear.weight)
    if linear.bias is not None and zero_bias:
        nn.init.zeros_(linear.bias)


def _graph_for(edge_index, nodes, sources=None):
    if torch.compiler.is_compiling() and isinstance(edge_index, torch.Tensor):
        sources = nodes if sources is None else sources
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"[graph] edge_index must be [2, edges], got {list(edge_index.shape)}")
        return EdgeIndex(edge_index, nodes, sources)
    graph = edge_index if isinstance(edge_index, Graph) else graph_of(edge_index, nodes, sources)
    if graph.num_nodes != nodes or graph.num_sources != (nodes if sources is None else sources):
        raise ValueError(f"[graph] the graph has {graph.num_nodes} targets and {graph.num_sources} sources, x is for {nodes} "
                         f"and {nodes if sources is None else sources}")
    return graph
