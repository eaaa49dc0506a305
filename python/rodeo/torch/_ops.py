"""The operators: how each computes, its shape, its derivatives. Those of sums and products are such operators again.

Maxima, like the fused attention of _attention_ops.py, have gradients of their own. Their second derivatives, and those of
torch.func and forward mode, are of the same function, composed from the other operators.
"""
import torch

from .. import _core
from ._define import calls, composed_gradients, define, flat, needs_gradient, options_of, saved
from ._graphs import edge_ends, graph_of_handle, inverse_counts, normalized


def _like(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


# spmm. transposed: the product with the transpose, with weights in the order of the graph


def _spmm(graph, x, weight, reduce, algorithm="auto", transposed=False):
    if not transposed:
        return _core.spmm(graph._core, x if x.is_contiguous() else x.contiguous(), weight if weight is None else flat(weight), reduce,
                          algorithm, None)
    if reduce != "sum":
        raise ValueError(f"[spmm] transposed is for sums, got reduce={reduce!r}")
    back = graph.T
    permuted = None if weight is None else back.permute(flat(weight))
    return _core.spmm(back._core, flat(x), permuted, "sum", algorithm, None)


def _spmm_fake(sizes, x, weight, reduce, algorithm="auto", transposed=False):
    return x.new_empty((sizes.num_sources if transposed else sizes.num_nodes, *x.shape[1:]))


def _spmm_kept(ctx, args, output):
    # The gradient of x in a sum or mean without weights needs the graph alone: x may be freed.
    return () if args[2] is None and args[3] in ("sum", "mean") else args[1:3]


def _spmm_backward(ctx, dy):
    graph, *kept = saved(ctx)
    x, weight = kept or (None, None)
    reduce, algorithm, transposed = options_of(ctx)
    needed = needs_gradient(ctx, 1), weight is not None and needs_gradient(ctx, 2)
    if reduce in ("max", "min"):
        if torch.is_grad_enabled():
            dx, dweight = composed_gradients(lambda *inputs: _extremum(graph, *inputs, reduce), (x, weight), needed, dy)
        else:
            dweight, dx = calls.spmm_gradients(graph, x, weight, dy, reduce, needed[1], needed[0])
    else:
        if reduce == "mean":
            dy = calls.over_counts(graph, dy)
        dx = calls.spmm(graph, dy, weight, "sum", algorithm, not transposed) if needed[0] else None
        ends = (x, dy) if transposed else (dy, x)
        dweight = calls.sddmm(graph, *ends, "dot") if needed[1] else None
    return None, dx if needed[0] else None, dweight if needed[1] else None, None, None, None


def _extremum(graph, x, weight, reduce, *_):
    """reduce="max" or "min" as a choice of edges, the first with the extremum, and a gather."""
    if reduce not in ("max", "min"):
        return NotImplemented
    graph = graph_of_handle(graph)
    sources, targets = edge_ends(graph)
    at, scale = x[sources], None
    if weight is not None:
        scale = weight.view(*weight.shape, *[1] * (x.dim() - weight.dim())).expand(graph.num_edges, *x.shape[1:])
        at = at * scale
    return _first_extremum(at, targets, graph.num_nodes, reduce)


def _first_extremum(values, targets, rows, reduce):
    """The maximum or minimum of the rows of values [edges, ...] of each target; its gradient goes to the first such row."""
    shape, edges = (rows, *values.shape[1:]), values.shape[0]
    place = targets.view(-1, *[1] * (values.dim() - 1)).expand(values.shape)
    with torch.no_grad():
        known = values.detach()
        best = known.new_zeros(shape).scatter_reduce(0, place, known, "amax" if reduce == "max" else "amin", include_self=False)
        number = torch.arange(edges, device=values.device).view(-1, *[1] * (values.dim() - 1)).expand(values.shape)
        number = number.masked_fill(known != best.gather(0, place), edges)
        first = torch.full(shape, edges, device=values.device).scatter_reduce(0, place, number, "amin")
    chosen = torch.cat([values, values.new_zeros((1, *values.shape[1:]))])
    return chosen.gather(0, first)


define("spmm(graph, Tensor x, Tensor? weight, str reduce, str algorithm=\"auto\", bool transposed=False) -> Tensor", _spmm,
       _spmm_fake, "autocast", keep=_spmm_kept, backward=_spmm_backward, linear=(1, 2), columns=1, composed=_extremum,
       edge_inputs=(1,))


def _spmm_gradients(graph, x, weight, dy, reduce, needs_weight, needs_x):
    nothing = dy.new_empty((0,))
    dweight, dx = _core.spmm_gradients(graph._core, flat(x), flat(weight), flat(dy), reduce, needs_weight, needs_x)
    return nothing if dweight is None else dweight, nothing if dx is None else dx


define("spmm_gradients(graph, Tensor x, Tensor? weight, Tensor dy, str reduce, bool needs_weight, bool needs_x) "
       "-> (Tensor, Tensor)", _spmm_gradients,
       lambda sizes, x, weight, dy, reduce, needs_weight, needs_x: (
           _like(weight) if needs_weight else dy.new_empty((0,)), _like(x) if needs_x else dy.new_empty((0,))),
       edge_inputs=(1,), edge_outputs=(0,))

# over_counts: the rows of targets, divided by the number of their edges


def _over_counts(graph, x):
    scale = inverse_counts(graph, x.dtype)
    return (x * scale.view(-1, *[1] * (x.dim() - 1))).to(x.dtype)


define("over_counts(graph, Tensor x) -> Tensor", _over_counts, lambda sizes, x: _like(x),
       backward=lambda ctx, dy: (None, calls.over_counts(*saved(ctx), dy)), linear=(1,), columns=1)

# gcn: D^-1/2 (A + I) D^-1/2 x of a graph without edge weights


def _gcn(graph, x, transposed):
    normal = normalized(graph, x.dtype)
    return _core.gcn_propagate((normal.graph.T if transposed else normal.graph)._core, normal.scale, flat(x), None, None)


define("gcn(graph, Tensor x, bool transposed) -> Tensor", _gcn, lambda sizes, x, transposed: _like(x), "autocast",
       backward=lambda ctx, dy: (None, calls.gcn(*saved(ctx), dy, not options_of(ctx)[0]), None), linear=(1,), columns=1)

# gcn_propagate has a scale and weights [edges] of the graph: constants


def _propagate(graph, scale, x, weight, transposed):
    weight = flat(weight)
    if transposed:
        graph = graph.T
        weight = None if weight is None else graph.permute(weight)
    return _core.gcn_propagate(graph._core, flat(scale), flat(x), weight, None)


def _propagate_backward(ctx, dy):
    graph, scale, weight = saved(ctx)
    return None, None, calls.gcn_propagate(graph, scale, dy, weight, not options_of(ctx)[0]), None, None


define("gcn_propagate(graph, Tensor scale, Tensor x, Tensor? weight, bool transposed) -> Tensor", _propagate,
       lambda sizes, scale, x, weight, transposed: _like(x), "autocast", keep=lambda ctx, args, output: (args[1], args[3]),
       backward=_propagate_backward, linear=(2,), columns=2, edge_inputs=(2,))

# sddmm


def _sddmm_fake(sizes, b1, b2, op):
    tail = b1.shape[1:-1] if op == "dot" else b1.shape[1:]
    return b1.new_empty((sizes.num_edges, *tail))


def _sddmm_kept(ctx, args, output):
    _, b1, b2, op = args
    if op != "add":
        return b1, b2
    ctx.shapes = b1.shape, b2.shape
    return ()


def _sddmm_backward(ctx, ds):
    graph, *ends = saved(ctx)
    op, = options_of(ctx)
    gradients = [None, None]
    for side in 0, 1:  # of targets, of sources
        if not needs_gradient(ctx, 1 + side):
            continue
        if op == "add":
            gradients[side] = calls.edge_sum(graph, ds.flatten(1), bool(side)).view(ctx.shapes[side])
        elif op == "dot":
            gradients[side] = calls.spmm(graph, ends[1 - side], ds, "sum", "auto", bool(side))
        else:  # every column is a head
            columns = calls.spmm(graph, ends[1 - side].flatten(1).unsqueeze(-1), ds.flatten(1), "sum", "auto", bool(side))
            gradients[side] = columns.view(ends[side].shape)
    return None, *gradients, None


def _sddmm_tangent(args, tangents):
    graph, *ends, op = args
    if op == "add":
        return calls.sddmm(graph, *(torch.zeros_like(x) if t is None else t for x, t in zip(ends, tangents[1:])), op)
    terms = [calls.sddmm(graph, *pair, op) for pair, t in (((tangents[1], ends[1]), tangents[1]), ((ends[0], tangents[2]), tangents[2]))
             if t is not None]
    return sum(terms[1:], terms[0])


define("sddmm(graph, Tensor b1, Tensor b2, str op) -> Tensor",
       lambda graph, b1, b2, op: _core.sddmm(graph._core, flat(b1), flat(b2), op, None, None), _sddmm_fake, "autocast",
       keep=_sddmm_kept, backward=_sddmm_backward, jvp=_sddmm_tangent, edge_outputs=(0,))

# edge_softmax. Its Jacobian is symmetric


def _softmax_product(graph, score, v):
    y = calls.edge_softmax(graph, score)
    z = y * v
    return z - y * calls.of_ends(graph, calls.edge_sum(graph, z, False), False)


def _softmax_backward(ctx, dy):
    product = _softmax_product if torch.is_grad_enabled() else calls.edge_softmax_gradient
    return None, product(*saved(ctx), dy)


define("edge_softmax(graph, Tensor score) -> Tensor", lambda graph, score: _core.edge_softmax(graph._core, flat(score), None),
       lambda sizes, score: score.new_empty(score.shape), torch.float32, keep=lambda ctx, args, output: args[1:],
       backward=_softmax_backward, jvp=lambda args, tangents: _softmax_product(*args, tangents[1]), edge_inputs=(0,),
       edge_outputs=(0,))
define("edge_softmax_gradient(graph, Tensor score, Tensor dy) -> Tensor",
       lambda graph, score, dy: _core.edge_softmax_gradient(graph._core, flat(score), flat(dy)),
       lambda sizes, score, dy: score.new_empty(score.shape), edge_inputs=(0, 1), edge_outputs=(0,))

# edge_sum, and its gradient: the value of each edge's target. transposed: of each source


def _of_ends(graph, x, transposed=False):
    rows = graph.num_sources if transposed else graph.num_nodes
    if x.shape[:1] != (rows,):
        raise ValueError(f"[of_ends] x must be [{rows}, ...], got {list(x.shape)}")
    return x.index_select(0, edge_ends(graph)[0 if transposed else 1])


define("edge_sum(graph, Tensor x, bool transposed=False) -> Tensor",
       lambda graph, x, transposed=False: _core.edge_sum(graph._core, flat(x), transposed, None),
       lambda sizes, x, transposed=False: x.new_empty((sizes.num_sources if transposed else sizes.num_nodes, *x.shape[1:])),
       backward=lambda ctx, dy: (None, calls.of_ends(*saved(ctx), dy, *options_of(ctx)), None), linear=(1,), columns=1,
       edge_inputs=(0,))
define("of_ends(graph, Tensor x, bool transposed=False) -> Tensor", _of_ends,
       lambda sizes, x, transposed=False: x.new_empty((sizes.num_edges, *x.shape[1:])),
       backward=lambda ctx, dy: (None, calls.edge_sum(*saved(ctx), dy, *options_of(ctx)), None), linear=(1,), columns=1,
       edge_outputs=(0,))

# edge_ends: the source and the target of each edge, [edges, 2]. `like` tells the device

define("edge_ends(graph, Tensor like) -> Tensor", lambda graph, like: torch.stack(edge_ends(graph), 1),
       lambda sizes, like: like.new_empty((sizes.num_edges, 2), dtype=torch.int64), edge_outputs=(0,))

# edge_dropout: the mask that attention draws, for weights [edges, heads]


def _dropout_backward(ctx, dy):
    graph, seed = saved(ctx)
    return None, calls.edge_dropout(graph, dy, *options_of(ctx), seed), None, None


define("edge_dropout(graph, Tensor x, float dropout, Tensor seed) -> Tensor",
       lambda graph, x, dropout, seed: _core.edge_dropout(graph._core, flat(x), dropout, flat(seed)),
       lambda sizes, x, dropout, seed: _like(x), keep=lambda ctx, args, output: args[3:], backward=_dropout_backward, linear=(1,),
       edge_inputs=(0,), edge_outputs=(0,))

# permute: edge values from the order of edge_index


def _permute(graph, values, missing):
    permuted = graph.permute(values, missing)
    return permuted.clone() if permuted is values else permuted


def _permute_kept(ctx, args, output):
    ctx.count = args[1].shape[0]
    return ()


def _permute_gradient(graph, dy, count):
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


define("permute(graph, Tensor values, float missing) -> Tensor", _permute,
       lambda sizes, values, missing: values.new_empty((sizes.num_edges, *values.shape[1:])), keep=_permute_kept,
       backward=lambda ctx, dy: (None, calls.permute_gradient(*saved(ctx), dy, ctx.count), None),
       jvp=lambda args, tangents: calls.permute(args[0], tangents[1], 0.0), columns=1, edge_outputs=(0,))
define("permute_gradient(graph, Tensor dy, SymInt count) -> Tensor", _permute_gradient,
       lambda sizes, dy, count: dy.new_empty((count, *dy.shape[1:])),
       backward=lambda ctx, dy: (None, calls.permute(*saved(ctx), dy, 0.0), None), linear=(1,), columns=1, edge_inputs=(0,))

# segment_reduce


def _segment_composed(x, offsets, reduce):
    counts = offsets.diff().long()
    segments = torch.arange(counts.shape[0], device=x.device).repeat_interleave(counts, output_size=x.shape[0])
    if reduce in ("max", "min"):
        return _first_extremum(x, segments, counts.shape[0], reduce)
    if reduce == "mean":
        x = x / counts.clamp(min=1)[segments].view(-1, *[1] * (x.dim() - 1)).to(x.dtype)
    return x.new_zeros((counts.shape[0], *x.shape[1:])).index_add(0, segments, x)


def _segment_backward(ctx, dy):
    _, x, offsets = saved(ctx)
    reduce, = options_of(ctx)
    if torch.is_grad_enabled():
        return *composed_gradients(lambda x: _segment_composed(x, offsets, reduce), (x,), [True], dy), None, None
    return calls.segment_reduce_gradient(x, offsets, reduce, dy), None, None


define("segment_reduce(Tensor x, Tensor offsets, str reduce) -> Tensor",
       lambda x, offsets, reduce: _core.segment_reduce(flat(x), flat(offsets), reduce, None),
       lambda x, offsets, reduce: x.new_empty((offsets.shape[0] - 1, *x.shape[1:])), keep=lambda ctx, args, output: args[:2],
       backward=_segment_backward, composed=_segment_composed)
define("segment_reduce_gradient(Tensor x, Tensor offsets, str reduce, Tensor dy) -> Tensor",
       lambda x, offsets, reduce, dy: _core.segment_reduce_gradient(flat(x), flat(offsets), reduce, flat(dy)),
       lambda x, offsets, reduce, dy: x.new_empty(x.shape))
