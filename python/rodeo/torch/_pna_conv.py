"""PNAConv, which rodeo.torch.nn shows."""
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Union

import torch
from torch import Tensor, nn

from ._aggregations import aggregate, aggregate_edges, names_of
from ._define import calls
from ._layers import EdgeIndex, Layer, _adjacency, _check_rest, _graph_for, _linear, _nodes_of, _refuse_shape, _reset

SCALERS: Dict[str, Callable[[Any, Tensor], Tensor]] = {
    "identity": lambda average, degree: torch.ones_like(degree),
    "amplification": lambda average, degree: torch.log(degree + 1) / average.avg_deg_log,
    "attenuation": lambda average, degree: average.avg_deg_log / torch.log(degree.clamp(min=1) + 1),
    "linear": lambda average, degree: degree / average.avg_deg_lin,
    "inverse_linear": lambda average, degree: average.avg_deg_lin / degree.clamp(min=1),
}


class _Degrees(nn.Module):
    """The average degree and its logarithm, of a histogram. PyG keeps them under the same names."""

    def __init__(self, deg: Tensor, train_norm: bool) -> None:
        super().__init__()
        count, degree = deg.to(torch.float), torch.arange(deg.numel(), device=deg.device)
        nodes = int(count.sum())
        if nodes < 1:
            raise ValueError("PNAConv: deg must be a histogram of the degrees of at least one node, got no node")
        self.first = float((degree * count).sum()) / nodes, float(((degree + 1).log() * count).sum()) / nodes
        for name in "avg_deg_lin", "avg_deg_log":
            if train_norm:
                setattr(self, name, nn.Parameter(torch.empty(1)))
            else:
                self.register_buffer(name, torch.empty(1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with torch.no_grad():
            self.avg_deg_lin.fill_(self.first[0])
            self.avg_deg_log.fill_(self.first[1])


class PNAConv(Layer):
    """torch_geometric.nn.PNAConv. x [nodes, in]. With one layer before the aggregation and no edge features there are no arrays
    of edges: a message is then a term of its target plus one of its source."""

    shown = "in_channels", "out_channels", "towers=", "edge_dim="

    def __init__(self, in_channels: int, out_channels: int, aggregators: List[str], scalers: List[str], deg: Tensor,
                 edge_dim: Optional[int] = None, towers: int = 1, pre_layers: int = 1, post_layers: int = 1,
                 divide_input: bool = False, act: Union[str, nn.Module, None] = "relu",
                 act_kwargs: Optional[Dict[str, Any]] = None, train_norm: bool = False, **kwargs: Any) -> None:
        super().__init__()
        _check_rest("PNAConv", kwargs, aggr=())
        unknown = [name for name in scalers if name not in SCALERS]
        if unknown or not scalers:
            raise ValueError(f"PNAConv: scalers must be some of {', '.join(SCALERS)}, got {scalers!r}")
        if out_channels % towers or (divide_input and in_channels % towers):
            raise ValueError(f"PNAConv: the channels {in_channels} and {out_channels} must be multiples of towers={towers}")
        self.in_channels, self.out_channels, self.edge_dim = in_channels, out_channels, edge_dim
        self.towers, self.divide_input = towers, divide_input
        self.aggregators, self.scalers = names_of("PNAConv", list(aggregators)), list(scalers)
        self.F_in, self.F_out = in_channels // towers if divide_input else in_channels, out_channels // towers
        self.aggr_module = _Degrees(deg, train_norm)
        if edge_dim is not None:
            self.edge_encoder = _linear(edge_dim, self.F_in, True)
        self.pre_nns, self.post_nns = nn.ModuleList(), nn.ModuleList()
        for _ in range(towers):
            for networks, inputs, outputs, layers in (
                    (self.pre_nns, (3 if edge_dim else 2) * self.F_in, self.F_in, pre_layers),
                    (self.post_nns, (len(aggregators) * len(scalers) + 1) * self.F_in, self.F_out, post_layers)):
                modules = [_linear(inputs, outputs, True)]
                for _ in range(layers - 1):
                    modules += [_activation(act, act_kwargs or {}), _linear(outputs, outputs, True)]
                networks.append(nn.Sequential(*modules))
        self.lin = _linear(out_channels, out_channels, True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.aggr_module.reset_parameters()
        if self.edge_dim is not None:
            self.edge_encoder.reset_parameters()
        for module in self.pre_nns, self.post_nns:
            _reset(module)
        self.lin.reset_parameters()

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_attr: Optional[Tensor] = None) -> Tensor:
        adjacency, edge_attr = _adjacency(edge_index, edge_attr) if self.edge_dim is not None else (
            _adjacency(edge_index)[0], edge_attr)
        if (edge_attr is None) != (self.edge_dim is None):
            raise ValueError("PNAConv: edge_attr was given, but the layer was made without edge_dim" if self.edge_dim is None else
                             f"PNAConv: edge_attr is missing: [edges, {self.edge_dim}]")
        if x.dim() != 2:
            _refuse_shape("PNAConv", f"[nodes, {self.in_channels}]", x)
        handle = _graph_for(adjacency, _nodes_of(x))
        x = x.view(-1, self.towers, self.F_in) if self.divide_input else x.unsqueeze(1).expand(-1, self.towers, -1)
        # The first map of each tower, cut into what multiplies the target, the source and the features of the edge.
        first = torch.stack([network[0].weight for network in self.pre_nns]).unflatten(2, (-1, self.F_in))
        bias = torch.stack([network[0].bias for network in self.pre_nns])
        target = (torch.einsum("ntf,tgf->ntg", x, first[:, :, 0]) + bias).flatten(1)
        source = torch.einsum("ntf,tgf->ntg", x, first[:, :, 1]).flatten(1)
        degree = calls.edge_sum(handle, calls.of_ends(handle, torch.ones_like(x[:, :1, 0]), False), False)
        mask = self._masked(handle, None)
        if mask is None and edge_attr is None and all(len(network) == 1 for network in self.pre_nns):
            x_j = source  # PyTorch 2.4 does not compile a comprehension that reads a variable named `source`
            parts = [_of_sums(handle, target, x_j, degree, name) for name in self.aggregators]
        else:
            messages = calls.sddmm(handle, target, source, "add").unflatten(1, (self.towers, self.F_in))
            if edge_attr is not None:
                features = self.edge_encoder(calls.permute(handle, edge_attr, 1.0))
                messages = messages + torch.einsum("ef,tgf->etg", features, first[:, :, 2])
            messages = torch.cat([network[1:](messages[:, t]) for t, network in enumerate(self.pre_nns)], 1)
            messages = messages if mask is None else messages * mask.unsqueeze(1)
            parts = [aggregate_edges(handle, messages, name, x.size(0)) for name in self.aggregators]
        together = torch.cat([part.unflatten(1, (self.towers, self.F_in)) for part in parts], -1)
        scales = [SCALERS[name](self.aggr_module, degree).unsqueeze(-1) for name in self.scalers]
        h = torch.cat([x, *(together * scale.to(x.dtype) for scale in scales)], -1)
        return self.lin(torch.cat([network(h[:, t]) for t, network in enumerate(self.post_nns)], 1))

    if TYPE_CHECKING:
        __call__ = forward

    @staticmethod
    def get_degree_histogram(loader: Iterable[Any]) -> Tensor:
        """How many nodes have 0, 1, ... edges, of all graphs that a loader yields: the argument `deg`."""
        counts = [torch.bincount(torch.bincount(data.edge_index[1], minlength=data.num_nodes)) for data in loader]
        width = max([count.numel() for count in counts], default=1)
        return sum((nn.functional.pad(count, (0, width - count.numel())) for count in counts), torch.zeros(width, dtype=torch.long))


def _of_sums(handle, target, source, degree, name):
    """The aggregate of the messages target[i] + source[j]."""
    if name == "softmax":
        return aggregate_edges(handle, calls.sddmm(handle, target, source, "add"), name, target.size(0))
    of_sources = aggregate(handle, source, None, name)
    if name in ("var", "std"):  # the target is the same in all of them
        return of_sources
    return of_sources + target * (degree if name in ("sum", "add") else degree.clamp(max=1))


def _activation(act, options):
    """PyG's resolver: a module, or the name of one of torch.nn in any spelling."""
    if isinstance(act, nn.Module):
        return act
    wanted = str(act).lower().replace("_", "").replace(" ", "")
    for name in nn.modules.activation.__all__:
        if name.lower() == wanted:
            return getattr(nn, name)(**options)
    raise ValueError(f"PNAConv: act must be a module or the name of an activation of torch.nn, got {act!r}")
