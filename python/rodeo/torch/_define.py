"""How operators are registered with PyTorch: eager, fake, autograd, forward mode, torch.func and autocast.

The schema of an operator is written foo(graph, ...), and calls.foo takes a Graph or a Handle there. It is registered as foo(int
graph, bool loops, ...), with Graph._id, and as foo_on_edges(Tensor edge_index, SymInt nodes, SymInt sources, bool loops, ...) for compiled
and traced code, which has no Graph: the graph of an edge_index is looked up when the operator runs. With `loops` it is the graph
with one self loop a node. Its number of edges is then known only to the operator, so that arrays of edge values are
[edges + nodes], with zeros behind the last edge.
"""
from typing import Any, Callable, NamedTuple

import torch

from .. import _frameworks
from . import _private
from ._graphs import Handle, graph_of_id, handle_of, num_looped_edges, with_one_loop
from ..graph import Graph

_library = torch.library.Library("rodeo", "DEF")
_registered = torch.ops.rodeo


class calls:
    """The operators as functions: calls.spmm(graph, ...) is torch.ops.rodeo.spmm, by a shorter way where nobody watches."""


class Sizes(NamedTuple):
    """What fake implementations read of a graph, whose arrays they must not touch. Of an edge_index, edges are an upper bound."""

    num_nodes: Any
    num_sources: Any
    num_edges: Any
    num_looped_edges: Callable


class Rules(NamedTuple):
    """How an operator is differentiated and mapped. `args` begins with the Graph or Handle, where there is one.

    keep(ctx, args, output)   the tensors that backward needs, which saved(ctx) gives
    backward(ctx, *gradients)   a gradient or None for each of args
    linear      positions of arguments in each of which the result is linear
    jvp(args, tangents)   the tangent of the result, where it is not the sum over `linear`
    composed(*args)   the same result from operators that have all derivatives; NotImplemented where this one has them
    columns     the position of an argument each of whose columns is computed alone: vmap over it is one call
    """

    keep: Any = lambda ctx, args, output: ()
    backward: Any = None
    linear: tuple = ()
    jvp: Any = None
    composed: Any = None
    columns: Any = None


def define(schema, compute, fake, autocast=None, *, edge_inputs=(), edge_outputs=(), adds_loops=False, **rules):
    """Registers one operator. `compute(graph, ...)` runs on the CPU and on CUDA; `fake(sizes, ...)` gives shapes.

    edge_inputs, edge_outputs   positions of arrays of edge values, among the arguments after the graph and the results
    adds_loops                  these arrays are of with_one_loop(graph)
    """
    rules = Rules(**rules)
    name, arguments = schema[:schema.index(")")].split("(")
    places = _places(arguments.split(", "))
    if "(graph, " not in schema:
        _register(schema, compute, fake, rules, places, autocast, 0)
        setattr(calls, name, staticmethod(_caller(name, compute, rules, places)))
        return

    def compute_of_number(number, loops, *args):
        return compute(Handle((number,), loops).graph(), *args)

    def fake_of_number(number, loops, *args):
        plain = graph_of_id(number)
        edges = num_looped_edges(plain) if loops else plain.num_edges
        return fake(Sizes(plain.num_nodes, plain.num_sources, edges, lambda: num_looped_edges(plain)), *args)

    def compute_on_edges(edge_index, nodes, sources, loops, *args):
        graph = Handle((edge_index, nodes, sources), loops).graph()
        count = (with_one_loop(graph) if adds_loops else graph).num_edges
        if not (loops or adds_loops):
            return compute(graph, *args)
        args, size = list(args), edge_index.shape[1] + nodes
        for i in edge_inputs:
            if args[i] is not None:
                if args[i].dim() == 0 or args[i].shape[0] != size:
                    raise ValueError(f"[{name}] edge values must be [{size}, ...], edges + nodes, got {list(args[i].shape)}")
                args[i] = args[i][:count]
        results = compute(graph, *args)
        if not edge_outputs:
            return results
        if isinstance(results, torch.Tensor):
            return _padded(results, count, size)
        return tuple(_padded(r, count, size) if i in edge_outputs else r for i, r in enumerate(results))

    def fake_on_edges(edge_index, nodes, sources, loops, *args):
        edges = edge_index.shape[1]
        return fake(Sizes(nodes, sources, edges + nodes if loops else edges, lambda: edges + nodes), *args)

    _register(schema.replace("(graph, ", "(int graph, bool loops, ", 1), compute_of_number, fake_of_number, rules, places, autocast, 2)
    # Captured CUDA graphs of the compiler would not look at a changed edge_index.
    unsafe = getattr(torch.Tag, "cudagraph_unsafe", None)
    on_edges = "_on_edges(Tensor edge_index, SymInt nodes, SymInt sources, bool loops, "
    _register(schema.replace("(graph, ", on_edges, 1), compute_on_edges, fake_on_edges, rules, places, autocast, 4,
              () if unsafe is None else (unsafe,))
    setattr(calls, name, staticmethod(_caller(name, compute, rules, places)))


class Places(NamedTuple):
    """Where the arguments of an operator stand."""

    graph: bool     # whether the first one is the graph
    tensors: list
    options: slice  # those that are neither stand side by side


def _places(arguments):
    graph = arguments[0] == "graph"
    tensors = [i for i, argument in enumerate(arguments) if argument.startswith("Tensor")]
    options = [i for i in range(int(graph), len(arguments)) if i not in tensors]
    return Places(graph, tensors, slice(options[0], options[-1] + 1) if options else slice(0))


def _padded(values, count, size):
    if values.shape[0] != count or count == size:
        return values
    return torch.cat([values, values.new_zeros((size - count, *values.shape[1:]))])


def _register(schema, compute, fake, rules, places, autocast, leading, tags=()):
    """`leading`: how many arguments say which graph."""
    name = schema[:schema.index("(")]
    _library.define(schema, tags=tags)
    _library.impl(name, compute, "CPU")
    _library.impl(name, compute, "CUDA")
    torch.library.register_fake(f"rodeo::{name}", fake, lib=_library)

    def setup(ctx, inputs, output):
        if leading:
            inputs = Handle(tuple(inputs[:leading - 1]), inputs[leading - 1]), *inputs[leading:]
        _keep(ctx, rules, places, inputs, output)

    def backward(ctx, *gradients):
        return (None,) * leading + tuple(rules.backward(ctx, *gradients))[1:]

    if rules.backward is not None:
        torch.library.register_autograd(f"rodeo::{name}", backward if leading else rules.backward, setup_context=setup, lib=_library)
    if autocast is not None:
        for device in "cpu", "cuda":
            _library.impl(name, _casting(name, device, autocast), f"Autocast{device.upper()}")


def _caller(name, compute, rules, places):
    """Plain tensors skip the dispatcher and its Python keys, which cost as much as a small kernel."""
    composed, recorded, transformed = rules.composed, None, None
    of_graph, tensors, options = places
    if not _private.SEES_TRANSFORMS:
        rules, composed = rules._replace(linear=(), jvp=None), None
    if rules.backward is not None:
        keep = rules.keep

        # _keep() of a Graph, with one attribute, and without save_for_backward() of nothing: each costs more than a Python call.
        # Not a static setup_context: PyTorch then inspects the signature of forward in each call.
        def forward(ctx, *args):
            output = compute(*args)
            kept = keep(ctx, args, output)
            ctx.kept = args[0] if of_graph else None, 0, args[options]
            if kept:
                ctx.save_for_backward(*kept)
            return output

        members = {"forward": staticmethod(forward), "backward": staticmethod(rules.backward)}
        recorded = _private.apply_of(type(name, (torch.autograd.Function,), members))

    # What may watch a call. As local names these are read faster.
    is_compiling, is_tracing = torch.compiler.is_compiling, _private.is_tracing
    forward_level, forward_enabled = _private.forward_level, _private.forward_enabled
    dispatch_modes, autocast_is_on = _private.dispatch_modes, _private.autocast_is_on
    transforms_active, is_grad_enabled = _private.transforms_active, torch.is_grad_enabled
    tensor_type, parameter_type = torch.Tensor, torch.nn.Parameter

    def registered(args):
        first = args[0]
        if isinstance(first, Graph):
            first = handle_of(first)
        if not isinstance(first, Handle):
            return getattr(_registered, name)(*args)
        return getattr(_registered, name + "_on_edges" if first.on_edges() else name)(*first.key, first.loops, *args[1:])

    def call(*args):
        if is_compiling() or is_tracing():
            return registered(args)
        if transforms_active() or (forward_level("_current_level", -1) >= 0 and forward_enabled()):
            result = NotImplemented if composed is None else composed(*args)
            if result is not NotImplemented:
                return result
            return registered(args) if transformed is None else transformed(*args)
        if dispatch_modes() or autocast_is_on():
            return registered(args)
        first = args[0]
        if type(first) is Handle:
            if first.on_edges():
                return registered(args)
            args = (first.graph(), *args[1:])
        records = False
        for i in tensors:
            value = args[i]
            if value is None:
                continue
            kind = type(value)
            if kind is tensor_type or kind is parameter_type:
                if value.requires_grad:
                    records = True
            elif isinstance(value, tensor_type):
                return registered(args)
        if records and is_grad_enabled():
            if recorded is None:
                raise NotImplementedError(f"[{name}] has no derivative: detach its arguments, or use torch.no_grad()")
            return recorded(*args)
        return compute(*args)

    if rules.linear or rules.jvp:
        transformed = _transformed(name, call, rules, places)
    return call


def _transformed(name, call, rules, places):
    """The operator under torch.func and in forward mode: each level is taken off, and the next one sees `call` again."""

    class Transformed(torch.autograd.Function):
        @staticmethod
        def forward(*args):
            return call(*args)

        @staticmethod
        def setup_context(ctx, args, output):
            _keep(ctx, rules, places, args, output)
            ctx.set_materialize_grads(False)
            ctx.args = [None if isinstance(a, torch.Tensor) else a for a in args]
            ctx.places = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor)]
            ctx.save_for_forward(*(args[i] for i in ctx.places))

        @staticmethod
        def backward(ctx, dy):
            return (None,) * len(ctx.args) if dy is None else rules.backward(ctx, dy)

        @staticmethod
        def jvp(ctx, *tangents):
            args = list(ctx.args)
            for i, tensor in zip(ctx.places, ctx.saved_tensors):
                args[i] = tensor
            if rules.jvp is not None:
                return rules.jvp(args, tangents)
            terms = [call(*args[:i], tangents[i], *args[i + 1:]) for i in rules.linear if tangents[i] is not None]
            return None if not terms else sum(terms[1:], terms[0])

        @staticmethod
        def vmap(info, in_dims, *args):
            at = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and in_dims[i] is not None]
            if at == [rules.columns]:
                i = rules.columns
                x = args[i].movedim(in_dims[i], -1)
                y = call(*args[:i], x.flatten(-2) if x.dim() > 2 else x, *args[i + 1:])
                return (y.unflatten(-1, x.shape[-2:]) if x.dim() > 2 else y).movedim(-1, 0), 0
            return torch.stack([call(*(a.select(in_dims[i], b) if i in at else a for i, a in enumerate(args)))
                                for b in range(info.batch_size)]), 0

    Transformed.__name__ = name
    return Transformed.apply


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


def _keep(ctx, rules, places, args, output):
    """Keeps the graph and what the rules say for backward."""
    kept, graph, before = rules.keep(ctx, args, output), args[0] if places.graph else None, 0
    if isinstance(graph, Handle) and graph.on_edges():
        kept = graph.key[0], *kept
        graph, before = Handle((None, *graph.key[1:]), graph.loops), 3
    elif isinstance(graph, Handle) and graph.plain is None:  # the graph lives until backward
        graph, before = graph._replace(plain=graph_of_id(graph.key[0])), 1
    ctx.kept = graph, before, args[places.options]  # before: how many more arguments a registered operator has for the graph
    if kept:
        ctx.save_for_backward(*kept)


def saved(ctx):
    """(graph, *tensors) that were kept for backward."""
    graph = ctx.kept[0]
    if type(graph) is not Handle or not graph.on_edges():
        return graph, *ctx.saved_tensors
    edge_index, *tensors = ctx.saved_tensors
    return Handle((edge_index, *graph.key[1:]), graph.loops), *tensors


def options_of(ctx):
    """The arguments of the call that are neither the graph nor tensors."""
    return ctx.kept[2]


def needs_gradient(ctx, argument):
    """Whether an argument needs a gradient. The graph is argument 0."""
    return ctx.needs_input_grad[argument + ctx.kept[1]]


def composed_gradients(function, inputs, needed, dy):
    """Gradients of function(*inputs), which PyTorch can differentiate again; None where they are not needed."""
    # Views: an input may have been computed from another one.
    inputs = [x.view_as(x) if need else x for x, need in zip(inputs, needed)]
    gradients = iter(torch.autograd.grad(function(*inputs), [x for x, need in zip(inputs, needed) if need], dy,
                                         create_graph=True, allow_unused=True))
    return [next(gradients) if need else None for need in needed]
