#include "ops/sparse/sharded_attention.h"

#include <string_view>
#include <utility>

#include "ops/checks.h"
#include "ops/heads.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/sharded_products.h"

namespace rodeo {
namespace {

AggregationProblem problem_of_attention(const Tensor& x, const AttentionOptions& options) {
  const bool composed = options.form == AttentionForm::kComposed;
  return {row_size(x), x.dtype(), composed ? ProductKind::kComposedAttention : ProductKind::kAttention,
          x.dim(1)};
}

Variable attention_in_form(const AggregationForm& form, const ShardedRows& shard, const Variable& s,
                           const Variable& t, const Variable& x, AttentionOptions options) {
  if (form.attention) return form.attention(shard, s, t, x, options);
  options.key.first_row = shard.nodes->first_row();
  const Variable all_x = form.gather(shard, x), all_t = form.gather(shard, t);
  return graph_attention(shard.rows, s, all_t, all_x, options);
}

void check_self_operands(const ShardedRows& shard, const Tensor& x, const Tensor& a_dst,
                         const Tensor& a_src) {
  constexpr std::string_view op = "gat_attention";
  check(x.rank() == 3 && x.dim(0) == shard.rows.rows(), "[", op, "] x must be [", shard.rows.rows(),
        ", heads, k], got ", x.shape());
  for (const auto& [name, a] : {std::pair("a_dst", a_dst), {"a_src", a_src}}) {
    check_beside(op, "x", x, name, a);
    check_shape(op, name, a, {x.dim(1), x.dim(2)});
  }
}

}  // namespace

Variable neighbour_attention(const Adjacency& adj, const Variable& s, const Variable& t, const Variable& x,
                             const AttentionOptions& options) {
  const ShardedRows* shard = adj.shard();
  if (!shard) return graph_attention(adj, s, t, x, options);
  return in_chosen_form(*shard, problem_of_attention(x.value(), options), [&](const AggregationForm& form) {
    return attention_in_form(form, *shard, s, t, x, options);
  });
}

Variable neighbour_self_attention(const Adjacency& adj, const Variable& x, const Variable& a_dst,
                                  const Variable& a_src, const AttentionOptions& options) {
  const ShardedRows* shard = adj.shard();
  if (!shard) return graph_self_attention(adj, x, a_dst, a_src, options);
  check_self_operands(*shard, x.value(), a_dst.value(), a_src.value());
  return in_chosen_form(*shard, problem_of_attention(x.value(), options), [&](const AggregationForm& form) {
    if (form.self_attention) return form.self_attention(*shard, x, a_dst, a_src, options);
    return attention_in_form(form, *shard, head_dot(x, a_dst), head_dot(x, a_src), x, options);
  });
}

}  // namespace rodeo
