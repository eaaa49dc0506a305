#include "ops/sparse/sharded_attention.h"

#include <string_view>
#include <utility>

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/dense.h"
#include "ops/heads.h"
#include "ops/plan/attention_config.h"
#include "ops/sparse/aggregation_choice.h"
#include "ops/sparse/attention_in_parts.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/head_exchange.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/sharded_products.h"
#include "ops/sparse/whole_graph.h"

namespace rodeo {
namespace {

/// [n, heads] -> [n, heads, 1]
Variable as_heads(const Variable& s) {
  return reshape(s, {s.dim(0), s.dim(1), 1});
}
Variable as_scores(const Variable& s) {
  return reshape(s, {s.dim(0), s.dim(1)});
}

HeadRange heads_here(const NodePartition& nodes, std::int64_t heads) {
  return heads_of_rank(heads, nodes.ranks().size(), nodes.ranks().rank());
}

/// Of all rows, for the heads of the rank.
AttentionOptions of_heads(AttentionOptions options, const HeadRange& here) {
  options.key.first_row = 0;
  options.first_head += here.begin;
  return options;
}

Variable by_heads(const ShardedRows& share, const Variable& s, const Variable& t, const Variable& x,
                  const AttentionOptions& options) {
  const NodePartition& nodes = *share.nodes;
  const auto scores = [&](const Variable& of) { return as_scores(heads_of_rows(nodes, as_heads(of))); };
  const Variable own_s = scores(s), own_t = scores(t), own_x = heads_of_rows(nodes, x);
  const Variable y = graph_attention(whole_graph(share), own_s, own_t, own_x,
                                     of_heads(options, heads_here(nodes, x.dim(1))));
  return rows_of_heads(nodes, y, x.dim(1));
}

/// The scores are computed from the rows of all nodes: x alone travels.
Variable self_by_heads(const ShardedRows& share, const Variable& x, const Variable& a_dst,
                       const Variable& a_src, const AttentionOptions& options) {
  const NodePartition& nodes = *share.nodes;
  const HeadRange here = heads_here(nodes, x.dim(1));
  const Variable y =
      graph_self_attention(whole_graph(share), heads_of_rows(nodes, x), rows(a_dst, here.begin, here.end),
                           rows(a_src, here.begin, here.end), of_heads(options, here));
  return rows_of_heads(nodes, y, x.dim(1));
}

Variable by_rows(const ShardedRows& share, Aggregation form, const Variable& s, const Variable& t,
                 const Variable& x, AttentionOptions options) {
  options.key.first_row = share.nodes->first_row();
  if (form == Aggregation::kOverlap) return attention_in_parts(share, s, t, x, options);
  return graph_attention(share.rows, s, neighbour_rows(share, form, t), neighbour_rows(share, form, x),
                         options);
}

void check_self_operands(const ShardedRows& share, const Tensor& x, const Tensor& a_dst,
                         const Tensor& a_src) {
  constexpr std::string_view op = "gat_attention";
  check(x.rank() == 3 && x.dim(0) == share.rows.rows(), "[", op, "] x must be [", share.rows.rows(),
        ", heads, k], got ", x.shape());
  for (const auto& [name, a] : {std::pair("a_dst", a_dst), {"a_src", a_src}}) {
    check_beside(op, "x", x, name, a);
    check_shape(op, name, a, {x.dim(1), x.dim(2)});
  }
}

/// `run` computes it in a form.
template <class Run>
Variable in_chosen_form(const ShardedRows& share, const Variable& x, const AttentionOptions& options,
                        const Run& run) {
  AggregationProblem problem{row_size(x.value()), x.dtype(), ProductKind::kComposedAttention, x.dim(1)};
  if (options.form != AttentionForm::kComposed) {
    problem.kind = ProductKind::kAttention;
    problem.parts = attention_parts(x.dim(1), x.dim(2), static_cast<int>(size_of(x.dtype())));
  }
  return run(choose_aggregation(share, problem, [&](Aggregation form) {
    const NoGrad off;
    run(form);
  }));
}

}  // namespace

Variable sharded_attention(const ShardedRows& share, const Variable& s, const Variable& t, const Variable& x,
                           const AttentionOptions& options) {
  return in_chosen_form(share, x, options, [&](Aggregation form) {
    return form == Aggregation::kColumns ? by_heads(share, s, t, x, options)
                                         : by_rows(share, form, s, t, x, options);
  });
}

Variable sharded_self_attention(const ShardedRows& share, const Variable& x, const Variable& a_dst,
                                const Variable& a_src, const AttentionOptions& options) {
  check_self_operands(share, x.value(), a_dst.value(), a_src.value());
  return in_chosen_form(share, x, options, [&](Aggregation form) {
    return form == Aggregation::kColumns
               ? self_by_heads(share, x, a_dst, a_src, options)
               : by_rows(share, form, head_dot(x, a_dst), head_dot(x, a_src), x, options);
  });
}

}  // namespace rodeo
