#include "ops/relational.h"

#include "ops/checks.h"
#include "ops/grouped_linear.h"
#include "ops/plan/relational_plan.h"
#include "ops/spmm.h"

namespace rodeo {

RelationalPlan plan_relational(const HeteroGraph& graph, const Variable& x, const Variable& w,
                               const RelationalOptions& options) {
  const Shape& shape = w.shape();
  check_matrix("relational_linear", "x", x.value());
  check(x.dim(0) == graph.num_nodes(), "[relational_linear] x must have ", graph.num_nodes(),
        " rows, one a node, got ", x.shape());
  check((shape.rank() == 3 || shape.rank() == 4) && shape[0] == graph.num_relations(),
        "[relational_linear] w must be [", graph.num_relations(), ", in, out] or block-diagonal, got ",
        shape);
  check(options.reduce == Reduce::kSum || options.reduce == Reduce::kMean,
        "[relational_linear] reduce must be sum or mean, got ", options.reduce);
  const std::int64_t blocks = shape.rank() == 4 ? shape[1] : 1;
  return plan_relational({.edges = graph.num_edges(),
                          .stack = graph.first_source(graph.num_relations()),
                          .targets = graph.first_target(graph.num_relations()),
                          .in = x.dim(1),
                          .out = blocks * shape[-1],
                          .blocks = blocks,
                          .element_bytes = static_cast<std::int64_t>(size_of(x.dtype())),
                          .x_learns = x.requires_grad(),
                          .mean = options.reduce == Reduce::kMean},
                         options.order);
}

Variable relational_linear(const HeteroGraph& graph, const Variable& x, const Variable& w,
                           const RelationalOptions& options) {
  const RelationalPlan plan = plan_relational(graph, x, w, options);
  SpmmOptions spmm_options = options.spmm;
  if (plan.order == RelationalOrder::kAggregateFirst) {
    spmm_options.reduce = options.reduce;
    return grouped_linear(spmm(graph.by_relation(), x, spmm_options), graph.relations_to_rows(),
                          graph.num_rows(), w);
  }
  const Variable stack =
      grouped_linear(x, graph.nodes_to_stack(), graph.first_source(graph.num_relations()), w);
  if (options.reduce == Reduce::kSum) return spmm(graph.stacked(), stack, spmm_options);
  return spmm(graph.stacked(), Variable(graph.stacked_mean_weight(x.dtype())), stack, spmm_options);
}

}  // namespace rodeo
