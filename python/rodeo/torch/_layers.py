"""What the layers share: checks of arguments, initialisation, the graph of an edge_index, and what tools of PyG ask them."""
import functools
import math
import sys
from typing import Any, List, Optional, Protocol, Tuple, Union

import torch
from torch import Tensor, nn

from ._define import calls
from ._graphs import Handle, edge_ends, graph_of, handle_of, is_sparse, of_sparse
from ..graph import Graph


class SparseTensor(Protocol):
    """What is asked of a torch_sparse.SparseTensor."""

    def csr(self) -> Any: ...
    def sparse_sizes(self) -> Any: ...


EdgeIndex = Union[Tensor, Graph, SparseTensor]
Features = Union[Tensor, Tuple[Tensor, Optional[Tensor]], List[Tensor]]


@functools.lru_cache(maxsize=None)
def _seen_as(layer, base):
    return type(layer.__name__, (layer, base), {"__module__": layer.__module__})


def _new(layer):
    return layer.__new__(layer)


class Layer(nn.Module):
    """What all layers have.

    isinstance(layer, MessagePassing) is true, so that PyG's to_hetero, explainers and others find layers. They have no messages
    that a hook could see; an explainer's edge mask scales the messages as edge weights.
    """

    shown = "in_channels", "out_channels"  # what repr shows, as PyG's does: values, and with "=" names, too
    explain = None  # PyG's explainers set these; the mask may become a parameter
    _loop_mask, _apply_sigmoid = None, True

    def __init__(self) -> None:
        super().__init__()
        self._edge_mask = None

    @property  # type: ignore[misc]
    def __class__(self):  # what isinstance asks after type(): PyG is not imported for it
        base = getattr(sys.modules.get("torch_geometric.nn"), "MessagePassing", None)
        return type(self) if base is None or issubclass(type(self), base) else _seen_as(type(self), base)

    @__class__.setter
    def __class__(self, value):
        object.__dict__["__class__"].__set__(self, value)

    def __reduce_ex__(self, protocol):  # pickle compares type() with __class__
        return _new, (type(self),), self.__dict__.copy()

    def _masked(self, handle, weight):
        """Edge weights [edges], or None for ones, times an explainer's mask. Added self loops, and those that they replace, have 1."""
        if self.explain is not True:
            return weight
        if self._edge_mask is None:
            raise NotImplementedError(f"{type(self).__name__} of rodeo.torch.nn has no messages that an explainer without an edge mask "
                                      "could replace: use GNNExplainer or PGExplainer, or layers of torch_geometric.nn")
        mask = self._edge_mask.sigmoid() if self._apply_sigmoid else self._edge_mask
        if handle.loops:
            mask = calls.permute(handle._replace(loops=False), mask.masked_fill(~self._loop_mask, 1.0), 1.0)
        mask = calls.permute(handle, mask, 1.0)
        return mask if weight is None else weight * mask.view(-1, *[1] * (weight.dim() - 1))

    def __repr__(self) -> str:
        texts = ((f"{name}" if name.endswith("=") else "") + f"{getattr(self, name.rstrip('='))}" for name in self.shown)
        return f"{type(self).__name__}({', '.join(texts)})"

    @property
    def flow(self) -> str:
        return "source_to_target"

    @flow.setter
    def flow(self, value: str) -> None:
        if value != self.flow:
            raise ValueError(f"{type(self).__name__}: flow must be 'source_to_target', got {value!r}: give edge_index.flip(0), or "
                             "use torch_geometric.nn for it")


def _refuses(name):
    def refuse(self, *_, **__):
        raise NotImplementedError(f"{type(self).__name__} of rodeo.torch.nn has no {name}: it computes without messages that could be "
                                  "hooked or replaced. Use torch_geometric.nn for it")

    return refuse


for _name in ("message", "propagate", "aggregate", "edge_updater", "message_and_aggregate",
              *(f"register_{part}_forward{pre}_hook" for pre in ("", "_pre")
                for part in ("message", "propagate", "aggregate", "message_and_aggregate", "edge_update"))):
    setattr(Layer, _name, _refuses(_name))


def _ends_of(x):
    """(sources, targets) of a layer's x: one tensor, or a pair whose second may be None."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x, x)


def _nodes_of(x):
    if x.dim() < 2:
        raise ValueError(f"[layer] x must be [nodes, features] or [batch, nodes, features], got {list(x.shape)}")
    return x.size(-2)


def _refuse_shape(layer, expected, x):
    """For layers without a batch dimension, which PyG's do not have either."""
    raise ValueError(f"{layer}: x must be {expected}, got {x.dtype} {list(x.shape)}"
                     + (": call the layer for each x of the batch" if x.dim() > 2 else ""))


def _over_nodes(product, x):
    """product(x [nodes, n]) of x [..., nodes, n]: batches are columns of one product."""
    if x.layout != torch.strided:
        raise ValueError("[layer] x is sparse, and this layer aggregates it before its weights: give x.to_dense()")
    if x.dim() == 2:
        return product(x)
    y = product(x.movedim(-2, 0).flatten(1))
    return y.unflatten(1, (*x.shape[:-2], x.shape[-1])).movedim(0, -2)


def _spmm(handle, x, weight=None, reduce="sum"):
    return _over_nodes(lambda x: calls.spmm(handle, x, weight, reduce, "auto", False), x)


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
    if not isinstance(width, int) or (width < 1 and width != -1):
        raise ValueError(f"{layer}: in_channels must be a positive number, or -1 for that of the first input, got {width!r}")


class _Glorot(nn.Linear):
    def reset_parameters(self):
        _glorot(self.weight)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -1 / math.sqrt(self.in_features), 1 / math.sqrt(self.in_features))


class _LazyGlorot(nn.LazyLinear):
    cls_to_become = _Glorot

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features != 0:
            _Glorot.reset_parameters(self)


def _linear(inputs, outputs, bias, glorot=False):
    """Draws from PyTorch's generator as PyG's Linear does."""
    if inputs == -1:
        return (_LazyGlorot if glorot else nn.LazyLinear)(outputs, bias=bias)
    return (_Glorot if glorot else nn.Linear)(inputs, outputs, bias=bias)


def _give_width(linear, x):
    """Tells a linear map of width -1 its width, where the layer reads its weight."""
    if isinstance(linear, nn.modules.lazy.LazyModuleMixin):
        with torch.no_grad():
            linear(x[..., :1, :])


def _glorot(weight):
    limit = math.sqrt(6.0 / (weight.size(-2) + weight.size(-1)))
    with torch.no_grad():
        weight.uniform_(-limit, limit)


def _reset(module):
    """reset_parameters() of a module, or of those in it that have it."""
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
    else:
        for child in module.children():
            _reset(child)


def _adjacency(edge_index, values=None):
    """(edge_index or Graph, edge values): of a sparse matrix its graph, and its values where none are given."""
    if isinstance(edge_index, Graph) or (type(edge_index) is torch.Tensor and edge_index.layout == torch.strided):
        return edge_index, values
    if is_sparse(edge_index):
        graph, own = of_sparse(edge_index)
        return graph, own if values is None else values
    if hasattr(edge_index, "as_tensor") and hasattr(edge_index, "sparse_size"):  # PyG's EdgeIndex
        sources, targets = edge_index.sparse_size()
        edge_index = edge_index.as_tensor()
        if sources is not None and targets is not None:
            edge_index = graph_of(edge_index, targets, sources)
    return edge_index, values


def _weights(edge_index, edge_weight):
    """_adjacency of weights [edges] or [edges, 1]."""
    edge_index, edge_weight = _adjacency(edge_index, edge_weight)
    return edge_index, edge_weight.squeeze(1) if edge_weight is not None and edge_weight.dim() == 2 else edge_weight


def _weights_with_loops(matrix, graph, weight, fill):
    """The values of a sparse matrix after PyG's gcn_norm has added self loops: `fill` is added to those of torch.sparse that are
    there, and takes the place of those of a SparseTensor."""
    sources, targets = edge_ends(graph)
    loops = sources == targets
    if graph.edge_ids is not None:
        loops = torch.empty_like(loops).scatter(0, graph.edge_ids, loops)
    if isinstance(matrix, torch.Tensor):
        return weight + fill * loops.to(weight.dtype)
    if weight is None:
        return None if fill == 1.0 else torch.ones(loops.shape, device=loops.device).masked_fill(loops, fill)
    return weight.masked_fill(loops, fill)


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


def _bipartite(edge_index, x, source, target, size):
    """The Handle for _ends_of(x). Without targets their number is that of `size`, of a Graph, or that of sources."""
    if target is not None:
        nodes = _nodes_of(target)
    elif size is not None:
        nodes = size[1]
    else:
        nodes = edge_index.num_nodes if isinstance(edge_index, Graph) else _nodes_of(source)
    return _graph_for(edge_index, nodes, None if x is source else _nodes_of(source))
