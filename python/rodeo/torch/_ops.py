"""The operators: how each computes, its shape, its gradients."""
import torch

from .. import _core
from ._define import calls, define, flat, needs_gradient, save, saved, sizes_of
from ._graphs import graph_of_id, inverse_counts, normalized

# spmm


def _spmm(number, x, weight, reduce, algorithm="auto"):
    return _core.spmm(graph_of_id(number)._core, flat(x), flat(weight), reduce, algorithm, None)


def _spmm_fake(number, x, weight, reduce, algorithm="auto"):
    return x.new_empty((sizes_of(number).num_nodes, *x.shape[1:]))


def _spmm_gradients(number, x, weight, dy, reduce, needs_weight, needs_x, algorithm="auto"):
    graph, dy = graph_of_id(number), flat(dy)
    nothing = dy.new_empty((0,))
    if reduce in ("max", "min"):
        dweight, dx = _core.spmm_gradients(graph._core, flat(x), flat(weight), dy, reduce, needs_weight, needs_x)
        return nothing if dweight is None else dweight, nothing if dx is None else dx
    if reduce == "mean":
        scale = inverse_counts(graph, dy.dtype)
        dy = (dy * scale.view(-1, *[1] * (dy.dim() - 1))).to(dy.dtype)
    dweight = dx = nothing
    if needs_weight:
        dweight = _core.sddmm(graph._core, dy, flat(x), "dot", None, None)
    if needs_x:
        back = graph.T
        permuted = None if weight is None else back.permute(flat(weight))
        dx = _core.spmm(back._core, dy, permuted, "sum", algorithm, None)
    return dweight, dx


def _spmm_gradients_fake(number, x, weight, dy, reduce, needs_weight, needs_x, algorithm="auto"):
    dweight = torch.empty_like(weight, memory_format=torch.contiguous_format) if needs_weight else dy.new_empty((0,))
    return dweight, dy.new_empty((sizes_of(number).num_sources, *dy.shape[1:])) if needs_x else dy.new_empty((0,))


def _spmm_setup(ctx, inputs, output):
    graph, x, weight, ctx.reduce, ctx.algorithm = inputs
    # The gradient of x in a sum or mean without weights needs the graph alone: x may be freed.
    if weight is None and ctx.reduce in ("sum", "mean"):
        save(ctx, graph)
    else:
        save(ctx, graph, x, weight)


def _spmm_backward(ctx, dy):
    graph, *kept = saved(ctx)
    x, weight = kept or (None, None)
    needs_x, needs_weight = needs_gradient(ctx, 1), weight is not None and needs_gradient(ctx, 2)
    dweight, dx = calls.spmm_gradients(graph, dy if x is None else x, weight, dy, ctx.reduce, needs_weight, needs_x,
                                       ctx.algorithm)
    return None, dx if needs_x else None, dweight if needs_weight else None, None, None


define("spmm(int graph, Tensor x, Tensor? weight, str reduce, str algorithm=\"auto\") -> Tensor", _spmm, _spmm_fake,
        _spmm_backward, _spmm_setup, "autocast", edge_inputs=(1,))
define("spmm_gradients(int graph, Tensor x, Tensor? weight, Tensor dy, str reduce, bool needs_weight, bool needs_x, "
        "str algorithm=\"auto\") -> (Tensor, Tensor)", _spmm_gradients, _spmm_gradients_fake, edge_inputs=(1,), edge_outputs=(0,))

# gcn_propagate: D^-1/2 (A + I) D^-1/2 x of a graph without edge weights


def _gcn(number, x, transposed):
    normal = normalized(graph_of_id(number), x.dtype)
    graph = normal.graph.T if transposed else normal.graph
    return _core.gcn_propagate(graph._core, normal.scale, flat(x), None, None)


def _gcn_setup(ctx, inputs, output):
    graph, _, ctx.transposed = inputs
    save(ctx, graph)


def _gcn_backward(ctx, dy):
    graph, = saved(ctx)
    return None, calls.gcn(graph, dy, not ctx.transposed), None


define("gcn(int graph, Tensor x, bool transposed) -> Tensor", _gcn,
        lambda number, x, transposed: torch.empty_like(x, memory_format=torch.contiguous_format), _gcn_backward,
        _gcn_setup, "autocast")

# The same with a scale and weights [edges] of the graph: constants


def _propagate(number, scale, x, weight, transposed):
    graph, weight = graph_of_id(number), flat(weight)
    if transposed:
        graph = graph.T
        weight = None if weight is None else graph.permute(weight)
    return _core.gcn_propagate(graph._core, flat(scale), flat(x), weight, None)


def _propagate_setup(ctx, inputs, output):
    graph, scale, _, weight, ctx.transposed = inputs
    save(ctx, graph, scale, weight)


def _propagate_backward(ctx, dy):
    graph, scale, weight = saved(ctx)
    return None, None, calls.gcn_propagate(graph, scale, dy, weight, not ctx.transposed), None, None


define("gcn_propagate(int graph, Tensor scale, Tensor x, Tensor? weight, bool transposed) -> Tensor", _propagate,
        lambda number, scale, x, weight, transposed: torch.empty_like(x, memory_format=torch.contiguous_format),
        _propagate_backward, _propagate_setup, "autocast", edge_inputs=(2,))

# sddmm


def _sddmm(number, b1, b2, op):
    return _core.sddmm(graph_of_id(number)._core, flat(b1), flat(b2), op, None, None)


def _sddmm_fake(number, b1, b2, op):
    tail = b1.shape[1:-1] if op == "dot" else b1.shape[1:]
    return b1.new_empty((sizes_of(number).num_edges, *tail))


def _sddmm_gradients(number, b1, b2, op, ds, needs_b1, needs_b2):
    db1, db2 = _core.sddmm_gradients(graph_of_id(number)._core, flat(b1), flat(b2), op, flat(ds), needs_b1, needs_b2)
    return ds.new_empty((0,)) if db1 is None else db1, ds.new_empty((0,)) if db2 is None else db2


def _sddmm_gradients_fake(number, b1, b2, op, ds, needs_b1, needs_b2):
    return (b1.new_empty(b1.shape) if needs_b1 else ds.new_empty((0,)),
            b2.new_empty(b2.shape) if needs_b2 else ds.new_empty((0,)))


def _sddmm_setup(ctx, inputs, output):
    graph, b1, b2, ctx.op = inputs
    save(ctx, graph, b1, b2)


def _sddmm_backward(ctx, ds):
    graph, b1, b2 = saved(ctx)
    needs_b1, needs_b2 = needs_gradient(ctx, 1), needs_gradient(ctx, 2)
    db1, db2 = calls.sddmm_gradients(graph, b1, b2, ctx.op, ds, needs_b1, needs_b2)
    return None, db1 if needs_b1 else None, db2 if needs_b2 else None, None


define("sddmm(int graph, Tensor b1, Tensor b2, str op) -> Tensor", _sddmm, _sddmm_fake, _sddmm_backward, _sddmm_setup,
        "autocast", edge_outputs=(0,))
define("sddmm_gradients(int graph, Tensor b1, Tensor b2, str op, Tensor ds, bool needs_b1, bool needs_b2) "
        "-> (Tensor, Tensor)", _sddmm_gradients, _sddmm_gradients_fake, edge_inputs=(3,))

# edge_softmax


def _softmax_setup(ctx, inputs, output):
    save(ctx, *inputs)


def _softmax_backward(ctx, dy):
    return None, calls.edge_softmax_gradient(*saved(ctx), dy)


define("edge_softmax(int graph, Tensor score) -> Tensor",
        lambda number, score: _core.edge_softmax(graph_of_id(number)._core, flat(score), None),
        lambda number, score: score.new_empty(score.shape), _softmax_backward, _softmax_setup, torch.float32,
        edge_inputs=(0,), edge_outputs=(0,))
define("edge_softmax_gradient(int graph, Tensor score, Tensor dy) -> Tensor",
        lambda number, score, dy: _core.edge_softmax_gradient(graph_of_id(number)._core, flat(score), flat(dy)),
        lambda number, score, dy: score.new_empty(score.shape), edge_inputs=(0, 1), edge_outputs=(0,))

# edge_sum, and its gradient: the value of each edge's target


def _edge_sum_setup(ctx, inputs, output):
    save(ctx, inputs[0])


def _targets(number, dy):
    graph = graph_of_id(number)
    if dy.shape[:1] != (graph.num_nodes,):
        raise ValueError(f"[of_targets] x must be [{graph.num_nodes}, ...], got {list(dy.shape)}")
    if "targets" not in graph._cache:
        graph._cache["targets"] = graph.edge_index()[1]
    return dy.index_select(0, graph._cache["targets"])


define("edge_sum(int graph, Tensor x) -> Tensor",
        lambda number, x: _core.edge_sum(graph_of_id(number)._core, flat(x), None),
        lambda number, x: x.new_empty((sizes_of(number).num_nodes, *x.shape[1:])),
        lambda ctx, dy: (None, calls.of_targets(*saved(ctx), dy)), _edge_sum_setup, edge_inputs=(0,))
define("of_targets(int graph, Tensor x) -> Tensor", _targets,
        lambda number, x: x.new_empty((sizes_of(number).num_edges, *x.shape[1:])),
        lambda ctx, dy: (None, calls.edge_sum(*saved(ctx), dy)), _edge_sum_setup, edge_outputs=(0,))

# edge_ends: the source and the target of each edge, [edges, 2]. `like` tells the device

define("edge_ends(int graph, Tensor like) -> Tensor",
        lambda number, like: torch.stack(graph_of_id(number).edge_index(), 1).long(),
        lambda number, like: like.new_empty((sizes_of(number).num_edges, 2), dtype=torch.int64), edge_outputs=(0,))

# permute: edge values from the order of edge_index


def _permute(number, values, missing):
    permuted = graph_of_id(number).permute(values, missing)
    return permuted.clone() if permuted is values else permuted


def _permute_setup(ctx, inputs, output):
    save(ctx, inputs[0])
    ctx.count = inputs[1].shape[0]


def _permute_gradient(number, dy, count):
    graph = graph_of_id(number)
    if count != graph._values or dy.shape[:1] != (graph.num_edges,):
        raise ValueError(f"[permute_gradient] dy must be [{graph.num_edges}, ...] of {graph._values} values, got {list(dy.shape)} "
                         f"of {count}")
    ids = graph.edge_ids
    if ids is None:
        return dy.clone()
    kept = ids >= 0
    scattered = dy.new_zeros((count + 1, *dy.shape[1:]))
    scattered[torch.where(kept, ids, count)] = dy  # added self loops go to the last place, which is dropped
    return scattered[:count].clone()


define("permute(int graph, Tensor values, float missing) -> Tensor", _permute,
        lambda number, values, missing: values.new_empty((sizes_of(number).num_edges, *values.shape[1:])),
        lambda ctx, dy: (None, calls.permute_gradient(*saved(ctx), dy, ctx.count), None), _permute_setup,
        edge_outputs=(0,))
define("permute_gradient(int graph, Tensor dy, SymInt count) -> Tensor", _permute_gradient,
        lambda number, dy, count: dy.new_empty((count, *dy.shape[1:])), edge_inputs=(0,))

# gat_attention


def _gat(number, s, t, x, slope, dropout, seed):
    return _core.gat_attention_saved(graph_of_id(number)._core, flat(s), flat(t), flat(x), slope, dropout, flat(seed))


def _gat_fake(number, s, t, x, slope, dropout, seed):
    nodes = sizes_of(number).num_nodes
    sums = torch.float64 if x.dtype == torch.float64 else torch.float32
    shape = (nodes, *x.shape[1:])
    return x.new_empty(shape), x.new_empty(shape), x.new_empty((nodes, x.shape[1], 3), dtype=sums)


def _gat_setup(ctx, inputs, output):
    graph, s, t, x, ctx.slope, ctx.dropout, seed = inputs
    save(ctx, graph, s, t, x, seed, *output)
    ctx.set_materialize_grads(False)


def _gat_backward(ctx, dy, dpositive, dstat):
    graph, s, t, x, seed, y, positive, stat = saved(ctx)
    if dy is None:
        return (None,) * 7
    ds, dt, dx = calls.gat_attention_gradients(graph, s, t, x, y, positive, stat, dy, ctx.slope, ctx.dropout, seed)
    return None, ds, dt, dx, None, None, None


def _gat_gradients(number, s, t, x, y, positive, stat, dy, slope, dropout, seed):
    return _core.gat_attention_gradients(graph_of_id(number)._core, flat(s), flat(t), flat(x), flat(y),
                                         flat(positive), flat(stat), flat(dy), slope, dropout, flat(seed))


define("gat_attention(int graph, Tensor s, Tensor t, Tensor x, float slope, float dropout, Tensor? seed) "
        "-> (Tensor, Tensor, Tensor)", _gat, _gat_fake, _gat_backward, _gat_setup, "autocast")
define("gat_attention_gradients(int graph, Tensor s, Tensor t, Tensor x, Tensor y, Tensor positive, Tensor stat, "
        "Tensor dy, float slope, float dropout, Tensor? seed) -> (Tensor, Tensor, Tensor)", _gat_gradients,
        lambda number, s, t, x, *rest: (s.new_empty(s.shape), t.new_empty(t.shape), x.new_empty(x.shape)))
define("gat_attention_only(int graph, Tensor s, Tensor t, Tensor x, float slope, float dropout, Tensor? seed) "
        "-> Tensor",
        lambda number, s, t, x, slope, dropout, seed: _core.gat_attention(
            graph_of_id(number)._core, flat(s), flat(t), flat(x), slope, dropout, flat(seed), None),
        lambda number, s, t, x, *rest: x.new_empty((sizes_of(number).num_nodes, *x.shape[1:])), None, None,
        "autocast")

# gat_self_attention: the scores of a GAT layer and the attention. The vectors are [1, heads, k] or [heads, k]


def _self_gat(number, x, a_dst, a_src, slope, dropout, seed):
    return _core.gat_self_attention_saved(graph_of_id(number)._core, flat(x), flat(a_dst), flat(a_src), slope, dropout,
                                          flat(seed))


def _self_gat_fake(number, x, a_dst, a_src, slope, dropout, seed):
    scores = x.new_empty(x.shape[:2])
    return *_gat_fake(number, scores, scores, x, slope, dropout, seed), scores, x.new_empty(x.shape[:2])


def _self_gat_setup(ctx, inputs, output):
    graph, x, a_dst, a_src, ctx.slope, ctx.dropout, seed = inputs
    save(ctx, graph, x, a_dst, a_src, seed, *output)
    ctx.set_materialize_grads(False)


def _self_gat_backward(ctx, dy, *_):
    graph, x, a_dst, a_src, seed, *state = saved(ctx)
    if dy is None:
        return (None,) * 7
    gradients = calls.gat_self_attention_gradients(graph, x, a_dst, a_src, *state, dy, ctx.slope, ctx.dropout, seed)
    return None, *gradients, None, None, None


def _self_gat_gradients(number, x, a_dst, a_src, y, positive, stat, s, t, dy, slope, dropout, seed):
    dx, d_dst, d_src = _core.gat_self_attention_gradients(
        graph_of_id(number)._core, flat(x), flat(a_dst), flat(a_src), flat(y), flat(positive), flat(stat), flat(s),
        flat(t), flat(dy), slope, dropout, flat(seed))
    return dx, d_dst.view(a_dst.shape), d_src.view(a_src.shape)


define("gat_self_attention(int graph, Tensor x, Tensor a_dst, Tensor a_src, float slope, float dropout, Tensor? seed) "
        "-> (Tensor, Tensor, Tensor, Tensor, Tensor)", _self_gat, _self_gat_fake, _self_gat_backward, _self_gat_setup,
        "autocast")
define("gat_self_attention_gradients(int graph, Tensor x, Tensor a_dst, Tensor a_src, Tensor y, Tensor positive, "
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


define("segment_reduce(Tensor x, Tensor offsets, str reduce) -> Tensor",
        lambda x, offsets, reduce: _core.segment_reduce(flat(x), flat(offsets), reduce, None),
        lambda x, offsets, reduce: x.new_empty((offsets.shape[0] - 1, *x.shape[1:])), _segment_backward, _segment_setup)
define("segment_reduce_gradient(Tensor x, Tensor offsets, str reduce, Tensor dy) -> Tensor",
        lambda x, offsets, reduce, dy: _core.segment_reduce_gradient(flat(x), flat(offsets), reduce, flat(dy)),
        lambda x, offsets, reduce, dy: x.new_empty(x.shape))
