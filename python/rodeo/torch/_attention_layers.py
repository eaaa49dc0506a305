"""GATConv, GATv2Conv and TransformerConv, which rodeo.torch.nn shows."""
from typing import TYPE_CHECKING, Any, Optional, Tuple, Union, overload

import torch
from torch import Tensor, nn

from ._define import calls
from ._edge_features import REDUCES
from ._functions import attention, dot, gatv2, self_attention
from ._layers import EdgeIndex, Features, Layer, _adjacency, _bipartite, _check_rest, _check_width, _ends_of, _glorot, _linear
from ..graph import Graph


class _Attention(Layer):
    shown = "in_channels", "out_channels", "heads="

    def _set_up(self, layer, in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim,
                fill_value, residual, rest):
        _check_rest(layer, rest)
        if edge_dim is not None and (not isinstance(edge_dim, int) or edge_dim < 1):
            raise ValueError(f"{layer}: edge_dim must be a positive number or None, got {edge_dim!r}")
        if isinstance(fill_value, str) and fill_value not in REDUCES:
            raise ValueError(f"{layer}: fill_value must be a number, a tensor, or one of {', '.join(REDUCES)}, got "
                             f"{fill_value!r}: use torch_geometric.nn for it")
        self.edge_dim, self.fill_value = edge_dim, fill_value
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout = negative_slope, dropout
        self.add_self_loops, self.residual = add_self_loops, residual
        self.widths = (in_channels, in_channels) if isinstance(in_channels, int) else tuple(in_channels)
        for width in self.widths:
            _check_width(layer, width)

    def _add_rest(self, bias):
        """After the layer's own parameters: optimizers know parameters by their order."""
        total = self.out_channels * (self.heads if self.concat else 1)
        self.bias = nn.Parameter(torch.empty(total)) if bias else None
        self.res = _linear(self.widths[1], total, False, glorot=True) if self.residual else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name in "lin", "lin_src", "lin_dst", "lin_l", "lin_r", "lin_edge", "res":  # in PyG's order, a shared one twice
            if getattr(self, name, None) is not None:
                getattr(self, name).reset_parameters()
        for name in "att_src", "att_dst", "att_edge", "att":
            if getattr(self, name, None) is not None:
                _glorot(getattr(self, name))
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def _features(self, edge_index, edge_attr):
        """_adjacency, where values of a sparse matrix are features if the layer has any."""
        adjacency, features = _adjacency(edge_index, edge_attr)
        return adjacency, features if edge_attr is not None or self.lin_edge is not None else None

    def _looped(self, graph):
        return graph.with_loops() if self.add_self_loops else graph

    def _heads(self, h):
        """[..., nodes, heads * out] as [nodes, heads, out]: heads of a batch are heads of one graph."""
        h = h.unflatten(-1, (self.heads, self.out_channels))
        return h if h.dim() == 3 else h.movedim(-3, 0).flatten(1, -2)

    def _repeated(self, values, h):
        """values [n, heads, ...] for all heads of h."""
        return values if h.size(1) == self.heads else values.repeat(1, h.size(1) // self.heads, *[1] * (values.dim() - 2))

    def _edge_features(self, graph, edge_attr):
        """edge_attr of each edge in the order of the graph that is used, with those of self loops: [edges, edge_dim], or None."""
        layer = type(self).__name__
        if edge_attr is None:
            return None
        if self.lin_edge is None:
            raise ValueError(f"{layer}: edge_attr was given, but the layer was made without edge_dim")
        features = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
        if features.dim() != 2 or features.size(1) != self.edge_dim:
            raise ValueError(f"{layer}: edge_attr must be [edges, {self.edge_dim}], got {list(edge_attr.shape)}")
        if not self.add_self_loops:
            return calls.permute(graph, features, 1.0)
        reduce = self.fill_value if isinstance(self.fill_value, str) else "constant"
        return calls.with_loop_features(graph, features, self._fill(features), reduce)

    def _fill(self, features):
        """The features of self loops [1, edge_dim], or None where they are reduced from those of edges."""
        if isinstance(self.fill_value, str):
            return None
        if isinstance(self.fill_value, torch.Tensor):
            fill = self.fill_value.to(features.device, features.dtype).reshape(1, -1)
            if fill.size(1) not in (1, self.edge_dim):
                raise ValueError(f"{type(self).__name__}: fill_value must have {self.edge_dim} elements, got {fill.size(1)}")
            return fill
        return features.new_full((1, 1), 1.0 if self.fill_value is None else float(self.fill_value))

    def _attend(self, graph, score, x, source, target, wanted_of):
        """Softmax of scores [edges, heads], dropout, sum; with the edges and weights, as PyG returns them for this adjacency."""
        weight = nn.functional.dropout(calls.edge_softmax(graph, score), self.dropout, self.training)
        scaled = self._masked(graph, weight).to(x.dtype)
        y = self._finish(calls.spmm(graph, x, scaled, "sum", "auto", False), source, target)
        return y if wanted_of is None else (y, self._named(graph, weight, source, wanted_of))

    def _named(self, graph, weight, source, wanted_of):
        """Attention weights [edges, heads] with their edges, as PyG returns them for this adjacency."""
        if graph.on_edges():
            raise ValueError(f"{type(self).__name__}: compiled with an edge_index, attention weights have no edges to be named "
                             "by: give a rodeo.Graph")
        if source.dim() > 2:
            raise ValueError(f"{type(self).__name__}: attention weights are returned for x of [nodes, features]")
        ends = calls.edge_ends(graph, weight.detach()).t().contiguous()
        if isinstance(wanted_of, Tensor) and wanted_of.layout != torch.strided:
            ends = torch.sparse_coo_tensor(ends.flip(0), weight, (*wanted_of.shape, weight.size(1)))
        return ends, weight

    def _finish(self, y, source, target):
        if source.dim() > 2:
            y = y.unflatten(1, (*source.shape[:-2], self.heads)).movedim(0, -3)
        y = y.flatten(-2) if self.concat or self.heads == 1 else y.mean(dim=-2)
        if self.res is not None and target is not None:
            y = y + self.res(target)
        return y if self.bias is None else y + self.bias


class GATConv(_Attention):
    """torch_geometric.nn.GATConv with its edge features. x [nodes, in], or a pair (sources, targets)."""

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int, heads: int = 1, concat: bool = True,
                 negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True, edge_dim: Optional[int] = None,
                 fill_value: Union[float, Tensor, str] = "mean", bias: bool = True, residual: bool = False,
                 **kwargs: Any) -> None:
        super().__init__()
        self._set_up("GATConv", in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops, edge_dim,
                     fill_value, residual, kwargs)
        if isinstance(in_channels, int):
            self.lin = _linear(in_channels, heads * out_channels, False, glorot=True)
        else:
            self.lin_src = _linear(self.widths[0], heads * out_channels, False, glorot=True)
            self.lin_dst = _linear(self.widths[1], heads * out_channels, False, glorot=True)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None if edge_dim is None else _linear(edge_dim, heads * out_channels, False, glorot=True)
        self.att_edge = None if edge_dim is None else nn.Parameter(torch.empty(1, heads, out_channels))
        self._add_rest(bias)

    def forward(self, x: Features, edge_index: EdgeIndex,
                edge_attr: Optional[Tensor] = None, size: Optional[Tuple[int, int]] = None,
                return_attention_weights: Optional[bool] = None) -> Union[Tensor, Tuple[Tensor, Tuple[Tensor, Tensor]]]:
        source, target = _ends_of(x)
        of_source = self.lin if hasattr(self, "lin") else self.lin_src
        of_target = self.lin if hasattr(self, "lin") else self.lin_dst
        h = self._heads(of_source(source))
        given, (edge_index, edge_attr) = edge_index, self._features(edge_index, edge_attr)
        dropout = self.dropout if self.training else 0.0
        plain = _bipartite(edge_index, x, source, target, size)
        graph = self._looped(plain)
        features = self._edge_features(plain, edge_attr)
        fused = features is None and not return_attention_weights and not self.explain
        att_src, att_dst = self._repeated(self.att_src, h), self._repeated(self.att_dst, h)
        if fused and target is source and of_target is of_source and (h.requires_grad or torch.jit.is_tracing()):
            return self._finish(self_attention(graph, h, att_dst, att_src, self.negative_slope, dropout), source, target)
        t = (h * att_src).sum(-1)
        if target is None:
            nodes = size[1] if size is not None else edge_index.num_nodes if isinstance(edge_index, Graph) else h.size(0)
            s = h.new_zeros((nodes, h.size(1)))
        else:
            g = h if target is source and of_target is of_source else self._heads(of_target(target))
            s = (g * att_dst).sum(-1)
        if fused:
            return self._finish(attention(graph, s, t, h, self.negative_slope, dropout), source, target)
        # lin_edge, then att_edge, is one [heads, edge_dim] matrix: there is no array [edges, heads, out].
        score = calls.sddmm(graph, s, t, "add")
        if features is not None:
            of_edge = self.lin_edge.weight.view(self.heads, self.out_channels, -1) * self.att_edge.view(self.heads, -1, 1)
            score = score + self._repeated(nn.functional.linear(features, of_edge.sum(1)), h)
        score = nn.functional.leaky_relu(score, self.negative_slope)
        return self._attend(graph, score, h, source, target, given if return_attention_weights else None)

    if TYPE_CHECKING:
        @overload
        def __call__(self, x: Features, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = ..., size: Optional[Tuple[int, int]] = ...,
                     return_attention_weights: None = ...) -> Tensor: ...
        @overload
        def __call__(self, x: Features, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = ..., size: Optional[Tuple[int, int]] = ...,
                     *, return_attention_weights: bool) -> Tuple[Tensor, Tuple[Tensor, Tensor]]: ...


class GATv2Conv(_Attention):
    """torch_geometric.nn.GATv2Conv with its edge features. Attention weights that are returned or masked need arrays of edges."""

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int, heads: int = 1, concat: bool = True,
                 negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True, edge_dim: Optional[int] = None,
                 fill_value: Union[float, Tensor, str] = "mean", bias: bool = True, share_weights: bool = False,
                 residual: bool = False, **kwargs: Any) -> None:
        super().__init__()
        self._set_up("GATv2Conv", in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops,
                     edge_dim, fill_value, residual, kwargs)
        self.share_weights = share_weights
        self.lin_l = _linear(self.widths[0], heads * out_channels, bias, glorot=True)
        self.lin_r = self.lin_l if share_weights else _linear(self.widths[1], heads * out_channels, bias, glorot=True)
        self.att = nn.Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None if edge_dim is None else _linear(edge_dim, heads * out_channels, False, glorot=True)
        self._add_rest(bias)

    def forward(self, x: Features, edge_index: EdgeIndex,
                edge_attr: Optional[Tensor] = None, return_attention_weights: Optional[bool] = None) -> Union[
                    Tensor, Tuple[Tensor, Tuple[Tensor, Tensor]]]:
        source, target = _ends_of(x)
        if target is None:
            raise ValueError("GATv2Conv: x must have the features of targets, too: (sources, targets)")
        given, (edge_index, edge_attr) = edge_index, self._features(edge_index, edge_attr)
        left, right = self._heads(self.lin_l(source)), self._heads(self.lin_r(target))
        plain = _bipartite(edge_index, x, source, target, None)
        graph = self._looped(plain)
        features = self._edge_features(plain, edge_attr)
        of_edge = None if features is None else self._repeated(self._heads(self.lin_edge(features)), left)
        att = self._repeated(self.att, left)
        if not return_attention_weights and not self.explain:
            dropout = self.dropout if self.training else 0.0
            return self._finish(gatv2(graph, right, left, att[0], of_edge, self.negative_slope, dropout), source, target)
        hidden = calls.sddmm(graph, right, left, "add")
        hidden = nn.functional.leaky_relu(hidden if of_edge is None else hidden + of_edge, self.negative_slope)
        return self._attend(graph, (hidden * att).sum(-1), left, source, target, given if return_attention_weights else None)

    if TYPE_CHECKING:
        @overload
        def __call__(self, x: Features, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = ...,
                     return_attention_weights: None = ...) -> Tensor: ...
        @overload
        def __call__(self, x: Features, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = ...,
                     *, return_attention_weights: bool) -> Tuple[Tensor, Tuple[Tensor, Tensor]]: ...


class TransformerConv(_Attention):
    """torch_geometric.nn.TransformerConv with its edge features. x [nodes, in], or a pair (sources, targets)."""

    _alpha = None  # PyG has attention weights here during a call, and its tests ask for it

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int, heads: int = 1, concat: bool = True,
                 beta: bool = False, dropout: float = 0.0, edge_dim: Optional[int] = None, bias: bool = True,
                 root_weight: bool = True, **kwargs: Any) -> None:
        super().__init__()
        self._set_up("TransformerConv", in_channels, out_channels, heads, concat, 0.0, dropout, False, edge_dim, 0.0, False, kwargs)
        self.beta, self.root_weight = beta and root_weight, root_weight
        wide, total = heads * out_channels, out_channels * (heads if concat else 1)
        self.lin_key = _linear(self.widths[0], wide, bias)
        self.lin_query = _linear(self.widths[1], wide, bias)
        self.lin_value = _linear(self.widths[0], wide, bias)
        self.lin_edge = None if edge_dim is None else _linear(edge_dim, wide, False)
        self.lin_skip = _linear(self.widths[1], total, bias)
        self.lin_beta = _linear(3 * total, 1, False) if self.beta else None
        self.bias = self.res = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for linear in self.lin_key, self.lin_query, self.lin_value, self.lin_edge, self.lin_skip, self.lin_beta:
            if linear is not None:
                linear.reset_parameters()

    def forward(self, x: Features, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None,
                return_attention_weights: Optional[bool] = None) -> Union[Tensor, Tuple[Tensor, Tuple[Tensor, Tensor]]]:
        source, target = _ends_of(x)
        if target is None:
            raise ValueError("TransformerConv: x must have the features of targets, too: (sources, targets)")
        given, (edge_index, edge_attr) = edge_index, self._features(edge_index, edge_attr)
        query, key, value = (self._heads(x) for x in (self.lin_query(target), self.lin_key(source), self.lin_value(source)))
        graph = _bipartite(edge_index, x, source, target, None)
        features = self._edge_features(graph, edge_attr)
        of_edge = None if features is None else self._repeated(self._heads(self.lin_edge(features)), key)
        weight = None
        if not return_attention_weights and not self.explain:
            y = dot(graph, query, key, value, None, of_edge, None, self.dropout if self.training else 0.0)
        else:
            score = calls.sddmm(graph, query, key, "dot")
            if of_edge is not None:
                score = score + (calls.of_ends(graph, query.flatten(1), False).view(of_edge.shape) * of_edge).sum(-1)
            weight = calls.edge_softmax(graph, score * self.out_channels ** -0.5)
            scaled = self._masked(graph, nn.functional.dropout(weight, self.dropout, self.training)).to(value.dtype)
            y = calls.spmm(graph, value, scaled, "sum", "auto", False)
            if of_edge is not None:
                y = y + calls.edge_sum(graph, (scaled.unsqueeze(-1) * of_edge).flatten(1), False).view(y.shape)
        y = self._finish(y, source, target)
        if self.root_weight:
            skip = self.lin_skip(target)
            if self.lin_beta is None:
                y = y + skip
            else:
                beta = self.lin_beta(torch.cat([y, skip, y - skip], dim=-1)).sigmoid()
                y = beta * skip + (1 - beta) * y
        return (y, self._named(graph, weight, source, given)) if return_attention_weights else y

    if TYPE_CHECKING:
        @overload
        def __call__(self, x: Features, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = ...,
                     return_attention_weights: None = ...) -> Tensor: ...
        @overload
        def __call__(self, x: Features, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = ...,
                     *, return_attention_weights: bool) -> Tuple[Tensor, Tuple[Tensor, Tensor]]: ...
