"""Layers with the constructor arguments, formulas and state_dict names of PyTorch Geometric."""
from typing import Any, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from ._define import calls
from ._attention_layers import GATConv, GATv2Conv
from ._graphs import one_loop_id
from ..graph import Graph
from ._layers import _check_rest, _check_width, _graph_for, _linear, _reset_glorot

__all__ = ["APPNP", "GATConv", "GATv2Conv", "GCNConv", "GINConv", "SAGEConv", "SGConv"]


class _GcnBase(nn.Module):
    """D^-1/2 (A + I) D^-1/2 x with PyG's options."""

    def _propagate(self, x, edge_index, edge_weight):
        graph = _graph_for(edge_index, x.size(0))
        if not self.normalize:
            weight = None if edge_weight is None else calls.permute(graph._id, edge_weight.to(x.dtype), 1.0)
            return calls.spmm(graph._id, x, weight, "sum", "auto")
        if edge_weight is None and self.add_self_loops:  # PyG reads `improved` with edge weights only
            return calls.gcn(graph._id, x, False)
        number, weight = self._normal_weight(graph, edge_weight, x)
        return calls.spmm(number, x, weight.to(x.dtype), "sum", "auto")

    def _normal_weight(self, graph, edge_weight, x):
        """The graph's id with self loops, and the normalised weight of each of its edges. Differentiable."""
        wide = x.dtype if x.dtype == torch.float64 else torch.float32
        ones = edge_weight is None
        if ones:
            edge_weight = torch.ones(graph.num_edges, dtype=wide, device=x.device)
        weight = calls.permute(graph._id, edge_weight.to(wide), 1.0)
        number = graph._id
        if self.add_self_loops:
            number = one_loop_id(number)
            weight = calls.permute(number, weight, 2.0 if self.improved and not ones else 1.0)
        degree = calls.edge_sum(number, weight)
        scale = degree.pow(-0.5)
        scale = scale.masked_fill(degree <= 0, 0).view(-1, 1)
        # scale of the target times scale of the source
        return number, weight * calls.sddmm(number, scale, scale, "dot")


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
            graph = _graph_for(edge_index, x.size(0))
            if self.normalize:
                number, weight = self._normal_weight(graph, edge_weight, x)
            else:
                ones = torch.ones(graph.num_edges, dtype=x.dtype, device=x.device)
                number = graph._id
                weight = calls.permute(number, ones if edge_weight is None else edge_weight, 1.0)
        for _ in range(self.K):
            if drops:
                kept = nn.functional.dropout(weight, self.dropout)
                x = calls.spmm(number, x, kept.to(x.dtype), "sum", "auto")
            else:
                x = self._propagate(x, edge_index, edge_weight)
            x = (1 - self.alpha) * x + self.alpha * first
        return x


class SAGEConv(nn.Module):
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
        source, target = x if isinstance(x, tuple) else (x, x)
        nodes = target.size(0) if target is not None else size[1] if size is not None else source.size(0)
        bipartite = isinstance(x, tuple)
        graph = _graph_for(edge_index, nodes, source.size(0) if bipartite else None)
        if self.project:
            source = self.lin(source).relu()
        if self.reduce in ("mean", "sum") and self.lin_l.out_features < self.lin_l.in_features:
            y = calls.spmm(graph._id, nn.functional.linear(source, self.lin_l.weight), None, self.reduce, "auto")
            y = y if self.lin_l.bias is None else y + self.lin_l.bias
        else:
            y = self.lin_l(calls.spmm(graph._id, source, None, self.reduce, "auto"))
        if self.root_weight and target is not None:
            y = y + self.lin_r(target)
        return nn.functional.normalize(y, p=2.0, dim=-1) if self.normalize else y


class GINConv(nn.Module):
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
        source, target = x if isinstance(x, tuple) else (x, x)
        nodes = target.size(0) if target is not None else size[1] if size is not None else source.size(0)
        graph = _graph_for(edge_index, nodes, source.size(0) if isinstance(x, tuple) else None)
        y = calls.spmm(graph._id, source, None, "sum", "auto")
        return self.nn(y if target is None else y + (1 + self.eps) * target)
