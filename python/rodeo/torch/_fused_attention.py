"""The operators of dot-product attention and of GATv2, and the same from the others: arrays of edges are kept then."""
import torch

from .. import _core
from ._attention_ops import weights_of
from ._define import calls, composed_gradients, define, flat, needs_gradient, options_of, saved


def covers(x, columns):
    """Whether the fused operators take heads of `columns` elements on the device of x (ops/dot_attention.h)."""
    return not x.is_cuda or columns * x.element_size() <= 512


def _state(sizes, x, columns):
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    return x.new_empty((sizes.num_nodes, x.shape[1], columns)), x.new_empty((sizes.num_nodes, x.shape[1]), dtype=wide)


def _kept(ctx, args, output):
    ctx.set_materialize_grads(False)
    return *args[1:-3], args[-1], *output


def _backward(composed, name):
    def backward(ctx, dy, *_):
        graph, *tensors, seed, y, lse = saved(ctx)
        rest = (None,) * 3
        if dy is None:
            return None, *(None for _ in tensors), *rest
        if torch.is_grad_enabled():
            some = [i for i, x in enumerate(tensors) if x is not None]

            def again(*inputs):
                all_inputs = list(tensors)
                for i, x in zip(some, inputs):
                    all_inputs[i] = x
                return composed(graph, *all_inputs, *options_of(ctx), seed)[0]

            given = composed_gradients(again, [tensors[i] for i in some], [needs_gradient(ctx, i + 1) for i in some], dy)
            gradients = [None] * len(tensors)
            for i, gradient in zip(some, given):
                gradients[i] = gradient
        else:
            gradients = getattr(calls, name)(graph, *tensors, y, lse, dy, *options_of(ctx), seed)
            gradients = [g if x is not None else None for g, x in zip(gradients, tensors)]
        return None, *gradients, *rest
    return backward


def _given(gradients, like):
    """Operators return tensors: an empty one for what has no gradient."""
    return tuple(like.new_empty(0) if g is None else g for g in gradients)


# dot_attention


def _dot(graph, q, key, v, bias, edge, scale, dropout, seed):
    return _core.dot_attention_saved(graph._core, flat(q), flat(key), flat(v), flat(bias), flat(edge), scale, dropout, flat(seed))


def dot_composed(handle, q, key, v, bias, edge, scale, dropout, seed):
    if edge is None:
        score = calls.sddmm(handle, q * scale, key, "dot")
    else:
        ends = [calls.of_ends(handle, x.flatten(1), transposed).view(edge.shape) for x, transposed in
                ((q, False), (key, True), (v, True))]
        score = (ends[0] * (ends[1] + edge)).sum(-1) * scale
    weight = weights_of(handle, score if bias is None else score + bias, q, dropout, seed)
    if edge is None:
        return calls.spmm(handle, v, weight, "sum", "auto", False),
    return calls.edge_sum(handle, (weight.unsqueeze(-1) * (ends[2] + edge)).flatten(1), False).view(-1, *v.shape[1:]),


def _dot_gradients(graph, q, key, v, bias, edge, y, lse, dy, scale, dropout, seed):
    return _given(_core.dot_attention_gradients(graph._core, flat(q), flat(key), flat(v), flat(bias), flat(edge), flat(y), flat(lse),
                                                flat(dy), scale, dropout, flat(seed)), q)


_OPERANDS = "graph, Tensor q, Tensor key, Tensor v, Tensor? bias, Tensor? edge, "
define(f"dot_attention({_OPERANDS}float scale, float dropout, Tensor? seed) -> (Tensor, Tensor)", _dot,
       lambda sizes, q, key, v, *_: _state(sizes, q, v.shape[2]), "autocast", keep=_kept,
       backward=_backward(dot_composed, "dot_attention_gradients"), composed=dot_composed, edge_inputs=(3, 4))
define(f"dot_attention_gradients({_OPERANDS}Tensor y, Tensor lse, Tensor dy, float scale, float dropout, Tensor? seed) "
       "-> (Tensor, Tensor, Tensor, Tensor, Tensor)", _dot_gradients,
       lambda sizes, q, key, v, bias, edge, *_: _given((x if x is None else x.new_empty(x.shape) for x in (q, key, v, bias, edge)),
                                                       q), edge_inputs=(3, 4), edge_outputs=(3, 4))

# gatv2_attention


def _gatv2(graph, l, r, a, edge, slope, dropout, seed):
    return _core.gatv2_attention_saved(graph._core, flat(l), flat(r), flat(a), flat(edge), slope, dropout, flat(seed))


def gatv2_composed(handle, l, r, a, edge, slope, dropout, seed):
    hidden = calls.sddmm(handle, l, r, "add")
    hidden = torch.nn.functional.leaky_relu(hidden if edge is None else hidden + edge, slope)
    weight = weights_of(handle, (hidden * a).sum(-1), l, dropout, seed)
    return calls.spmm(handle, r, weight, "sum", "auto", False),


def _gatv2_gradients(graph, l, r, a, edge, y, lse, dy, slope, dropout, seed):
    return _given(_core.gatv2_attention_gradients(graph._core, flat(l), flat(r), flat(a), flat(edge), flat(y), flat(lse), flat(dy),
                                                  slope, dropout, flat(seed)), l)


_OPERANDS = "graph, Tensor l, Tensor r, Tensor a, Tensor? edge, "
define(f"gatv2_attention({_OPERANDS}float slope, float dropout, Tensor? seed) -> (Tensor, Tensor)", _gatv2,
       lambda sizes, l, *_: _state(sizes, l, l.shape[2]), "autocast", keep=_kept,
       backward=_backward(gatv2_composed, "gatv2_attention_gradients"), composed=gatv2_composed, edge_inputs=(3,))
define(f"gatv2_attention_gradients({_OPERANDS}Tensor y, Tensor lse, Tensor dy, float slope, float dropout, Tensor? seed) "
       "-> (Tensor, Tensor, Tensor, Tensor)", _gatv2_gradients,
       lambda sizes, l, r, a, edge, *_: _given((x if x is None else x.new_empty(x.shape) for x in (l, r, a, edge)), l),
       edge_inputs=(3,), edge_outputs=(3,))
