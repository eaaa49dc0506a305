"""What the layers share: checks of arguments, initialisation, the graph of an edge_index."""
import math

import torch
from torch import nn

from ._graphs import Handle, graph_of, handle_of
from ..graph import Graph


class Layer(nn.Module):
    """What all layers have."""

    @property
    def flow(self) -> str:
        return "source_to_target"

    @flow.setter
    def flow(self, value: str) -> None:
        if value != self.flow:
            raise ValueError(f"{type(self).__name__}: flow must be 'source_to_target', got {value!r}: give edge_index.flip(0), or "
                             "use torch_geometric.nn for it")


def _ends_of(x):
    """(sources, targets) of a layer's x: one tensor, or a pair whose second may be None."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x, x)


def _nodes_of(x):
    if x.dim() < 2:
        raise ValueError(f"[layer] x must be [nodes, features] or [batch, nodes, features], got {list(x.shape)}")
    return x.size(-2)


def _over_nodes(product, x):
    """product(x [nodes, n]) of x [..., nodes, n]: batches are columns of one product."""
    if x.dim() == 2:
        return product(x)
    y = product(x.movedim(-2, 0).flatten(1))
    return y.unflatten(1, (*x.shape[:-2], x.shape[-1])).movedim(0, -2)


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
    """The Handle of an edge_index or a Graph, checked."""
    sources = nodes if sources is None else sources
    is_tracing = torch.jit.is_tracing()
    if isinstance(edge_index, torch.Tensor) and (is_tracing or torch.compiler.is_compiling()):
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"[graph] edge_index must be [2, edges], got {list(edge_index.shape)}")
        return Handle((edge_index, int(nodes), int(sources)) if is_tracing else (edge_index, nodes, sources))
    graph = edge_index if isinstance(edge_index, Graph) else graph_of(edge_index, nodes, sources)
    if graph.num_nodes != nodes or graph.num_sources != sources:
        raise ValueError(f"[graph] the graph has {graph.num_nodes} targets and {graph.num_sources} sources, x is for {nodes} "
                         f"and {sources}")
    return handle_of(graph)
