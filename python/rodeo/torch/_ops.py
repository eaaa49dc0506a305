"""The operators, registered with PyTorch: eager, fake, autograd and autocast. Graphs are integers (Graph._id)."""
import torch

from .. import _core, _frameworks
from ..graph import graph_of_id
from ._graphs import inverse_counts, normalized

_library = torch.library.Library("rodeo", "DEF")


class calls:
    """The operators as functions: calls.spmm(...) is torch.ops.rodeo.spmm(...), by a shorter way where nobody watches."""


def _define(schema, compute, fake, backward=None, setup=None, autocast=None):
    """Registers one operator. `compute` runs on the CPU and on CUDA; inputs become contiguous."""
    name = schema[:schema.index("(")]
    _library.define(schema)
    _library.impl(name, compute, "CPU")
    _library.impl(name, compute, "CUDA")
    torch.library.register_fake(f"rodeo::{name}", fake, lib=_library)
    if backward is not None:
        torch.library.register_autograd(f"rodeo::{name}", backward, setup_context=setup, lib=_library)
    if autocast is not None:
        for device in "cpu", "cuda":
            _library.impl(name, _casting(name, device, autocast), f"Autocast{device.upper()}")
    setattr(calls, name, staticmethod(_caller(name, compute, backward, setup)))


def _caller(name, compute, backward, setup):
    """Plain tensors skip the dispatcher and its Python keys, which cost as much as a small kernel."""
    if backward is None:
        recorded = None
    else:
        # Not a static setup_context: PyTorch then inspects the signature of forward in each call.
        def forward(ctx, *args):
            output = compute(*args)
            setup(ctx, args, output)
            return output

        members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        recorded = type(name, (torch.autograd.Function,), members).apply

    def call(*args):
        if torch.compiler.is_compiling() or not _is_plain(args):
            return getattr(_registered, name)(*args)
        if recorded is not None and torch.is_grad_enabled():
            for value in args:
                if isinstance(value, torch.Tensor) and value.requires_grad:
                    return recorded(*args)
        return compute(*args)

    return call


_registered = torch.ops.rodeo
_plain_types = {torch.Tensor, torch.nn.Parameter}


def _is_plain(args):
    """Whether no mode, transform, subclass or autocast would see the call."""
    if torch._C._len_torch_dispatch_stack() or torch._C._are_functorch_transforms_active() or _autocast_is_on():
        return False
    for value in args:
        if type(value) not in _plain_types and isinstance(value, torch.Tensor):
            return False
    return True


if hasattr(torch, "_C") and hasattr(torch._C, "_is_any_autocast_enabled"):
    _autocast_is_on = torch._C._is_any_autocast_enabled
else:
    def _autocast_is_on():
        return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


def _casting(name, device, chosen):
    """The operator with its floating-point inputs cast: to the dtype of autocast, or to `chosen`."""
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, f"Autocast{device.upper()}"))

    def run(*args):
        dtype = chosen if isinstance(chosen, torch.dtype) else torch.get_autocast_dtype(device)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return getattr(_registered, name).default(*(_cast(a, dtype) for a in args))

    return run


def _cast(value, dtype):
    narrow = isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64
    return value.to(dtype) if narrow else value


def _flat(tensor):
    if tensor is None:
        return None
    _frameworks.know(tensor)
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def _keep_graph(ctx, number):
    ctx.number = number
    ctx.graph = graph_of_id(number)  # alive until backward


# spmm


def _spmm(number, x, weight, reduce):
    return _core.spmm(graph_of_id(number)._core, _flat(x), _flat(weight), reduce, "auto", None)


def _spmm_fake(number, x, weight, reduce):
    return x.new_empty((graph_of_id(number).num_nodes, *x.shape[1:]))


def _spmm_gradients(number, x, weight, dy, reduce, needs_weight, needs_x):
    graph, dy = graph_of_id(number), _flat(dy)
    nothing = dy.new_empty((0,))
    if reduce in ("max", "min"):
        dweight, dx = _core.spmm_gradients(graph._core, _flat(x), _flat(weight), dy, reduce, needs_weight, needs_x)
        return nothing if dweight is None else dweight, nothing if dx is None else dx
    if reduce == "mean":
        scale = inverse_counts(graph, dy.dtype)
        dy = (dy * scale.view(-1, *[1] * (dy.dim() - 1))).to(dy.dtype)
    dweight = dx = nothing
    if needs_weight:
        dweight = _core.sddmm(graph._core, dy, _flat(x), "dot", None, None)
    if needs_x:
        back = graph.T
        permuted = None if weight is None else back.permute(_flat(weight))
        dx = _core.spmm(back._core, dy, permuted, "sum", "auto", None)
    return dweight, dx


def _spmm_gradients_fake(number, x, weight, dy, reduce, needs_weight, needs_x):
    dweight = torch.empty_like(weight, memory_format=torch.contiguous_format) if needs_weight else dy.new_empty((0,))
    return dweight, torch.empty_like(x, memory_format=torch.contiguous_format) if needs_x else dy.new_empty((0,))


def _spmm_setup(ctx, inputs, output):
    number, x, weight, reduce = inputs
    _keep_graph(ctx, number)
    ctx.reduce = reduce
    ctx.save_for_backward(x, weight)


def _spmm_backward(ctx, dy):
    x, weight = ctx.saved_tensors
    needs_x, needs_weight = ctx.needs_input_grad[1], weight is not None and ctx.needs_input_grad[2]
    dweight, dx = calls.spmm_gradients(ctx.number, x, weight, dy, ctx.reduce, needs_weight, needs_x)
    return None, dx if needs_x else None, dweight if needs_weight else None, None


_define("spmm(int graph, Tensor x, Tensor? weight, str reduce) -> Tensor", _spmm, _spmm_fake, _spmm_backward,
        _spmm_setup, "autocast")
_define("spmm_gradients(int graph, Tensor x, Tensor? weight, Tensor dy, str reduce, bool needs_weight, bool needs_x) "
        "-> (Tensor, Tensor)", _spmm_gradients, _spmm_gradients_fake)

# gcn_propagate: D^-1/2 (A + I) D^-1/2 x of a graph without edge weights


def _gcn(number, x, transposed):
    normal = normalized(graph_of_id(number), x.dtype)
    graph = normal.graph.T if transposed else normal.graph
    return _core.gcn_propagate(graph._core, normal.scale, _flat(x), None, None)


def _gcn_setup(ctx, inputs, output):
    number, _, ctx.transposed = inputs
    _keep_graph(ctx, number)


def _gcn_backward(ctx, dy):
    return None, calls.gcn(ctx.number, dy, not ctx.transposed), None


_define("gcn(int graph, Tensor x, bool transposed) -> Tensor", _gcn,
        lambda number, x, transposed: torch.empty_like(x, memory_format=torch.contiguous_format), _gcn_backward,
        _gcn_setup, "autocast")

# The same with a scale and weights [edges] of the graph: constants


def _propagate(number, scale, x, weight, transposed):
    graph, weight = graph_of_id(number), _flat(weight)
    if transposed:
        graph = graph.T
        weight = None if weight is None else graph.permute(weight)
    return _core.gcn_propagate(graph._core, _flat(scale), _flat(x), weight, None)


def _propagate_setup(ctx, inputs, output):
    number, scale, _, weight, ctx.transposed = inputs
    _keep_graph(ctx, number)
    ctx.save_for_backward(scale, weight)


def _propagate_backward(ctx, dy):
    scale, weight = ctx.saved_tensors
    return None, None, calls.gcn_propagate(ctx.number, scale, dy, weight, not ctx.transposed), None, None


_define("gcn_propagate(int graph, Tensor scale, Tensor x, Tensor? weight, bool transposed) -> Tensor", _propagate,
        lambda number, scale, x, weight, transposed: torch.empty_like(x, memory_format=torch.contiguous_format),
        _propagate_backward, _propagate_setup, "autocast")

# sddmm


def _sddmm(number, b1, b2, op):
    return _core.sddmm(graph_of_id(number)._core, _flat(b1), _flat(b2), op, None, None)


def _sddmm_fake(number, b1, b2, op):
    tail = b1.shape[1:-1] if op == "dot" else b1.shape[1:]
    return b1.new_empty((graph_of_id(number).num_edges, *tail))


def _sddmm_gradients(number, b1, b2, op, ds, needs_b1, needs_b2):
    db1, db2 = _core.sddmm_gradients(graph_of_id(number)._core, _flat(b1), _flat(b2), op, _flat(ds), needs_b1, needs_b2)
    return ds.new_empty((0,)) if db1 is None else db1, ds.new_empty((0,)) if db2 is None else db2


def _sddmm_gradients_fake(number, b1, b2, op, ds, needs_b1, needs_b2):
    return (b1.new_empty(b1.shape) if needs_b1 else ds.new_empty((0,)),
            b2.new_empty(b2.shape) if needs_b2 else ds.new_empty((0,)))


def _sddmm_setup(ctx, inputs, output):
    number, b1, b2, ctx.op = inputs
    _keep_graph(ctx, number)
    ctx.save_for_backward(b1, b2)


def _sddmm_backward(ctx, ds):
    b1, b2 = ctx.saved_tensors
    needs_b1, needs_b2 = ctx.needs_input_grad[1:3]
    db1, db2 = calls.sddmm_gradients(ctx.number, b1, b2, ctx.op, ds, needs_b1, needs_b2)
    return None, db1 if needs_b1 else None, db2 if needs_b2 else None, None


_define("sddmm(int graph, Tensor b1, Tensor b2, str op) -> Tensor", _sddmm, _sddmm_fake, _sddmm_backward, _sddmm_setup,
        "autocast")
_define("sddmm_gradients(int graph, Tensor b1, Tensor b2, str op, Tensor ds, bool needs_b1, bool needs_b2) "
        "-> (Tensor, Tensor)", _sddmm_gradients, _sddmm_gradients_fake)

# edge_softmax


def _softmax_setup(ctx, inputs, output):
    number, score = inputs
    _keep_graph(ctx, number)
    ctx.save_for_backward(score)


def _softmax_backward(ctx, dy):
    return None, calls.edge_softmax_gradient(ctx.number, *ctx.saved_tensors, dy)


_define("edge_softmax(int graph, Tensor score) -> Tensor",
        lambda number, score: _core.edge_softmax(graph_of_id(number)._core, _flat(score), None),
        lambda number, score: score.new_empty(score.shape), _softmax_backward, _softmax_setup, torch.float32)
_define("edge_softmax_gradient(int graph, Tensor score, Tensor dy) -> Tensor",
        lambda number, score, dy: _core.edge_softmax_gradient(graph_of_id(number)._core, _flat(score), _flat(dy)),
        lambda number, score, dy: score.new_empty(score.shape))

# edge_sum, and its gradient: the value of each edge's target


def _edge_sum_setup(ctx, inputs, output):
    _keep_graph(ctx, inputs[0])


def _targets(number, dy):
    graph = graph_of_id(number)
    if dy.shape[:1] != (graph.num_nodes,):
        raise ValueError(f"[of_targets] x must be [{graph.num_nodes}, ...], got {list(dy.shape)}")
    if "targets" not in graph._cache:
        graph._cache["targets"] = graph.edge_index()[1]
    return dy.index_select(0, graph._cache["targets"])


_define("edge_sum(int graph, Tensor x) -> Tensor",
        lambda number, x: _core.edge_sum(graph_of_id(number)._core, _flat(x), None),
        lambda number, x: x.new_empty((graph_of_id(number).num_nodes, *x.shape[1:])),
        lambda ctx, dy: (None, calls.of_targets(ctx.number, dy)), _edge_sum_setup)
_define("of_targets(int graph, Tensor x) -> Tensor", _targets,
        lambda number, x: x.new_empty((graph_of_id(number).num_edges, *x.shape[1:])),
        lambda ctx, dy: (None, calls.edge_sum(ctx.number, dy)), _edge_sum_setup)

# permute: edge values from the order of edge_index


def _permute(number, values, missing):
    permuted = graph_of_id(number).permute(values, missing)
    return permuted.clone() if permuted is values else permuted


def _permute_setup(ctx, inputs, output):
    _keep_graph(ctx, inputs[0])
    ctx.count = inputs[1].shape[0]


def _permute_gradient(number, dy, count):
    ids = graph_of_id(number).edge_ids
    if ids is None:
        return dy.clone()
    kept = ids >= 0
    scattered = dy.new_zeros((count + 1, *dy.shape[1:]))
    scattered[torch.where(kept, ids, count)] = dy  # added self loops go to the last place, which is dropped
    return scattered[:count].clone()


_define("permute(int graph, Tensor values, float missing) -> Tensor", _permute,
        lambda number, values, missing: values.new_empty((graph_of_id(number).num_edges, *values.shape[1:])),
        lambda ctx, dy: (None, calls.permute_gradient(ctx.number, dy, ctx.count), None), _permute_setup)
_define("permute_gradient(int graph, Tensor dy, SymInt count) -> Tensor", _permute_gradient,
        lambda number, dy, count: dy.new_empty((count, *dy.shape[1:])))

# gat_attention


def _gat(number, s, t, x, slope, dropout, seed):
    return _core.gat_attention_saved(graph_of_id(number)._core, _flat(s), _flat(t), _flat(x), slope, dropout, _flat(seed))


def _gat_fake(number, s, t, x, slope, dropout, seed):
    nodes = graph_of_id(number).num_nodes
    sums = torch.float64 if x.dtype == torch.float64 else torch.float32
    shape = (nodes, *x.shape[1:])
    return x.new_empty(shape), x.new_empty(shape), x.new_empty((nodes, x.shape[1], 3), dtype=sums)


def _gat_setup(ctx, inputs, output):
    number, s, t, x, ctx.slope, ctx.dropout, seed = inputs
    _keep_graph(ctx, number)
    ctx.save_for_backward(s, t, x, seed, *output)
    ctx.set_materialize_grads(False)


def _gat_backward(ctx, dy, dpositive, dstat):
    s, t, x, seed, y, positive, stat = ctx.saved_tensors
    if dy is None:
        return (None,) * 7
    ds, dt, dx = calls.gat_attention_gradients(ctx.number, s, t, x, y, positive, stat, dy, ctx.slope,
                                                         ctx.dropout, seed)
    return None, ds, dt, dx, None, None, None


def _gat_gradients(number, s, t, x, y, positive, stat, dy, slope, dropout, seed):
    return _core.gat_attention_gradients(graph_of_id(number)._core, _flat(s), _flat(t), _flat(x), _flat(y),
                                         _flat(positive), _flat(stat), _flat(dy), slope, dropout, _flat(seed))


_define("gat_attention(int graph, Tensor s, Tensor t, Tensor x, float slope, float dropout, Tensor? seed) "
        "-> (Tensor, Tensor, Tensor)", _gat, _gat_fake, _gat_backward, _gat_setup, "autocast")
_define("gat_attention_gradients(int graph, Tensor s, Tensor t, Tensor x, Tensor y, Tensor positive, Tensor stat, "
        "Tensor dy, float slope, float dropout, Tensor? seed) -> (Tensor, Tensor, Tensor)", _gat_gradients,
        lambda number, s, t, x, *rest: (s.new_empty(s.shape), t.new_empty(t.shape), x.new_empty(x.shape)))
_define("gat_attention_only(int graph, Tensor s, Tensor t, Tensor x, float slope, float dropout, Tensor? seed) "
        "-> Tensor",
        lambda number, s, t, x, slope, dropout, seed: _core.gat_attention(
            graph_of_id(number)._core, _flat(s), _flat(t), _flat(x), slope, dropout, _flat(seed), None),
        lambda number, s, t, x, *rest: x.new_empty((graph_of_id(number).num_nodes, *x.shape[1:])), None, None,
        "autocast")

# gat_self_attention: the scores of a GAT layer and the attention. The vectors are [1, heads, k] or [heads, k]


def _self_gat(number, x, a_dst, a_src, slope, dropout, seed):
    return _core.gat_self_attention_saved(graph_of_id(number)._core, _flat(x), _flat(a_dst), _flat(a_src), slope, dropout,
                                          _flat(seed))


def _self_gat_fake(number, x, a_dst, a_src, slope, dropout, seed):
    scores = x.new_empty(x.shape[:2])
    return *_gat_fake(number, scores, scores, x, slope, dropout, seed), scores, x.new_empty(x.shape[:2])


def _self_gat_setup(ctx, inputs, output):
    number, x, a_dst, a_src, ctx.slope, ctx.dropout, seed = inputs
    _keep_graph(ctx, number)
    ctx.save_for_backward(x, a_dst, a_src, seed, *output)
    ctx.set_materialize_grads(False)


def _self_gat_backward(ctx, dy, *_):
    x, a_dst, a_src, seed, *state = ctx.saved_tensors
    if dy is None:
        return (None,) * 7
    gradients = calls.gat_self_attention_gradients(ctx.number, x, a_dst, a_src, *state, dy, ctx.slope, ctx.dropout, seed)
    return None, *gradients, None, None, None


def _self_gat_gradients(number, x, a_dst, a_src, y, positive, stat, s, t, dy, slope, dropout, seed):
    dx, d_dst, d_src = _core.gat_self_attention_gradients(
        graph_of_id(number)._core, _flat(x), _flat(a_dst), _flat(a_src), _flat(y), _flat(positive), _flat(stat), _flat(s),
        _flat(t), _flat(dy), slope, dropout, _flat(seed))
    return dx, d_dst.view(a_dst.shape), d_src.view(a_src.shape)


_define("gat_self_attention(int graph, Tensor x, Tensor a_dst, Tensor a_src, float slope, float dropout, Tensor? seed) "
        "-> (Tensor, Tensor, Tensor, Tensor, Tensor)", _self_gat, _self_gat_fake, _self_gat_backward, _self_gat_setup,
        "autocast")
_define("gat_self_attention_gradients(int graph, Tensor x, Tensor a_dst, Tensor a_src, Tensor y, Tensor positive, "
        "Tensor stat, Tensor s, Tensor t, Tensor dy, float slope, float dropout, Tensor? seed) -> (Tensor, Tensor, Tensor)",
        _self_gat_gradients,
        lambda number, x, a_dst, a_src, *rest: (x.new_empty(x.shape), a_dst.new_empty(a_dst.shape),
                                                a_src.new_empty(a_src.shape)))

# segment_reduce


def _segment_setup(ctx, inputs, output):
    x, offsets, ctx.reduce = inputs
    ctx.save_for_backward(x, offsets)


def _segment_backward(ctx, dy):
    x, offsets = ctx.saved_tensors
    return calls.segment_reduce_gradient(x, offsets, ctx.reduce, dy), None, None


_define("segment_reduce(Tensor x, Tensor offsets, str reduce) -> Tensor",
        lambda x, offsets, reduce: _core.segment_reduce(_flat(x), _flat(offsets), reduce, None),
        lambda x, offsets, reduce: x.new_empty((offsets.shape[0] - 1, *x.shape[1:])), _segment_backward, _segment_setup)
_define("segment_reduce_gradient(Tensor x, Tensor offsets, str reduce, Tensor dy) -> Tensor",
        lambda x, offsets, reduce, dy: _core.segment_reduce_gradient(_flat(x), _flat(offsets), reduce, _flat(dy)),
        lambda x, offsets, reduce, dy: x.new_empty(x.shape))
