"""RGCNConv, which rodeo.torch.nn shows."""
from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from . import _private
from ._graphs import _cached, handle_of
from ._layers import Layer, _check_rest, _ends_of, _glorot, _graph_for, _refuse_shape, _spmm
from ..graph import Graph


class RGCNConv(Layer):
    """torch_geometric.nn.RGCNConv. forward(x [nodes, in], edge_index [2, edges], edge_type [edges]); x may be a pair (sources, targets).

    One SpMM and one matrix product for all relations. As there, x may be None, or integers [nodes]: rows of the weights are the
    features then.
    """

    shown = "in_channels", "out_channels", "num_relations="

    def __init__(self, in_channels: Union[int, Tuple[int, int]], out_channels: int, num_relations: int,
                 num_bases: Optional[int] = None, num_blocks: Optional[int] = None, aggr: str = "mean", root_weight: bool = True,
                 is_sorted: bool = False, bias: bool = True, **kwargs: Any) -> None:
        super().__init__()
        name = type(self).__name__
        _check_rest(name, {**kwargs, "aggr": aggr}, aggr=("add", "sum", "mean", "max"))
        if num_bases is not None and num_blocks is not None:
            raise ValueError(f"{name}: num_bases and num_blocks are two decompositions of the weights: give one")
        source, target = in_channels if isinstance(in_channels, (tuple, list)) else (in_channels, in_channels)
        if num_blocks is not None and (source % num_blocks or out_channels % num_blocks):
            raise ValueError(f"{name}: in_channels {source} and out_channels {out_channels} must be multiples of num_blocks={num_blocks}")
        self.in_channels, self.out_channels, self.num_relations, self.aggr = in_channels, out_channels, num_relations, aggr
        self.num_bases, self.num_blocks, self.is_sorted = num_bases, num_blocks, is_sorted
        if num_blocks is not None:
            self.weight = nn.Parameter(torch.empty(num_relations, num_blocks, source // num_blocks, out_channels // num_blocks))
        else:
            self.weight = nn.Parameter(torch.empty(num_bases or num_relations, source, out_channels))
        for part, shape in (("comp", (num_relations, num_bases) if num_bases is not None else None),
                            ("root", (target, out_channels) if root_weight else None), ("bias", (out_channels,) if bias else None)):
            self.register_parameter(part, None if shape is None else nn.Parameter(torch.empty(shape)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in self.weight, self.comp, self.root:
            if weight is not None:
                _glorot(weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Union[None, Tensor, Tuple[Optional[Tensor], Tensor]], edge_index: Tensor,
                edge_type: Optional[Tensor] = None) -> Tensor:
        source, target = _ends_of(x)
        if source is None:
            source = torch.arange(self.weight.size(-2), device=self.weight.device)
        target = source if target is None else target
        y = self._aggregate(source, target.size(0), edge_index, edge_type)
        if self.root is not None:
            y = y + (target @ self.root if target.is_floating_point() else self.root[target])
        return y if self.bias is None else y + self.bias

    if TYPE_CHECKING:
        __call__ = forward

    def _aggregate(self, x, nodes, edge_index, edge_type):
        relations, ids, blocks = self.num_relations, not x.is_floating_point(), self.num_blocks
        if x.dim() != (1 if ids else 2) or (ids and blocks):
            _refuse_shape(type(self).__name__, "[nodes, features]" + ("" if blocks else ", or integers [nodes]"), x)
        weight = self.weight if self.comp is None else torch.einsum("rb,bio->rio", self.comp, self.weight)
        # The narrower side is cheaper to aggregate. A maximum is that of x; rows of ids are transformed as they are.
        first = ids or (blocks is None and self.aggr != "max" and x.size(0) * self.out_channels < nodes * x.size(1))
        if first:
            rows = (weight[:, x].movedim(0, 1) if ids else torch.einsum("ni,rio->nro", x, weight)).flatten(0, 1)
        is_sum = self.aggr in ("add", "sum")
        handle = _stacked(edge_index, edge_type, nodes, x.size(0), relations, first, not (first and is_sum))
        y = _spmm(handle, rows if first else x, self._masked(handle, None), "sum" if is_sum else self.aggr)
        if first:
            return y if is_sum else y.view(nodes, relations, -1).sum(1)
        if blocks is None:
            return y.view(nodes, -1) @ weight.flatten(0, 1)
        y = y.view(nodes, relations, blocks, -1).permute(2, 0, 1, 3).flatten(2)  # [blocks, nodes, relations * in]
        return (y @ weight.movedim(1, 0).flatten(1, 2)).movedim(0, 1).flatten(1)


class FastRGCNConv(RGCNConv):
    """torch_geometric.nn.FastRGCNConv: RGCNConv, which needs no other form here."""


def _stacked(edge_index, edge_type, nodes, sources, relations, of_sources, of_targets):
    """The Handle of edges between (source, relation), where `of_sources`, and (target, relation), where `of_targets`."""
    if not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided or edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError("RGCNConv: edge_index must be a tensor [2, edges], with edge_type")
    if edge_type is None or edge_type.shape != edge_index.shape[1:] or edge_type.is_floating_point():
        raise ValueError(f"RGCNConv: edge_type must be integers [{edge_index.size(1)}], got "
                         f"{None if edge_type is None else f'{edge_type.dtype} {list(edge_type.shape)}'}")
    sizes = nodes * (relations if of_targets else 1), sources * (relations if of_sources else 1)

    def ends():
        source, target = edge_index.long().unbind(0)
        return torch.stack([source * relations + edge_type if of_sources else source,
                            target * relations + edge_type if of_targets else target])

    if torch.jit.is_tracing() or torch.compiler.is_compiling():
        return _graph_for(ends(), *sizes)

    def make():
        # An id that is out of range would be another one of the stack.
        for what, ids, count in ("edge_type", edge_type, relations), ("sources", edge_index[0], sources), ("targets", edge_index[1], nodes):
            if ids.numel() and (ids.min() < 0 or ids.max() >= count):
                raise ValueError(f"RGCNConv: {what} must be in [0, {count}), got {int(ids.min())} to {int(ids.max())}")
        return Graph.from_edge_index(ends(), sizes[0], num_sources=sizes[1])

    edge_index, edge_type = _private.without_transforms(edge_index), _private.without_transforms(edge_type)
    return handle_of(_cached((edge_index, edge_type), (*sizes, relations, "relations"), make))
