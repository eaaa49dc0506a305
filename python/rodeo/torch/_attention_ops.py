"""The operators of fused attention, and the same from the others: attention weights [edges, heads] are kept then."""
import torch

from .. import _core
from ._define import calls, composed_gradients, define, flat, needs_gradient, options_of, saved

# gat_attention


def _gat(graph, s, t, x, slope, dropout, seed):
    return _core.gat_attention_saved(graph._core, flat(s), flat(t), flat(x), slope, dropout, flat(seed))


def _gat_fake(sizes, s, t, x, slope, dropout, seed):
    nodes = sizes.num_nodes
    sums = torch.float64 if x.dtype == torch.float64 else torch.float32
    shape = (nodes, *x.shape[1:])
    return x.new_empty(shape), x.new_empty(shape), x.new_empty((nodes, x.shape[1], 3), dtype=sums)


def weights_of(handle, score, x, dropout, seed):
    """The attention weights of scores [edges, heads], in the dtype of x."""
    weight = calls.edge_softmax(handle, score).to(x.dtype)
    return calls.edge_dropout(handle, weight, dropout, seed) if dropout > 0 else weight


def _gat_composed(handle, s, t, x, slope, dropout, seed):
    score = torch.nn.functional.leaky_relu(calls.sddmm(handle, s, t, "add"), slope)
    return calls.spmm(handle, x, weights_of(handle, score, x, dropout, seed), "sum", "auto", False),


def _gat_kept(ctx, args, output):
    ctx.set_materialize_grads(False)
    return *args[1:4], args[-1], *output


def _gat_backward(ctx, dy, *_):
    graph, s, t, x, seed, *state = saved(ctx)
    if dy is None:
        return (None,) * 7
    if torch.is_grad_enabled():
        gradients = composed_gradients(lambda *inputs: _gat_composed(graph, *inputs, *options_of(ctx), seed)[0], (s, t, x),
                                       [needs_gradient(ctx, i) for i in (1, 2, 3)], dy)
    else:
        gradients = calls.gat_attention_gradients(graph, s, t, x, *state, dy, *options_of(ctx), seed)
    return None, *gradients, None, None, None


def _gat_gradients(graph, s, t, x, y, positive, stat, dy, slope, dropout, seed):
    return _core.gat_attention_gradients(graph._core, flat(s), flat(t), flat(x), flat(y), flat(positive), flat(stat), flat(dy),
                                         slope, dropout, flat(seed))


define("gat_attention(graph, Tensor s, Tensor t, Tensor x, float slope, float dropout, Tensor? seed) "
       "-> (Tensor, Tensor, Tensor)", _gat, _gat_fake, "autocast", keep=_gat_kept, backward=_gat_backward,
       composed=_gat_composed)
define("gat_attention_gradients(graph, Tensor s, Tensor t, Tensor x, Tensor y, Tensor positive, Tensor stat, "
       "Tensor dy, float slope, float dropout, Tensor? seed) -> (Tensor, Tensor, Tensor)", _gat_gradients,
       lambda sizes, s, t, x, *rest: (s.new_empty(s.shape), t.new_empty(t.shape), x.new_empty(x.shape)))
define("gat_attention_only(graph, Tensor s, Tensor t, Tensor x, float slope, float dropout, Tensor? seed) -> Tensor",
       lambda graph, s, t, x, slope, dropout, seed: _core.gat_attention(graph._core, flat(s), flat(t), flat(x), slope, dropout,
                                                                        flat(seed), None),
       lambda sizes, s, t, x, *rest: x.new_empty((sizes.num_nodes, *x.shape[1:])), "autocast",
       composed=lambda *args: _gat_composed(*args)[0])

# gat_self_attention: the scores of a GAT layer and the attention. The vectors are [1, heads, k] or [heads, k]


def _self_gat(graph, x, a_dst, a_src, slope, dropout, seed):
    return _core.gat_self_attention_saved(graph._core, flat(x), flat(a_dst), flat(a_src), slope, dropout, flat(seed))


def _self_gat_fake(sizes, x, a_dst, a_src, slope, dropout, seed):
    scores = x.new_empty(x.shape[:2])
    return *_gat_fake(sizes, scores, scores, x, slope, dropout, seed), scores, x.new_empty(x.shape[:2])


def _self_gat_composed(handle, x, a_dst, a_src, *options):
    return _gat_composed(handle, (x * a_dst).sum(-1), (x * a_src).sum(-1), x, *options)


def _self_gat_backward(ctx, dy, *_):
    graph, x, a_dst, a_src, seed, *state = saved(ctx)
    if dy is None:
        return (None,) * 7
    if torch.is_grad_enabled():
        gradients = composed_gradients(lambda *inputs: _self_gat_composed(graph, *inputs, *options_of(ctx), seed)[0],
                                       (x, a_dst, a_src), [needs_gradient(ctx, i) for i in (1, 2, 3)], dy)
    else:
        gradients = calls.gat_self_attention_gradients(graph, x, a_dst, a_src, *state, dy, *options_of(ctx), seed)
    return None, *gradients, None, None, None


def _self_gat_gradients(graph, x, a_dst, a_src, y, positive, stat, s, t, dy, slope, dropout, seed):
    dx, d_dst, d_src = _core.gat_self_attention_gradients(
        graph._core, flat(x), flat(a_dst), flat(a_src), flat(y), flat(positive), flat(stat), flat(s), flat(t), flat(dy), slope,
        dropout, flat(seed))
    return dx, d_dst.view(a_dst.shape), d_src.view(a_src.shape)


define("gat_self_attention(graph, Tensor x, Tensor a_dst, Tensor a_src, float slope, float dropout, Tensor? seed) "
       "-> (Tensor, Tensor, Tensor, Tensor, Tensor)", _self_gat, _self_gat_fake, "autocast", keep=_gat_kept,
       backward=_self_gat_backward, composed=_self_gat_composed)
define("gat_self_attention_gradients(graph, Tensor x, Tensor a_dst, Tensor a_src, Tensor y, Tensor positive, "
       "Tensor stat, Tensor s, Tensor t, Tensor dy, float slope, float dropout, Tensor? seed) -> (Tensor, Tensor, Tensor)",
       _self_gat_gradients, lambda sizes, x, a_dst, a_src, *rest: (x.new_empty(x.shape), a_dst.new_empty(a_dst.shape),
                                                                   a_src.new_empty(a_src.shape)))
