"""Layers with the constructor arguments, formulas and state_dict names of PyTorch Geometric."""
import sys
from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from ._define import calls
from ._aggregations import aggregate, names_of
from ._attention_layers import GATConv, GATv2Conv, TransformerConv
from ._cheb_conv import ChebConv
from ._graphs import is_sparse
from ._layers import (EdgeIndex, Features, Layer, _adjacency, _bipartite, _check_rest, _check_width, _ends_of, _give_width,
                      _graph_for, _linear, _nodes_of, _over_nodes, _reset, _spmm, _weights, _weights_with_loops)
from ._hetero_conv import HeteroConv
from ._hgt_conv import HGTConv
from ._pna_conv import PNAConv
from ._rgcn_conv import FastRGCNConv, RGCNConv

__all__ = ["APPNP", "ChebConv", "FastRGCNConv", "GATConv", "GATv2Conv", "GCNConv", "GINConv", "GINEConv", "GraphConv", "HGTConv",
           "HeteroConv", "PNAConv", "RGCNConv", "SAGEConv", "SGConv", "TransformerConv"]


def __getattr__(name: str) -> Any:
    """GCN, GraphSAGE, GIN, GAT and PNA: PyG's models, made of these layers."""
    from . import _models
    if name in _models.NAMES:
        return _models.model(name, sys.modules[__name__])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _GcnBase(Layer):
    """D^-1/2 (A + I) D^-1/2 x with PyG's options."""

    def _adjacency(self, edge_index, edge_weight):
        """_weights(). Of a sparse matrix with self loops as PyG's gcn_norm reads it."""
        graph, weight = _weights(edge_index, edge_weight)
        if edge_weight is None and self.normalize and self.add_self_loops and is_sparse(edge_index):
            weight = _weights_with_loops(edge_index, graph, weight, 2.0 if self.improved else 1.0)
        return graph, weight

    def _propagate(self, x, edge_index, edge_weight):
        handle = _graph_for(edge_index, _nodes_of(x))
        if self.explain:
            handle, weight = self._weights(handle, edge_weight, x)
            return _spmm(handle, x, self._masked(handle, weight).to(x.dtype))
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
            raise ValueError("GCNConv does not support adding self-loops without normalize, as in torch_geometric.nn")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self.lin = _linear(in_channels, out_channels, False, glorot=True)
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        edge_index, edge_weight = self._adjacency(edge_index, edge_weight)
        if self.in_channels < self.out_channels and x.layout == torch.strided:  # the narrower side is cheaper to aggregate
            y = self.lin(self._propagate(x, edge_index, edge_weight))
        else:
            y = self._propagate(self.lin(x), edge_index, edge_weight)
        return y if self.bias is None else y + self.bias

    if TYPE_CHECKING:
        __call__ = forward


class SGConv(_GcnBase):
    """torch_geometric.nn.SGConv: K propagations, then one linear layer. Results are not cached between calls."""

    normalize, improved = True, False
    shown = "in_channels", "out_channels", "K="

    def __init__(self, in_channels: int, out_channels: int, K: int = 1, cached: bool = False, add_self_loops: bool = True,
                 bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("SGConv", kwargs)
        _check_width("SGConv", in_channels)
        self.in_channels, self.out_channels, self.K, self.cached = in_channels, out_channels, K, cached
        self.add_self_loops = add_self_loops
        self.lin = _linear(in_channels, out_channels, bias)
        self._cached_x = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        self._cached_x = None

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        edge_index, edge_weight = self._adjacency(edge_index, edge_weight)
        if not self.cached or self._cached_x is None:
            for _ in range(self.K):
                x = self._propagate(x, edge_index, edge_weight)
            if self.cached:
                self._cached_x = x
        else:
            x = self._cached_x
        return self.lin(x)

    if TYPE_CHECKING:
        __call__ = forward


class APPNP(_GcnBase):
    """torch_geometric.nn.APPNP. dropout is that of edge weights."""

    improved = False
    shown = "K=", "alpha="

    def __init__(self, K: int, alpha: float, dropout: float = 0.0, cached: bool = False, add_self_loops: bool = True,
                 normalize: bool = True, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("APPNP", kwargs)
        self.K, self.alpha, self.dropout, self.cached = K, alpha, dropout, cached
        self.add_self_loops, self.normalize = add_self_loops, normalize

    def reset_parameters(self) -> None:
        pass

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None) -> Tensor:
        edge_index, edge_weight = self._adjacency(edge_index, edge_weight)
        first = x
        drops = self.dropout > 0 and self.training
        if drops:
            handle, weight = self._weights(_graph_for(edge_index, _nodes_of(x)), edge_weight, x)
        for _ in range(self.K):
            if drops:
                kept = self._masked(handle, nn.functional.dropout(weight, self.dropout))
                x = _spmm(handle, x, kept.to(x.dtype))
            else:
                x = self._propagate(x, edge_index, edge_weight)
            x = (1 - self.alpha) * x + self.alpha * first
        return x

    if TYPE_CHECKING:
        __call__ = forward


def _bipartite_graph(layer, edge_index, x, source, target, size, edge_weight=None):
    """The Handle, and the weights of its edges in its order, or None: those of torch.sparse count, as in PyG."""
    adjacency, edge_weight = _weights(edge_index, edge_weight)
    handle = _bipartite(adjacency, x, source, target, size)
    if edge_weight is not None:
        edge_weight = calls.permute(handle, edge_weight.to(source.dtype), 1.0)
    return handle, layer._masked(handle, edge_weight)


class SAGEConv(Layer):
    """torch_geometric.nn.SAGEConv. aggr: mean, sum, add, max, min, var, std, softmax, or a list of them, whose results are
    joined. x [nodes, in], or a pair (sources, targets)."""

    shown = "in_channels", "out_channels", "aggr="

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int,
                 aggr: Union[str, List[str]] = "mean", normalize: bool = False, root_weight: bool = True, project: bool = False,
                 bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        self._names = names_of("SAGEConv", aggr)
        _check_rest("SAGEConv", kwargs, aggr_kwargs=(None, {}))
        self.in_channels, self.out_channels = in_channels, out_channels
        widths = (in_channels, in_channels) if isinstance(in_channels, int) else tuple(in_channels)
        for width in widths:
            _check_width("SAGEConv", width)
        self.aggr, self.normalize, self.root_weight, self.project = aggr, normalize, root_weight, project
        if project and widths[0] < 0:
            raise ValueError("SAGEConv does not support lazy initialization with `project=True`: give the number of in_channels")
        if project:
            self.lin = _linear(widths[0], widths[0], True)
        self.lin_l = _linear(widths[0] * len(self._names) if widths[0] > 0 else -1, out_channels, bias)
        if root_weight:
            self.lin_r = _linear(widths[1], out_channels, False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for layer in self.children():
            layer.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex,
                size: Optional[Tuple[int, int]] = None) -> Tensor:
        source, target = _ends_of(x)
        handle, weight = _bipartite_graph(self, edge_index, x, source, target, size)
        if len(self._names) > 1 or self._names[0] in ("var", "std", "softmax"):
            weight = self._masked(handle, None)  # without those of torch.sparse, as in PyG
        if self.project:
            source = self.lin(source).relu()
        is_linear = self._names in (["mean"], ["sum"], ["add"])
        if is_linear:
            _give_width(self.lin_l, source)
        if is_linear and (self.lin_l.out_features < self.lin_l.in_features or source.layout != torch.strided):
            y = aggregate(handle, nn.functional.linear(source, self.lin_l.weight), weight, self._names[0])
            y = y if self.lin_l.bias is None else y + self.lin_l.bias
        else:
            x_j = source  # PyTorch 2.4 does not compile a comprehension that reads a variable named `source`
            y = self.lin_l(torch.cat([aggregate(handle, x_j, weight, name) for name in self._names], -1))
        if self.root_weight and target is not None:
            y = y + self.lin_r(target)
        return nn.functional.normalize(y, p=2.0, dim=-1) if self.normalize else y

    if TYPE_CHECKING:
        __call__ = forward


class GraphConv(Layer):
    """torch_geometric.nn.GraphConv: W1 x + W2 (sum, mean, maximum or minimum of weighted neighbours)."""

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int, aggr: str = "add", bias: bool = True,
                 **kwargs: Any) -> None:
        super().__init__()
        _check_rest("GraphConv", {**kwargs, "aggr": aggr}, aggr=("add", "sum", "mean", "max", "min"))
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        widths = (in_channels, in_channels) if isinstance(in_channels, int) else tuple(in_channels)
        for width in widths:
            _check_width("GraphConv", width)
        self.lin_rel, self.lin_root = _linear(widths[0], out_channels, bias), _linear(widths[1], out_channels, False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin_rel.reset_parameters()
        self.lin_root.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None,
                size: Optional[Tuple[int, int]] = None) -> Tensor:
        source, target = _ends_of(x)
        handle, weight = _bipartite_graph(self, edge_index, x, source, target, size, edge_weight)
        y = self.lin_rel(_spmm(handle, source, weight, "sum" if self.aggr == "add" else self.aggr))
        return y if target is None else y + self.lin_root(target)

    if TYPE_CHECKING:
        __call__ = forward


class GINConv(Layer):
    """torch_geometric.nn.GINConv: nn((1 + eps) x + sum of neighbours)."""

    shown: Tuple[str, ...] = ("nn=",)

    def __init__(self, nn: torch.nn.Module, eps: float = 0.0, train_eps: bool = False, **kwargs: Any) -> None:
        super().__init__()
        self._make(nn, eps, train_eps, kwargs)
        GINConv.reset_parameters(self)

    def _make(self, nn, eps, train_eps, kwargs):
        _check_rest(type(self).__name__, kwargs)
        self.nn, self.initial_eps = nn, eps
        if train_eps:
            self.eps = torch.nn.Parameter(torch.full((1,), float(eps)))
        else:
            self.register_buffer("eps", torch.full((1,), float(eps)))
        self.lin: Optional[torch.nn.Module] = None

    def reset_parameters(self) -> None:
        _reset(self.nn)
        with torch.no_grad():
            self.eps.fill_(self.initial_eps)
        if self.lin is not None:
            self.lin.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex,
                size: Optional[Tuple[int, int]] = None) -> Tensor:
        source, target = _ends_of(x)
        handle, weight = _bipartite_graph(self, edge_index, x, source, target, size)
        return self._own(_spmm(handle, source, weight), target)

    if TYPE_CHECKING:
        __call__ = forward

    def _own(self, y, target):
        return self.nn(y if target is None else y + (1 + self.eps) * target)


class GINEConv(GINConv):
    """torch_geometric.nn.GINEConv: nn((1 + eps) x + sum of relu(neighbour + edge features)). Keeps arrays [edges, in]."""

    def __init__(self, nn: torch.nn.Module, eps: float = 0.0, train_eps: bool = False, edge_dim: Optional[int] = None,
                 **kwargs: Any) -> None:
        Layer.__init__(self)
        self._make(nn, eps, train_eps, kwargs)
        if edge_dim is not None:
            first = nn[0] if isinstance(nn, torch.nn.Sequential) else nn
            width = getattr(first, "in_features", getattr(first, "in_channels", None))
            if width is None:
                raise ValueError("GINEConv: edge_dim needs a network that begins with a linear map, to know its width")
            self.lin = _linear(edge_dim, width, True)
        self.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex,  # type: ignore[override]
                edge_attr: Optional[Tensor] = None, size: Optional[Tuple[int, int]] = None) -> Tensor:
        source, target = _ends_of(x)
        adjacency, edge_attr = _adjacency(edge_index, edge_attr)
        handle, mask = _bipartite_graph(self, adjacency, x, source, target, size)
        if edge_attr is None:
            raise ValueError("GINEConv: edge_attr is missing: [edges, features]")
        features = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
        if self.lin is not None:
            features = self.lin(features)
        if features.size(-1) != source.size(-1):
            raise ValueError(f"GINEConv: edge features have {features.size(-1)} columns, x has {source.size(-1)}: give edge_dim")
        features = calls.permute(handle, features, 1.0)

        def messages(x):
            hidden = (calls.of_ends(handle, x, True) + features.repeat(1, x.size(1) // features.size(1))).relu()
            return calls.edge_sum(handle, hidden if mask is None else hidden * mask.view(-1, 1), False)

        return self._own(_over_nodes(messages, source), target)

    if TYPE_CHECKING:
        __call__ = forward
