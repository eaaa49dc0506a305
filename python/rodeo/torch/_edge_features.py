"""The operator with_loop_features: edge features of a graph whose self loops PyG has replaced."""
import torch

from .. import _core
from . import _private
from ..graph import Graph
from ._define import calls, composed_gradients, define, flat, needs_gradient, options_of, saved
from ._graphs import Handle, graph_of_handle, with_one_loop

REDUCES = ("add", "sum", "mean", "max", "min")


class _Places:
    """Where features of edges and of loops go: index arrays, and the graph without self loops."""

    def __init__(self, graph):
        sources, targets = graph.edge_index()
        kept = (sources != targets).nonzero().squeeze(1)
        self.original = kept if graph.edge_ids is None else graph.edge_ids[kept]  # positions in edge_index
        self.plain = Graph.from_edge_index((sources[kept], targets[kept]), graph.num_nodes, num_sources=graph.num_sources)
        self.looped = with_one_loop(graph)
        sources, targets = self.looped.edge_index()
        self.edges, self.loops = (sources != targets).nonzero().squeeze(1), (sources == targets).nonzero().squeeze(1)
        self.order = torch.empty(sources.shape[0], dtype=torch.int64, device=sources.device)  # of edges, then of loops
        self.order[torch.cat([self.edges, self.loops])] = torch.arange(sources.shape[0], device=sources.device)
        self.targets = self.plain.edge_index()[1]
        offsets = self.plain.indptr
        self.counts = (offsets[1:] - offsets[:-1]).clamp(min=1).unsqueeze(1)
        # Row i has the edges of target i as columns: its maximum is spmm's, which does not wait for the device.
        edges = torch.arange(self.plain.num_edges, device=offsets.device, dtype=torch.int32)
        self.of_target = Graph.from_csr(offsets, edges, self.plain.num_edges)


@_private.outside_transforms
def _places(graph):
    if "places" not in graph._cache:
        graph._cache["places"] = _Places(graph)
    return graph._cache["places"]


def _check_features(graph, features):
    count = graph._values
    if features.dim() != 2 or features.size(0) != count:
        raise ValueError(f"[with_loop_features] features must be [{count}, n], one row for each original edge, got "
                         f"{list(features.shape)}")


def _with_loops(graph, features, constant, reduce):
    """Differentiable, too."""
    at = _places(graph)
    _check_features(graph, features)
    chosen, loops = features[at.original], at.loops.numel()
    if constant is not None:
        fill = constant.to(features.dtype).expand(loops, features.size(1))
    elif reduce in ("max", "min"):
        fill = calls.spmm(at.of_target, chosen, None, reduce, "auto", False)
    else:
        fill = calls.edge_sum(at.plain, chosen, False)
        if reduce == "mean":
            fill = fill / at.counts.to(fill.dtype)
    return torch.cat([chosen, fill[:loops]]).index_select(0, at.order)


def _gradient(graph, features, dy, constant, reduce):
    at = _places(graph)
    _check_features(graph, features)
    if dy.shape != (at.looped.num_edges, features.size(1)):
        raise ValueError(f"[with_loop_features] dy must be [{at.looped.num_edges}, {features.size(1)}], got {list(dy.shape)}")
    chosen = dy[at.edges]
    if not constant:
        fill = dy.new_zeros((at.plain.num_nodes, dy.size(1)))
        fill[:at.loops.numel()] = dy[at.loops]
        if reduce in ("max", "min"):
            extremum = _core.spmm_gradients(at.of_target._core, flat(features[at.original]), None, fill, reduce, False, True)[1]
            chosen = chosen + extremum
        else:
            chosen = chosen + (fill / at.counts.to(fill.dtype) if reduce == "mean" else fill)[at.targets]
    result = torch.zeros_like(features, memory_format=torch.contiguous_format)
    result[at.original] = chosen
    return result


def _kept(ctx, args, output):
    ctx.constant = args[2] is not None
    return args[1:2]


def _backward(ctx, dy):
    graph, features = saved(ctx)
    reduce, = options_of(ctx)
    if not torch.is_grad_enabled():
        return None, calls.with_loop_features_gradient(graph, features, dy, ctx.constant, reduce), None, None
    if isinstance(graph, Handle) and graph.on_edges():
        raise NotImplementedError("[with_loop_features] has no second derivative in compiled code with an edge_index: give a "
                                  "rodeo.Graph")
    constant = features.new_zeros((1, 1)) if ctx.constant else None  # whatever it is, it has no part in the gradient
    return None, *composed_gradients(lambda f: _with_loops(graph_of_handle(graph), f, constant, reduce), (features,),
                                     [needs_gradient(ctx, 1)], dy), None, None


define("with_loop_features(graph, Tensor features, Tensor? constant, str reduce) -> Tensor", _with_loops,
       lambda sizes, features, *_: features.new_empty((sizes.num_looped_edges(), features.shape[1])), keep=_kept,
       backward=_backward, composed=lambda graph, *args: _with_loops(graph_of_handle(graph), *args), edge_outputs=(0,), adds_loops=True)
define("with_loop_features_gradient(graph, Tensor features, Tensor dy, bool constant, str reduce) -> Tensor", _gradient,
       lambda sizes, features, *_: features.new_empty(features.shape), edge_inputs=(1,), adds_loops=True)
