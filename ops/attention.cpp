#include "ops/attention.h"

#include <utility>

#include "ops/checks.h"
#include "ops/heads.h"
#include "ops/kernels/attention.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/sharded_attention.h"
#include "ops/sparse/sharded_products.h"

namespace rodeo {
namespace {

void check_scores(const Adjacency& adj, const Tensor& score, const Tensor& x,
                  const AttentionOptions& options) {
  constexpr std::string_view op = "attention_from_scores";
  check_matrix(op, "score", score);
  check_shape(op, "score", score, {adj.num_edges(), score.dim(1)});
  check_attention_rows(op, adj, x, score.dim(1));
  check_alike(op, "x", x, "score", score);
  check_attention_dropout(op, options);
  check(options.form != AttentionForm::kFused, "[", op, "] has no fused form: choose auto or composed");
}

/// Checks what a caller kept of forward. Undefined tensors where forward had computed nothing.
FusedAttention checked_state(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                             const GatAttentionState& state, const Tensor& dy,
                             const AttentionOptions& options) {
  constexpr std::string_view op = "gat_attention";
  check_attention_operands(adj, s, t, x, options);
  const Shape shape{adj.rows(), x.dim(1), x.dim(2)};
  for (const auto& [name, value] : {std::pair("y", state.y), {"positive", state.positive}, {"dy", dy}}) {
    check_alike(op, "x", x, name, value);
    check_shape(op, name, value, shape);
  }
  check_shape(op, "stat", state.stat, {adj.rows(), x.dim(1), 3});
  check(state.stat.device() == x.device() && state.stat.dtype() == sum_dtype(x.dtype()), "[", op,
        "] stat must be ", sum_dtype(x.dtype()), " on ", x.device(), ", got ", state.stat.dtype(), " on ",
        state.stat.device());
  if (shape.numel() == 0 || adj.num_edges() == 0) return {};
  return {state.y, {state.positive, state.stat}};
}

}  // namespace

Tensor gat_attention(const Adjacency& adj, const Tensor& s, const Tensor& t, const Tensor& x,
                     const AttentionOptions& options) {
  return gat_attention(adj, Variable(s), Variable(t), Variable(x), options).value();
}

Variable gat_attention(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                       const AttentionOptions& options) {
  check_attention_operands(adj, s.value(), t.value(), x.value(), options);
  return neighbour_attention(adj, s, t, x, options);
}

GatAttentionState gat_attention_forward(const Adjacency& adj, const Tensor& s, const Tensor& t,
                                        const Tensor& x, const AttentionOptions& options) {
  check_attention_operands(adj, s, t, x, options);
  auto [y, saved] = fused_attention(adj, s, t, x, options, /*recorded=*/true);
  if (!saved.stat.defined())  // nothing was computed
    saved = {Tensor::zeros(y.shape(), x.dtype(), x.device()),
             Tensor::zeros({adj.rows(), x.dim(1), 3}, sum_dtype(x.dtype()), x.device())};
  return {y, saved.positive, saved.stat};
}

GatAttentionGradients gat_attention_gradients(const Adjacency& adj, const Tensor& s, const Tensor& t,
                                              const Tensor& x, const GatAttentionState& state,
                                              const Tensor& dy, const AttentionOptions& options) {
  kernels::AttentionVectors none;
  const auto out = fused_attention_gradients(adj, s, t, SavedTensor(x), options,
                                             checked_state(adj, s, t, x, state, dy, options), dy, none);
  return {out.ds, out.dt, out.dx};
}

GatSelfAttentionState gat_self_attention_forward(const Adjacency& adj, const Tensor& x, const Tensor& a_dst,
                                                 const Tensor& a_src, const AttentionOptions& options) {
  const auto [s, t] = head_dots(x, a_dst, a_src);
  return {s, t, gat_attention_forward(adj, s, t, x, options)};
}

GatSelfAttentionGradients gat_self_attention_gradients(const Adjacency& adj, const Tensor& x,
                                                       const Tensor& a_dst, const Tensor& a_src,
                                                       const GatSelfAttentionState& state, const Tensor& dy,
                                                       const AttentionOptions& options) {
  const auto& [s, t, attention] = state;
  FusedAttention saved = checked_state(adj, s, t, x, attention, dy, options);
  const DType wide = sum_dtype(x.dtype());
  kernels::AttentionVectors of{.dst = a_dst.to(wide), .src = a_src.to(wide)};
  const Tensor dx =
      fused_attention_gradients(adj, s, t, SavedTensor(x), options, std::move(saved), dy, of).dx;
  return {dx, of.d_dst.to(a_dst.dtype()), of.d_src.to(a_src.dtype())};
}

Variable gat_self_attention(const Adjacency& adj, const Variable& x, const Variable& a_dst,
                            const Variable& a_src, const AttentionOptions& options) {
  return neighbour_self_attention(adj, x, a_dst, a_src, options);
}

Tensor attention_from_scores(const Adjacency& adj, const Tensor& score, const Tensor& x,
                             const AttentionOptions& options) {
  return attention_from_scores(adj, Variable(score), Variable(x), options).value();
}

Variable attention_from_scores(const Adjacency& adj, const Variable& score, const Variable& x,
                               const AttentionOptions& options) {
  const Adjacency& rows = rank_rows(adj);
  const Variable all_x = neighbour_rows(adj, x);
  AttentionOptions of_rank = options;
  of_rank.key = key_of_rank(adj, options.key);
  check_scores(rows, score.value(), all_x.value(), options);
  return attention_sum(rows, score, all_x, of_rank);
}

}  // namespace rodeo
