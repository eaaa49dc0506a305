"""Layers with the constructor arguments, formulas and state_dict names of PyTorch Geometric."""
from typing import Any, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from ._define import calls
from ._attention_layers import GATConv, GATv2Conv
from ..graph import Graph
from ._layers import (Layer, _check_rest, _check_width, _ends_of, _graph_for, _linear, _nodes_of, _over_nodes,
                      _reset_glorot)

__all__ = ["APPNP", "GATConv", "GATv2Conv", "GCNConv", "GINConv", "SAGEConv", "SGConv"]


def _spmm(handle, x, weight=None, reduce="sum"):
    return _over_nodes(lambda x: calls.spmm(handle, x, weight, reduce, "auto", False), x)


class _GcnBase(Layer):
    """D^-1/2 (A + I) D^-1/2 x with PyG's options."""

    def _propagate(self, x, edge_index, edge_weight):
        handle = _graph_for(edge_index, _nodes_of(x))
        if self.normalize and edge_weight is None and self.add_self_loops:  # PyG reads `improved` with edge weights only
            return _over_nodes(lambda x: calls.gcn(handle, x, False), x)
        if not self.normalize and edge_weight is None:
            return _spmm(handle, x)
        handle, weight = self._weights(handle, edge_weight, x)
        return _spmm(handle, x, weight.to(x.dtype))

    def _weights(self, handle, edge_weight, x):
        """The graph with its self loops, and the weight of each of its edges. Differentiable."""
        wide = x.dtype if x.dtype == torch.float64 else torch.float32
        ones = edge_weight is None
        if ones:
            weight = calls.of_ends(handle, torch.ones(x.size(-2), dtype=wide, device=x.device), False)
        else:
            weight = calls.permute(handle, edge_weight.to(wide if self.normalize else x.dtype), 1.0)
        if not self.normalize:
            return handle, weight
        if self.add_self_loops:
            handle = handle.with_loops()
            weight = calls.permute(handle, weight, 2.0 if self.improved and not ones else 1.0)
        degree = calls.edge_sum(handle, weight, False)
        scale = degree.pow(-0.5)
        scale = scale.masked_fill(degree <= 0, 0).view(-1, 1)
        # scale of the target times scale of the source
        return handle, weight * calls.sddmm(handle, scale, scale, "dot")


class GCNConv(_GcnBase):
    """torch_geometric.nn.GCNConv. forward(x [nodes, in], edge_index or rodeo.Graph, edge_weight [edges] or None).

    `cached` changes nothing: what is derived from an edge_index or a Graph is kept with it.
    """

    def __init__(self, in_channels: int, out_channels: int, improved: bool = False, cached: bool = False,
                 add_self_loops: Optional[bool] = None, normalize: bool = True, bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("GCNConv", kwargs)
        _check_width("GCNConv", in_channels)
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise ValueError("GCNConv does not add self loops without normalize, as in torch_geometric.nn")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self.lin = _linear(in_channels, out_channels, False)
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _reset_glorot(self.lin)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: Union[Tensor, Graph], edge_weight: Optional[Tensor] = None) -> Tensor:
        if self.in_channels < self.out_channels:  # the narrower side is cheaper to aggregate
            y = self.lin(self._propagate(x, edge_index, edge_weight))
        else:
            y = self._propagate(self.lin(x), edge_index, edge_weight)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}"


class SGConv(_GcnBase):
    """torch_geometric.nn.SGConv: K propagations, then one linear layer. Results are not cached between calls."""

    normalize, improved = True, False

    def __init__(self, in_channels: int, out_channels: int, K: int = 1, cached: bool = False, add_self_loops: bool = True,
                 bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("SGConv", kwargs)
        _check_width("SGConv", in_channels)
        self.in_channels, self.out_channels, self.K, self.cached = in_channels, out_channels, K, cached
        self.add_self_loops = add_self_loops
        self.lin = _linear(in_channels, out_channels, bias)
        self._propagated = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        self._propagated = None

    def forward(self, x: Tensor, edge_index: Union[Tensor, Graph], edge_weight: Optional[Tensor] = None) -> Tensor:
        if not self.cached or self._propagated is None:
            for _ in range(self.K):
                x = self._propagate(x, edge_index, edge_weight)
            if self.cached:
                self._propagated = x
        else:
            x = self._propagated
        return self.lin(x)


class APPNP(_GcnBase):
    """torch_geometric.nn.APPNP. dropout is that of edge weights."""

    improved = False

    def __init__(self, K: int, alpha: float, dropout: float = 0.0, cached: bool = False, add_self_loops: bool = True,
                 normalize: bool = True, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("APPNP", kwargs)
        self.K, self.alpha, self.dropout, self.cached = K, alpha, dropout, cached
        self.add_self_loops, self.normalize = add_self_loops, normalize

    def reset_parameters(self) -> None:
        pass

    def forward(self, x: Tensor, edge_index: Union[Tensor, Graph], edge_weight: Optional[Tensor] = None) -> Tensor:
        first = x
        drops = self.dropout > 0 and self.training
        if drops:
            handle, weight = self._weights(_graph_for(edge_index, _nodes_of(x)), edge_weight, x)
        for _ in range(self.K):
            if drops:
                x = _spmm(handle, x, nn.functional.dropout(weight, self.dropout).to(x.dtype))
            else:
                x = self._propagate(x, edge_index, edge_weight)
            x = (1 - self.alpha) * x + self.alpha * first
        return x


def _bipartite_graph(edge_index, x, source, target, size):
    nodes = _nodes_of(source) if target is None and size is None else size[1] if target is None else _nodes_of(target)
    return _graph_for(edge_index, nodes, None if x is source else _nodes_of(source))


class SAGEConv(Layer):
    """torch_geometric.nn.SAGEConv. aggr: mean, sum, add, max or min. x [nodes, in], or a pair (sources, targets)."""

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int, aggr: str = "mean", normalize: bool = False,
                 root_weight: bool = True, project: bool = False, bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        if aggr not in ("mean", "sum", "add", "max", "min"):
            raise ValueError(f"SAGEConv: aggr must be mean, sum, add, max or min, got {aggr!r}: use torch_geometric.nn for it")
        _check_rest("SAGEConv", kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        widths = (in_channels, in_channels) if isinstance(in_channels, int) else tuple(in_channels)
        for width in widths:
            _check_width("SAGEConv", width)
        self.aggr, self.normalize, self.root_weight, self.project = aggr, normalize, root_weight, project
        self.reduce = "sum" if aggr == "add" else aggr
        if project:
            self.lin = _linear(widths[0], widths[0], True)
        self.lin_l = _linear(widths[0], out_channels, bias)
        if root_weight:
            self.lin_r = _linear(widths[1], out_channels, False)

    def reset_parameters(self) -> None:
        for layer in self.children():
            layer.reset_parameters()

    def forward(self, x: Union[Tensor, Tuple[Tensor, Optional[Tensor]]], edge_index: Union[Tensor, Graph],
                size: Optional[Tuple[int, int]] = None) -> Tensor:
        source, target = _ends_of(x)
        handle = _bipartite_graph(edge_index, x, source, target, size)
        if self.project:
            source = self.lin(source).relu()
        if self.reduce in ("mean", "sum") and self.lin_l.out_features < self.lin_l.in_features:
            y = _spmm(handle, nn.functional.linear(source, self.lin_l.weight), None, self.reduce)
            y = y if self.lin_l.bias is None else y + self.lin_l.bias
        else:
            y = self.lin_l(_spmm(handle, source, None, self.reduce))
        if self.root_weight and target is not None:
            y = y + self.lin_r(target)
        return nn.functional.normalize(y, p=2.0, dim=-1) if self.normalize else y


class GINConv(Layer):
    """torch_geometric.nn.GINConv: nn((1 + eps) x + sum of neighbours)."""

    def __init__(self, nn: torch.nn.Module, eps: float = 0.0, train_eps: bool = False, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("GINConv", kwargs)
        self.nn, self.initial_eps = nn, eps
        if train_eps:
            self.eps = torch.nn.Parameter(torch.full((1,), float(eps)))
        else:
            self.register_buffer("eps", torch.full((1,), float(eps)))

    def reset_parameters(self) -> None:
        for layer in self.nn.modules():
            if layer is not self.nn and hasattr(layer, "reset_parameters"):
                layer.reset_parameters()
        with torch.no_grad():
            self.eps.fill_(self.initial_eps)

    def forward(self, x: Union[Tensor, Tuple[Tensor, Optional[Tensor]]], edge_index: Union[Tensor, Graph],
                size: Optional[Tuple[int, int]] = None) -> Tensor:
        source, target = _ends_of(x)
        y = _spmm(_bipartite_graph(edge_index, x, source, target, size), source)
        return self.nn(y if target is None else y + (1 + self.eps) * target)
