"""ChebConv, which rodeo.torch.nn shows."""
from typing import TYPE_CHECKING, Any, Optional

import torch
from torch import Tensor, nn

from ._define import calls
from ._layers import EdgeIndex, Layer, _check_rest, _check_width, _graph_for, _linear, _nodes_of, _spmm, _weights


class ChebConv(Layer):
    """torch_geometric.nn.ChebConv: K Chebyshev polynomials of the scaled Laplacian. Self loops of the graph are ignored, as there."""

    def __init__(self, in_channels: int, out_channels: int, K: int, normalization: Optional[str] = "sym", bias: bool = True,
                 **kwargs: Any) -> None:
        super().__init__()
        _check_rest("ChebConv", kwargs)
        _check_width("ChebConv", in_channels)
        if not isinstance(K, int) or K < 1:
            raise ValueError(f"ChebConv: K must be a positive number, got {K!r}")
        if normalization not in (None, "sym", "rw"):
            raise ValueError(f"ChebConv: normalization must be None, 'sym' or 'rw', got {normalization!r}")
        self.in_channels, self.out_channels, self.normalization = in_channels, out_channels, normalization
        self.lins = nn.ModuleList([_linear(in_channels, out_channels, False, glorot=True) for _ in range(K)])
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for linear in self.lins:
            linear.reset_parameters()
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def _laplacian(self, handle, weight, x):
        """(weights of edges [edges], the diagonal [nodes, 1]) of the Laplacian without the edges i -> i of the graph."""
        ones = torch.ones((_nodes_of(x), 1), dtype=x.dtype, device=x.device)
        weight = calls.of_ends(handle, ones, True) if weight is None else calls.permute(handle, weight.to(x.dtype), 1.0).view(-1, 1)
        source, target = calls.edge_ends(handle, ones).unbind(1)
        weight = weight.masked_fill((source == target).unsqueeze(1), 0)
        degree = calls.edge_sum(handle, weight, True)  # of sources
        if self.normalization is None:
            return -weight.squeeze(1), degree
        scale = degree.pow(-0.5 if self.normalization == "sym" else -1.0)
        scale = scale.masked_fill(scale == float("inf"), 0)
        weight = weight.squeeze(1) * calls.sddmm(handle, scale if self.normalization == "sym" else ones, scale, "dot")
        return -weight, ones

    def forward(self, x: Tensor, edge_index: EdgeIndex, edge_weight: Optional[Tensor] = None, batch: Optional[Tensor] = None,
                lambda_max: Any = None) -> Tensor:
        edge_index, edge_weight = _weights(edge_index, edge_weight)
        y = self.lins[0](x)
        if len(self.lins) > 1:
            handle = _graph_for(edge_index, _nodes_of(x))
            weight, diagonal = self._laplacian(handle, edge_weight, x)
            if lambda_max is None:
                lambda_max = 2 * torch.cat([weight, diagonal.squeeze(1)]).max()
            weight = self._masked(handle, weight)
            scale = 2 / torch.as_tensor(lambda_max, dtype=x.dtype, device=x.device)
            if batch is not None and scale.numel() > 1:  # of the graph of each source
                scale = scale.view(-1)[batch].view(-1, 1)

            def scaled_laplacian(x):
                z = scale * x
                return diagonal * z + _spmm(handle, z, weight) - x

            before, now = x, scaled_laplacian(x)
            y = y + self.lins[1](now)
            for linear in self.lins[2:]:
                before, now = now, 2 * scaled_laplacian(now) - before
                y = y + linear(now)
        return y if self.bias is None else y + self.bias

    if TYPE_CHECKING:
        __call__ = forward

    def __repr__(self) -> str:
        return f"ChebConv({self.in_channels}, {self.out_channels}, K={len(self.lins)}, normalization={self.normalization})"
