"""GATConv and GATv2Conv, which rodeo.torch.nn shows."""
from typing import Any, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from ..graph import Graph
from ._define import calls
from ._edge_features import REDUCES
from ._functions import attention, self_attention
from ._graphs import one_loop_id
from ._layers import _check_rest, _check_width, _glorot, _graph_for, _linear, _reset_glorot


class _Attention(nn.Module):
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
        self.res = _linear(self.widths[1], total, False) if self.residual else None
        self.reset_parameters()

    def _graph(self, edge_index, source, target, size=None):
        nodes = target.size(0) if target is not None else source.size(0) if size is None else size[1]
        return _graph_for(edge_index, nodes, None if target is source else source.size(0))

    def _graph_number(self, graph):
        return one_loop_id(graph._id) if self.add_self_loops else graph._id

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
            return calls.permute(graph._id, features, 1.0)
        reduce = self.fill_value if isinstance(self.fill_value, str) else "constant"
        return calls.with_loop_features(graph._id, features, self._fill(features), reduce)

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

    def _attend(self, graph, score, x, target, wants_weights):
        """Softmax of scores [edges, heads], dropout, sum; with the edges and weights, as PyG returns them."""
        number = self._graph_number(graph)
        weight = nn.functional.dropout(calls.edge_softmax(number, score), self.dropout, self.training)
        y = self._finish(calls.spmm(number, x, weight.to(x.dtype), "sum", "auto"), target)
        if not wants_weights:
            return y
        if isinstance(number, tuple):
            raise ValueError(f"{type(self).__name__}: compiled with an edge_index, attention weights have no edges to be named "
                             "by: give a rodeo.Graph")
        return y, (calls.edge_ends(number, weight.detach()).t().contiguous(), weight)

    def _finish(self, y, target):
        y = y.flatten(1) if self.concat or self.heads == 1 else y.mean(dim=1)
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
            self.lin = _linear(in_channels, heads * out_channels, False)
        else:
            self.lin_src = _linear(self.widths[0], heads * out_channels, False)
            self.lin_dst = _linear(self.widths[1], heads * out_channels, False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None if edge_dim is None else _linear(edge_dim, heads * out_channels, False)
        self.att_edge = None if edge_dim is None else nn.Parameter(torch.empty(1, heads, out_channels))
        self._add_rest(bias)

    def reset_parameters(self) -> None:
        for layer in self.children():
            _reset_glorot(layer)
        _glorot(self.att_src)
        _glorot(self.att_dst)
        if self.att_edge is not None:
            _glorot(self.att_edge)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Union[Tensor, Tuple[Tensor, Optional[Tensor]]], edge_index: Union[Tensor, Graph],
                edge_attr: Optional[Tensor] = None, size: Optional[Tuple[int, int]] = None,
                return_attention_weights: Optional[bool] = None) -> Union[Tensor, Tuple[Tensor, Tuple[Tensor, Tensor]]]:
        shape = (-1, self.heads, self.out_channels)
        source, target = x if isinstance(x, tuple) else (x, x)
        of_source = self.lin if hasattr(self, "lin") else self.lin_src
        of_target = self.lin if hasattr(self, "lin") else self.lin_dst
        h = of_source(source).view(shape)
        dropout = self.dropout if self.training else 0.0
        graph = self._graph(edge_index, source, target, size)
        number = self._graph_number(graph)
        features = self._edge_features(graph, edge_attr)
        fused = features is None and not return_attention_weights
        if fused and target is source and of_target is of_source and h.requires_grad:
            return self._finish(self_attention(number, h, self.att_dst, self.att_src, self.negative_slope, dropout), target)
        t = (h * self.att_src).sum(-1)
        if target is None:
            s = h.new_zeros((graph.num_nodes, self.heads))
        else:
            g = h if target is source and of_target is of_source else of_target(target).view(shape)
            s = (g * self.att_dst).sum(-1)
        if fused:
            return self._finish(attention(number, s, t, h, self.negative_slope, dropout), target)
        # lin_edge, then att_edge, is one [heads, edge_dim] matrix: there is no array [edges, heads, out].
        score = calls.sddmm(number, s, t, "add")
        if features is not None:
            of_edge = self.lin_edge.weight.view(self.heads, self.out_channels, -1) * self.att_edge.view(self.heads, -1, 1)
            score = score + nn.functional.linear(features, of_edge.sum(1))
        score = nn.functional.leaky_relu(score, self.negative_slope)
        return self._attend(graph, score, h, target, return_attention_weights)


class GATv2Conv(_Attention):
    """torch_geometric.nn.GATv2Conv with its edge features. Keeps two arrays [edges, heads, out], as PyG does."""

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int, heads: int = 1, concat: bool = True,
                 negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True, edge_dim: Optional[int] = None,
                 fill_value: Union[float, Tensor, str] = "mean", bias: bool = True, share_weights: bool = False,
                 residual: bool = False, **kwargs: Any) -> None:
        super().__init__()
        self._set_up("GATv2Conv", in_channels, out_channels, heads, concat, negative_slope, dropout, add_self_loops,
                     edge_dim, fill_value, residual, kwargs)
        self.share_weights = share_weights
        self.lin_l = _linear(self.widths[0], heads * out_channels, bias)
        self.lin_r = self.lin_l if share_weights else _linear(self.widths[1], heads * out_channels, bias)
        self.att = nn.Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None if edge_dim is None else _linear(edge_dim, heads * out_channels, False)
        self._add_rest(bias)

    def reset_parameters(self) -> None:
        for layer in self.children():
            _reset_glorot(layer)
        _glorot(self.att)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Union[Tensor, Tuple[Tensor, Optional[Tensor]]], edge_index: Union[Tensor, Graph],
                edge_attr: Optional[Tensor] = None, return_attention_weights: Optional[bool] = None) -> Union[
                    Tensor, Tuple[Tensor, Tuple[Tensor, Tensor]]]:
        shape = (-1, self.heads, self.out_channels)
        source, target = x if isinstance(x, tuple) else (x, x)
        if target is None:
            raise ValueError("GATv2Conv: x must have the features of targets, too: (sources, targets)")
        left = self.lin_l(source).view(shape)
        right = self.lin_r(target).view(shape)
        graph = self._graph(edge_index, source, target)
        features = self._edge_features(graph, edge_attr)
        hidden = calls.sddmm(self._graph_number(graph), right, left, "add")
        if features is not None:
            hidden = hidden + self.lin_edge(features).view(hidden.shape)
        hidden = nn.functional.leaky_relu(hidden, self.negative_slope)
        return self._attend(graph, (hidden * self.att).sum(-1), left, target, return_attention_weights)
