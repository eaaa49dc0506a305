// y_i = the sum of r_j weighted by the softmax of <a, LeakyReLU(l_i + r_j)> over the edges of row i, in one
// pass over the edges of A, and its gradients in a pass over A and one over A^T. No array of edge size.
#include "ops/convert.h"
#include "ops/cuda/attention/attention_launch.cuh"
#include "ops/kernels/dense.h"

namespace rodeo::kernels::cuda {
namespace {

template <class T>
AttentionPassArgs<device_t<T>> gatv2_args(const Gatv2Inputs& in, const Tensor& a,
                                          const AttentionOptions& options, PaddedOperands<T>& padded) {
  using Sum = Accumulator<device_t<T>>;
  AttentionPassArgs<device_t<T>> args{};
  args.edge = padded.rows(in.edge);
  args.a = a.data<Sum>();
  args.scale = 1;
  args.slope = static_cast<Sum>(options.negative_slope);
  args.heads = static_cast<int>(in.l.dim(1));
  return args;
}

Tensor wide(const Tensor& a) {
  return a.to(a.dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
}

}  // namespace

void gatv2_attention(const Adjacency& adj, const Gatv2Inputs& in, const AttentionOptions& options,
                     const Tensor& y, const Tensor& lse) {
  const HeadLanes lanes = choose_head_lanes(in.r.dim(2), static_cast<int>(size_of(in.r.dtype())));
  const Tensor a = wide(in.a);
  dispatch_float(y.dtype(), "gatv2_attention", [&]<class T>(T) {
    using D = device_t<T>;
    PaddedOperands<T> padded;
    auto args = gatv2_args<T>(in, a, options, padded);
    args.own = padded.rows(in.l), args.table[0] = padded.rows(in.r);
    args.out = HeadOutput<D>(y, 16 / sizeof(D));
    args.lse = lse.defined() ? lse.data<Accumulator<D>>() : nullptr;
    with_head_tile<D>(lanes, in.edge.defined(), [&]<class Tile, bool kEdges>() {
      walk_edges<AttentionForward<Tile, Gatv2Score, kEdges>>("gatv2_attention", adj, {}, options, args.heads,
                                                             lanes.lanes, args, y.device());
    });
  });
}

void gatv2_attention_backward(const Adjacency& adj, const Gatv2Inputs& in, const AttentionOptions& options,
                              const Tensor& y, const Tensor& lse, const Tensor& dy,
                              const Gatv2Gradients& gradients) {
  const HeadLanes lanes = choose_head_lanes(in.r.dim(2), static_cast<int>(size_of(in.r.dtype())));
  const bool edges = in.edge.defined();
  const Transposed transposed =
      edges || y.dtype() == DType::kF64 ? transpose(adj) : Transposed{transpose_pattern(adj), {}};
  const Tensor terms = attention_terms(y, dy, lse), a = wide(in.a);
  // The part of each row in da.
  const Tensor da = Tensor::empty(y.shape(), lse.dtype(), y.device());
  dispatch_float(y.dtype(), "gatv2_attention", [&]<class T>(T) {
    using D = device_t<T>;
    PaddedOperands<T> padded;
    auto args = gatv2_args<T>(in, a, options, padded);
    args.terms = terms.data<Accumulator<D>>();
    const auto l = padded.rows(in.l), r = padded.rows(in.r), of_dy = padded.rows(dy);
    const auto walk = [&]<bool kTransposed>() {
      with_head_tile<D>(lanes, edges, [&]<class Tile, bool kEdges>() {
        walk_edges<AttentionBackward<Tile, Gatv2Score, kTransposed, kEdges>>(
            kTransposed ? "gatv2_attention_backward columns" : "gatv2_attention_backward rows",
            kTransposed ? transposed.adj : adj, kTransposed ? transposed.edge_ids : Tensor(), options,
            args.heads, lanes.lanes, args, y.device());
      });
    };
    args.own = l, args.own_value = of_dy;
    args.table[0] = r;
    args.out = HeadOutput<D>(gradients.dl, 16 / sizeof(D)),
    args.out_a = HeadOutput<Accumulator<D>>(da, 16 / sizeof(D));
    if (edges) args.out_edge = HeadOutput<D>(gradients.dedge, 16 / sizeof(D));
    walk.template operator()<false>();
    args.own = r;
    args.table[0] = l, args.table[1] = of_dy;
    args.out = HeadOutput<D>(gradients.dr, 16 / sizeof(D));
    walk.template operator()<true>();
  });
  const std::int64_t width = y.dim(1) * y.dim(2);
  sum_rows(da.reshape({da.dim(0), width}), gradients.da.reshape({width}));
}

}  // namespace rodeo::kernels::cuda
