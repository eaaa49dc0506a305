"""The operator with_loop_features: edge features of a graph whose self loops PyG has replaced."""
import torch

from .. import _core
from ..graph import Graph
from ._define import calls, define, flat, looped_edges_of, save, saved
from ._graphs import graph_of_id, with_one_loop

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
        self.targets = self.plain.edge_index()[1]
        offsets = self.plain.indptr
        self.counts = (offsets[1:] - offsets[:-1]).clamp(min=1).unsqueeze(1)
        # Row i has the edges of target i as columns: its maximum is spmm's, which does not wait for the device.
        edges = torch.arange(self.plain.num_edges, device=offsets.device, dtype=torch.int32)
        self.of_target = Graph.from_csr(offsets, edges, self.plain.num_edges)


def _places(number):
    graph = graph_of_id(number)
    if "places" not in graph._cache:
        graph._cache["places"] = _Places(graph)
    return graph._cache["places"]


def _check_features(number, features):
    count = graph_of_id(number)._values
    if features.dim() != 2 or features.size(0) != count:
        raise ValueError(f"[with_loop_features] features must be [{count}, n], one row for each original edge, got "
                         f"{list(features.shape)}")


def _with_loops(number, features, constant, reduce):
    at = _places(number)
    _check_features(number, features)
    chosen = features[at.original]
    if constant is not None:
        fill = constant.expand(at.loops.numel(), features.size(1))
    elif reduce in ("max", "min"):
        fill = _core.spmm(at.of_target._core, flat(chosen), None, reduce, "auto", None)
    else:
        fill = _core.edge_sum(at.plain._core, flat(chosen), None)
        if reduce == "mean":
            fill = fill / at.counts.to(fill.dtype)
    result = features.new_empty((at.looped.num_edges, features.size(1)))
    result[at.edges] = chosen
    result[at.loops] = fill[:at.loops.numel()]
    return result


def _gradient(number, features, dy, constant, reduce):
    at = _places(number)
    _check_features(number, features)
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


def _setup(ctx, inputs, output):
    graph, features, constant, ctx.reduce = inputs
    ctx.constant = constant is not None
    save(ctx, graph, features)


def _backward(ctx, dy):
    return None, calls.with_loop_features_gradient(*saved(ctx), dy, ctx.constant, ctx.reduce), None, None


define("with_loop_features(int graph, Tensor features, Tensor? constant, str reduce) -> Tensor", _with_loops,
       lambda number, features, *_: features.new_empty((looped_edges_of(number), features.shape[1])),
       _backward, _setup, edge_outputs=(0,), adds_loops=True)
define("with_loop_features_gradient(int graph, Tensor features, Tensor dy, bool constant, str reduce) -> Tensor", _gradient,
       lambda number, features, *_: features.new_empty(features.shape), edge_inputs=(1,), adds_loops=True)
