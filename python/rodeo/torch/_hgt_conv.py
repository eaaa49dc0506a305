"""HGTConv, which rodeo.torch.nn shows."""
import math
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Tuple, Union

import torch
from torch import Tensor, nn

from . import _private
from ._functions import dot
from ._graphs import _cached, edge_ends, handle_of
from ._layers import EdgeIndex, Layer, _adjacency, _check_rest, _graph_for, _linear, _refuse_shape
from ..graph import Graph

Relation = Tuple[str, str, str]


class _Maps(nn.Module):
    """A linear map for each node type; PyG's HeteroDictLinear."""

    def __init__(self, widths: Mapping[str, int], out_channels: int) -> None:
        super().__init__()
        self.lins = nn.ModuleDict({kind: _linear(width, out_channels, True) for kind, width in widths.items()})
        self.reset_parameters()  # as there: equal seeds give equal weights

    def reset_parameters(self) -> None:
        for linear in self.lins.values():
            linear.reset_parameters()

    def forward(self, x_dict):
        return {kind: linear(x_dict[kind]) for kind, linear in self.lins.items() if kind in x_dict}


class _Matrices(nn.Module):
    """A square matrix for each head and relation; PyG's HeteroLinear."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, width, width))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        limit = 1 / math.sqrt(self.weight.size(1))
        nn.init.uniform_(self.weight, -limit, limit)


class HGTConv(Layer):
    """torch_geometric.nn.HGTConv. forward({type: x [nodes, in]}, {(source, name, target): edge_index}) gives {type: [nodes, out]}.

    One fused attention over the edges of all relations. Keys and values are kept for each relation: [its sources, out].
    """

    def __init__(self, in_channels: Union[int, Dict[str, int]], out_channels: int, metadata: Tuple[List[str], List[Relation]],
                 heads: int = 1, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("HGTConv", kwargs)
        if out_channels % heads:
            raise ValueError(f"HGTConv: out_channels {out_channels} must be a multiple of heads={heads}")
        kinds, self.edge_types = metadata
        self.in_channels = in_channels if isinstance(in_channels, dict) else {kind: in_channels for kind in kinds}
        self.out_channels, self.heads, self.node_types = out_channels, heads, kinds
        self.dst_node_types = {relation[-1] for relation in self.edge_types}
        self.kqv_lin, self.out_lin = _Maps(self.in_channels, 3 * out_channels), _Maps({kind: out_channels for kind in kinds}, out_channels)
        self.k_rel, self.v_rel = (_Matrices(out_channels // heads, heads * len(self.edge_types)) for _ in range(2))
        self.skip = nn.ParameterDict({kind: nn.Parameter(torch.empty(1)) for kind in kinds})
        self.p_rel = nn.ParameterDict()  # a dict for it would be sorted, which PyG's are not
        for relation in self.edge_types:
            self.p_rel["__".join(relation)] = nn.Parameter(torch.empty(1, heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in self.kqv_lin, self.out_lin, self.k_rel, self.v_rel:
            module.reset_parameters()
        for one in *self.skip.values(), *self.p_rel.values():
            nn.init.ones_(one)

    def forward(self, x_dict: Dict[str, Tensor], edge_index_dict: Mapping[Relation, EdgeIndex]) -> Dict[str, Tensor]:
        if self.explain:
            raise NotImplementedError("HGTConv of rodeo.torch.nn has no edge mask: use torch_geometric.nn for it")
        unknown = [str(relation) for relation in edge_index_dict if relation not in self.edge_types]
        if unknown or not edge_index_dict:
            raise ValueError(f"HGTConv: edge_index_dict has {'no edge_index' if not unknown else unknown[0]}, it must have some of "
                             f"{', '.join(map(str, self.edge_types))}")
        for kind, x in x_dict.items():
            if x.dim() != 2:
                _refuse_shape("HGTConv", f"[nodes, {self.in_channels.get(kind, 'features')}] of {kind}", x)
        width = self.out_channels // self.heads
        kqv = {kind: y.view(-1, 3, self.heads, width).unbind(1) for kind, y in self.kqv_lin(x_dict).items()}
        k_rel, v_rel = (matrices.weight.unflatten(0, (self.heads, -1)) for matrices in (self.k_rel, self.v_rel))
        keys, values = [], []
        for relation in edge_index_dict:
            k, _, v = kqv[relation[0]]
            place = self.edge_types.index(relation)
            scaled = k_rel[:, place] * self.p_rel["__".join(relation)].view(-1, 1, 1)
            keys.append(torch.einsum("nhd,hde->nhe", k, scaled))
            values.append(torch.einsum("nhd,hde->nhe", v, v_rel[:, place]))
        handle = _stacked(edge_index_dict, {kind: parts[0].size(0) for kind, parts in kqv.items()})
        y = dot(handle, torch.cat([q for _, q, _ in kqv.values()]), torch.cat(keys), torch.cat(values), None, None, None, 0.0)
        y = dict(zip(kqv, nn.functional.gelu(y.flatten(1)).split([parts[0].size(0) for parts in kqv.values()])))
        out = self.out_lin({kind: y[kind] for kind in kqv if kind in self.dst_node_types})
        for kind, own in out.items():
            if own.size(-1) == x_dict[kind].size(-1):
                share = self.skip[kind].sigmoid()
                out[kind] = share * own + (1 - share) * x_dict[kind]
        return out

    if TYPE_CHECKING:
        __call__ = forward

    def __repr__(self) -> str:
        return f"HGTConv(-1, {self.out_channels}, heads={self.heads})"


def _stacked(edge_index_dict, sizes):
    """The Handle of all edges: from the sources of each relation, one relation after the other, to the nodes of all types."""
    ends = []
    for edge_index in edge_index_dict.values():
        edge_index = _adjacency(edge_index)[0]
        if isinstance(edge_index, Graph):
            ends.append(edge_ends(edge_index))
        elif edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"HGTConv: an edge_index must be [2, edges], got {list(edge_index.shape)}")
        else:
            ends.append(_private.without_transforms(edge_index).unbind(0))
    begins, first = {}, 0
    for kind, count in sizes.items():
        begins[kind], first = first, first + count
    sources = [sizes[relation[0]] for relation in edge_index_dict]

    def stack():
        befores = [sum(sources[:i]) for i in range(len(sources))]
        return torch.stack([torch.cat([source.long() + before for (source, _), before in zip(ends, befores)]),
                            torch.cat([target.long() + begins[relation[2]] for (_, target), relation in zip(ends, edge_index_dict)])])

    if torch.jit.is_tracing() or torch.compiler.is_compiling():
        return _graph_for(stack(), first, sum(sources))

    def make():
        for relation, pair in zip(edge_index_dict, ends):  # an id that is out of range would be a node of another type
            for ids, kind in zip(pair, relation[::2]):
                if ids.numel() and (ids.min() < 0 or ids.max() >= sizes[kind]):
                    raise ValueError(f"HGTConv: edges of {relation} must have {kind} in [0, {sizes[kind]}), got {int(ids.min())} to "
                                     f"{int(ids.max())}")
        return Graph.from_edge_index(stack(), first, num_sources=sum(sources))

    key = tuple(edge_index_dict), tuple(sizes.items())
    return handle_of(_cached(tuple(end for pair in ends for end in pair), key, make))
