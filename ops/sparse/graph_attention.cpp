#include "ops/sparse/graph_attention.h"

#include <cmath>
#include <memory>
#include <utility>

#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_dropout.h"
#include "ops/edge_softmax.h"
#include "ops/heads.h"
#include "ops/sddmm.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

Variable composed(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                  const AttentionOptions& options) {
  const Variable score = leaky_relu(sddmm(adj, s, t, SddmmOp::kAdd), options.negative_slope);
  return attention_sum(adj, score, x, options);
}

/// What forward kept, to be handed on: backward() calls a rule once, and parts are freed on the way.
FusedAttention taken(FusedAttention& kept) {
  check(kept.y.defined(), "[gat_attention] an earlier backward() failed in its gradient: run forward again");
  return std::exchange(kept, {});
}

}  // namespace

void check_attention_rows(std::string_view op, const Adjacency& adj, const Tensor& x, std::int64_t heads) {
  check(x.defined() && is_float(x.dtype()), "[", op, "] x must be floating point");
  check(x.rank() == 3 && x.dim(0) == adj.cols() && x.dim(1) == heads, "[", op, "] x must be [", adj.cols(),
        ", ", heads, ", k], got ", x.shape());
  check_on_device_of(op, adj, "x", x);
}

void check_attention_dropout(std::string_view op, const AttentionOptions& options) {
  check(options.dropout >= 0 && options.dropout < 1, "[", op, "] dropout must be in [0, 1), got ",
        options.dropout);
}

void check_attention_operands(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                              const AttentionOptions& options) {
  constexpr std::string_view op = "gat_attention";
  check_matrix(op, "s", s);
  check_shape(op, "s", s, {adj.rows(), s.dim(1)});
  check_attention_rows(op, adj, x, s.dim(1));
  check(x.dim(1) * x.dim(2) <= std::int64_t{1} << 18, "[", op,
        "] a row of x must have at most 2^18 elements, got ", x.shape());
  check_alike(op, "x", x, "s", s);
  check_alike(op, "x", x, "t", t);
  check_shape(op, "t", t, {adj.cols(), s.dim(1)});
  check(options.negative_slope >= 0 && std::isfinite(options.negative_slope), "[", op,
        "] negative_slope must be finite and at least 0, got ", options.negative_slope);
  check_attention_dropout(op, options);
}

Variable attention_weights(const Adjacency& adj, const Variable& score, const AttentionOptions& options) {
  return edge_dropout(adj, edge_softmax(adj, score), options.dropout, options.key, options.first_head);
}

Variable attention_sum(const Adjacency& adj, const Variable& score, const Variable& x,
                       const AttentionOptions& options) {
  return spmm(adj, attention_weights(adj, score, options), x,
              SpmmOptions{.algorithm = options.spmm, .sddmm = options.sddmm});
}

FusedAttention fused_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                               const AttentionOptions& options, bool recorded) {
  const std::int64_t heads = x.dim(1);
  const Shape shape{adj.rows(), heads, x.dim(2)};
  if (shape.numel() == 0 || adj.num_edges() == 0) return {Tensor::zeros(shape, x.dtype(), x.device())};
  FusedAttention out{Tensor::empty(shape, x.dtype(), x.device())};
  if (recorded)
    out.saved = {Tensor::empty(shape, x.dtype(), x.device()),
                 Tensor::empty({adj.rows(), heads, 3}, sum_dtype(x.dtype()), x.device())};
  kernels::gat_attention.on(x.device())(adj, s, t, x, options, out.y, out.saved);
  return out;
}

kernels::AttentionGradients fused_attention_gradients(const Adjacency& adj, const Tensor& s, const Tensor& t,
                                                      const SavedTensor& x, const AttentionOptions& options,
                                                      FusedAttention forward, const Tensor& dy,
                                                      kernels::AttentionVectors& vectors) {
  const bool empty = !forward.saved.stat.defined(), of_layer = vectors.dst.defined();
  const auto like = [&](const Tensor& of) {
    return empty ? Tensor::zeros(of.shape(), of.dtype(), of.device())
                 : Tensor::empty(of.shape(), of.dtype(), of.device());
  };
  kernels::AttentionGradients out{.ds = like(s)};
  Tensor terms;
  if (!empty) {
    terms = Tensor::empty({adj.rows(), s.dim(1), 4}, sum_dtype(s.dtype()), s.device());
    kernels::gat_attention_terms.on(s.device())(s, forward.y, forward.saved, dy, options.negative_slope,
                                                terms, out.ds);
    forward = {};
  }
  out.dx = like(x.get());
  if (of_layer)
    vectors.d_dst = like(vectors.dst), vectors.d_src = like(vectors.src);
  else
    out.dt = like(t);
  if (!empty)
    kernels::gat_attention_backward.on(s.device())(transpose_pattern(adj), t, x.get(), options, terms, dy,
                                                   out, vectors);
  return out;
}

Variable graph_attention(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                         const AttentionOptions& options) {
  if (options.form == AttentionForm::kComposed) return composed(adj, s, t, x, options);
  const bool recorded = grad_enabled() && (s.requires_grad() || t.requires_grad() || x.requires_grad());
  const FusedAttention forward = fused_attention(adj, s.value(), t.value(), x.value(), options, recorded);
  const auto kept = std::make_shared<FusedAttention>(forward);
  return record("gat_attention", forward.y, {s, t, x}, [=, x = x.saved()](const Tensor& dy) {
    kernels::AttentionVectors none;
    const auto gradients =
        fused_attention_gradients(adj, s.value(), t.value(), x, options, taken(*kept), dy, none);
    return std::vector{gradients.ds, gradients.dt, gradients.dx};
  });
}

Variable graph_self_attention(const Adjacency& adj, const Variable& x, const Variable& a_dst,
                              const Variable& a_src, const AttentionOptions& options) {
  if (options.form == AttentionForm::kComposed) {
    const Variable s = head_dot(x, a_dst), t = head_dot(x, a_src);
    check_attention_operands(adj, s.value(), t.value(), x.value(), options);
    return graph_attention(adj, s, t, x, options);
  }
  const auto [s, t] = head_dots(x.value(), a_dst.value(), a_src.value());
  check_attention_operands(adj, s, t, x.value(), options);
  const bool recorded =
      grad_enabled() && (x.requires_grad() || a_dst.requires_grad() || a_src.requires_grad());
  const FusedAttention forward = fused_attention(adj, s, t, x.value(), options, recorded);
  const auto kept = std::make_shared<FusedAttention>(forward);
  const auto rule = [=, s = s, t = t, x = x.saved()](const Tensor& dy) {
    const DType wide = sum_dtype(dy.dtype());
    kernels::AttentionVectors of{.dst = a_dst.value().to(wide), .src = a_src.value().to(wide)};
    const Tensor dx = fused_attention_gradients(adj, s, t, x, options, taken(*kept), dy, of).dx;
    return std::vector{dx, of.d_dst.to(a_dst.dtype()), of.d_src.to(a_src.dtype())};
  };
  return record("gat_self_attention", forward.y, {x, a_dst, a_src}, rule);
}

}  // namespace rodeo
