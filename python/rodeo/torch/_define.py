"""How operators are registered with PyTorch: eager, fake, autograd and autocast.

An operator `foo(int graph, ...)` takes a graph as an integer (Graph._id). It is also registered as `foo_on_edges(Tensor
edge_index, SymInt nodes, SymInt sources, bool loops, ...)`, for compiled code, which has no Graph: the graph of an edge_index is
looked up when the operator runs. With `loops` it is the graph with one self loop a node. Its number of edges is then known only
to the operator, so that arrays of edge values are [edges + nodes], with zeros behind the last edge.
"""
from typing import Any, NamedTuple

import torch

from .. import _frameworks
from . import _private
from ._graphs import cached_graph, graph_of_id, num_looped_edges, with_one_loop

_library = torch.library.Library("rodeo", "DEF")


class calls:
    """The operators as functions: calls.spmm(...) is torch.ops.rodeo.spmm(...), by a shorter way where nobody watches."""


class Sizes(NamedTuple):
    """What fake implementations read of the graph of an edge_index: of its edges an upper bound."""

    num_nodes: Any
    num_sources: Any
    num_edges: Any
    num_looped_edges: Any


def sizes_of(graph):
    """Of the first argument of a fake implementation: a Sizes, or the _id of a Graph, whose arrays it must not touch."""
    if isinstance(graph, Sizes):
        return graph
    plain = graph_of_id(abs(graph))
    edges = plain.num_edges if graph > 0 else num_looped_edges(plain)
    return Sizes(plain.num_nodes, plain.num_sources, edges, edges)


def looped_edges_of(graph):
    """The number of edges with one self loop a node; of a Sizes an upper bound."""
    return graph.num_looped_edges if isinstance(graph, Sizes) else num_looped_edges(graph_of_id(graph))


def define(schema, compute, fake, backward=None, setup=None, autocast=None, *, edge_inputs=(), edge_outputs=(),
           adds_loops=False):
    """Registers one operator. `compute` runs on the CPU and on CUDA; inputs become contiguous.

    edge_inputs, edge_outputs   positions of arrays of edge values, among the arguments after the graph and the results
    adds_loops                  these arrays are of with_one_loop(graph)
    """
    _register(schema, compute, fake, backward, setup, autocast)
    if "(int graph, " not in schema:
        return
    name = schema[:schema.index("(")]

    def compute_on_edges(edge_index, nodes, sources, loops, *args):
        graph = cached_graph(edge_index, nodes, sources)
        if loops:
            graph = with_one_loop(graph)
        count = (with_one_loop(graph) if adds_loops else graph).num_edges
        if not (loops or adds_loops):
            return compute(graph._id, *args)
        args, size = list(args), edge_index.shape[1] + nodes
        for i in edge_inputs:
            if args[i] is not None:
                if args[i].dim() == 0 or args[i].shape[0] != size:
                    raise ValueError(f"[{name}] edge values must be [{size}, ...], edges + nodes, got {list(args[i].shape)}")
                args[i] = args[i][:count]
        results = compute(graph._id, *args)
        if not edge_outputs:
            return results
        if isinstance(results, torch.Tensor):
            return _padded(results, count, size)
        return tuple(_padded(r, count, size) if i in edge_outputs else r for i, r in enumerate(results))

    def fake_on_edges(edge_index, nodes, sources, loops, *args):
        edges = edge_index.shape[1]
        return fake(Sizes(nodes, sources, edges + nodes if loops else edges, edges + nodes), *args)

    def setup_on_edges(ctx, inputs, output):
        setup(ctx, (inputs[:4], *inputs[4:]), output)

    def backward_on_edges(ctx, *gradients):
        return (None,) * 4 + tuple(backward(ctx, *gradients))[1:]

    # Captured CUDA graphs of the compiler would not look at a changed edge_index.
    unsafe = getattr(torch.Tag, "cudagraph_unsafe", None)
    on_edges = "_on_edges(Tensor edge_index, SymInt nodes, SymInt sources, bool loops, "
    _register(schema.replace("(int graph, ", on_edges, 1), compute_on_edges, fake_on_edges, backward and backward_on_edges,
              setup and setup_on_edges, autocast, () if unsafe is None else (unsafe,))


def _padded(values, count, size):
    if values.shape[0] != count or count == size:
        return values
    return torch.cat([values, values.new_zeros((size - count, *values.shape[1:]))])


def _register(schema, compute, fake, backward, setup, autocast, tags=()):
    name = schema[:schema.index("(")]
    _library.define(schema, tags=tags)
    _library.impl(name, compute, "CPU")
    _library.impl(name, compute, "CUDA")
    torch.library.register_fake(f"rodeo::{name}", fake, lib=_library)
    if backward is not None:
        torch.library.register_autograd(f"rodeo::{name}", backward, setup_context=setup, lib=_library)
    if autocast is not None:
        for device in "cpu", "cuda":
            _library.impl(name, _casting(name, device, autocast), f"Autocast{device.upper()}")
    setattr(calls, name, staticmethod(_caller(name, compute, backward, setup)))


_registered = torch.ops.rodeo


def _caller(name, compute, backward, setup):
    """Plain tensors skip the dispatcher and its Python keys, which cost as much as a small kernel."""
    if backward is None:
        recorded = None
    else:
        # Not a static setup_context: PyTorch then inspects the signature of forward in each call.
        def forward(ctx, *args):
            setup(ctx, args, output := compute(*args))
            return output

        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        recorded = _private.apply_of(type(name, (torch.autograd.Function,), members))

    # Whether the compiler, a mode, a transform or autocast would see the call. As local names these are read faster.
    is_compiling, transforms_active = torch.compiler.is_compiling, _private.transforms_active
    dispatch_modes, autocast_is_on = _private.dispatch_modes, _private.autocast_is_on
    is_grad_enabled = torch.is_grad_enabled
    plain_types, no_tensors = {torch.Tensor, torch.nn.Parameter}, {int, float, bool, str, type(None)}

    def call(*args):
        if isinstance(args[0], tuple):  # edge_index, nodes, sources, loops
            return getattr(_registered, name + "_on_edges")(*args[0], *args[1:])
        if is_compiling() or dispatch_modes() or transforms_active() or autocast_is_on():
            return getattr(_registered, name)(*args)
        records = False
        for value in args:
            kind = type(value)
            if kind in plain_types:
                if value.requires_grad:
                    records = recorded
            elif kind not in no_tensors and isinstance(value, torch.Tensor):
                return getattr(_registered, name)(*args)
        return recorded(*args) if records and is_grad_enabled() else compute(*args)

    return call


def _casting(name, device, chosen):
    """The operator with its floating-point inputs cast: to the dtype of autocast, or to `chosen`."""
    without_autocast = _private.without_autocast(device)

    def run(*args):
        dtype = chosen if isinstance(chosen, torch.dtype) else torch.get_autocast_dtype(device)
        with without_autocast():
            return getattr(_registered, name).default(*(_cast(a, dtype) for a in args))

    return run


def _cast(value, dtype):
    narrow = isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64
    return value.to(dtype) if narrow else value


_frameworks.know(torch.empty(0))


def flat(tensor):
    return tensor if tensor is None or tensor.is_contiguous() else tensor.contiguous()


def save(ctx, graph, *tensors):
    """Keeps a graph, as the setup of an operator gets it, and tensors for backward."""
    # One attribute, and no save_for_backward() of nothing: each costs more than a Python call.
    if isinstance(graph, tuple):
        ctx.kept = graph[1:], None, None
        ctx.save_for_backward(graph[0], *tensors)
    else:
        ctx.kept = None, graph, graph_of_id(abs(graph))  # which lives until backward, and keeps that with self loops
        if tensors:
            ctx.save_for_backward(*tensors)


def saved(ctx):
    """(graph, *tensors) of save()."""
    of_edges, number, _ = ctx.kept
    if of_edges is None:
        return number, *ctx.saved_tensors
    edge_index, *tensors = ctx.saved_tensors
    return (edge_index, *of_edges), *tensors


def needs_gradient(ctx, argument):
    """Whether an argument needs a gradient. The graph is argument 0."""
    return ctx.needs_input_grad[argument + (0 if ctx.kept[0] is None else 3)]
