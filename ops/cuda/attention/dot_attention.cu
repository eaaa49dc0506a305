// y_i = the sum of v_j weighted by the softmax of scale <q_i, key_j> over the edges of row i, in one pass
// over the edges of A, and its gradients in a pass over A and one over A^T.
#include "ops/convert.h"
#include "ops/cuda/attention/attention_launch.cuh"

namespace rodeo::kernels::cuda {
namespace {

template <class T>
AttentionPassArgs<device_t<T>> dot_args(const DotAttentionInputs& in, double scale,
                                        PaddedOperands<T>& padded) {
  AttentionPassArgs<device_t<T>> args{};
  args.edge = padded.rows(in.edge);
  args.bias = device_data<T>(in.bias);
  args.scale = static_cast<Accumulator<device_t<T>>>(scale);
  args.heads = static_cast<int>(in.q.dim(1));
  return args;
}

HeadLanes lanes_of(const DotAttentionInputs& in) {
  const std::int64_t k = in.q.dim(2), m = in.v.dim(2);
  HeadLanes lanes = choose_head_lanes(std::max(k, m), static_cast<int>(size_of(in.q.dtype())));
  lanes.whole = lanes.whole && k == m;
  return lanes;
}

}  // namespace

void dot_attention(const Adjacency& adj, const DotAttentionInputs& in, double scale,
                   const AttentionOptions& options, const Tensor& y, const Tensor& lse) {
  const HeadLanes lanes = lanes_of(in);
  dispatch_float(y.dtype(), "dot_attention", [&]<class T>(T) {
    using D = device_t<T>;
    PaddedOperands<T> padded;
    auto args = dot_args<T>(in, scale, padded);
    args.own = padded.rows(in.q);
    args.table[0] = padded.rows(in.key), args.table[1] = padded.rows(in.v);
    args.out = HeadOutput<D>(y, 16 / sizeof(D));
    args.lse = lse.defined() ? lse.data<Accumulator<D>>() : nullptr;
    with_head_tile<D>(lanes, in.bias.defined() || in.edge.defined(), [&]<class Tile, bool kEdges>() {
      walk_edges<AttentionForward<Tile, DotScore, kEdges>>("dot_attention", adj, {}, options, args.heads,
                                                           lanes.lanes, args, y.device());
    });
  });
}

void dot_attention_backward(const Adjacency& adj, const DotAttentionInputs& in, double scale,
                            const AttentionOptions& options, const Tensor& y, const Tensor& lse,
                            const Tensor& dy, const DotAttentionGradients& gradients) {
  const HeadLanes lanes = lanes_of(in);
  const bool edges = in.bias.defined() || in.edge.defined();
  const Transposed transposed =
      edges || y.dtype() == DType::kF64 ? transpose(adj) : Transposed{transpose_pattern(adj), {}};
  const Tensor terms = attention_terms(y, dy, lse);
  dispatch_float(y.dtype(), "dot_attention", [&]<class T>(T) {
    using D = device_t<T>;
    PaddedOperands<T> padded;
    auto args = dot_args<T>(in, scale, padded);
    args.terms = terms.data<Accumulator<D>>();
    const auto q = padded.rows(in.q), key = padded.rows(in.key), v = padded.rows(in.v),
               of_dy = padded.rows(dy);
    const auto walk = [&]<bool kTransposed>() {
      with_head_tile<D>(lanes, edges, [&]<class Tile, bool kEdges>() {
        walk_edges<AttentionBackward<Tile, DotScore, kTransposed, kEdges>>(
            kTransposed ? "dot_attention_backward columns" : "dot_attention_backward rows",
            kTransposed ? transposed.adj : adj, kTransposed ? transposed.edge_ids : Tensor(), options,
            args.heads, lanes.lanes, args, y.device());
      });
    };
    args.own = q, args.own_value = of_dy;
    args.table[0] = key, args.table[1] = v;
    args.out = HeadOutput<D>(gradients.dq, 16 / sizeof(D));
    args.out_bias = device_data<T>(gradients.dbias);
    if (gradients.dedge.defined()) args.out_edge = HeadOutput<D>(gradients.dedge, 16 / sizeof(D));
    walk.template operator()<false>();
    args.own = key, args.own_value = v;
    args.table[0] = q, args.table[1] = of_dy;
    args.out = HeadOutput<D>(gradients.dkey, 16 / sizeof(D)),
    args.out_value = HeadOutput<D>(gradients.dv, 16 / sizeof(D));
    walk.template operator()<true>();
  });
}

}  // namespace rodeo::kernels::cuda
