#include "ops/relational.h"

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/grouped_linear.h"
#include "ops/plan/relational_plan.h"
#include "ops/spmm.h"

namespace rodeo {

namespace {

/// The sum or the mean by relation of rows of x, over the edges of stacked() or by_target(). Weights of means
/// are constants, whose transposes are kept.
Variable reduce_edges(const HeteroGraph& graph, const Adjacency& adj, const Variable& x,
                      const RelationalOptions& options) {
  if (options.reduce == Reduce::kSum) return spmm(adj, x, options.spmm);
  const EdgeMeans& means = graph.edge_means(adj, x.dtype());
  const auto rule = [adj, back = means.transposed, options = options.spmm](const Tensor& dy) {
    return std::vector{spmm(transpose_pattern(adj), back, dy, options)};
  };
  return record("spmm", spmm(adj, means.weight, x.value(), options.spmm), {x}, rule);
}

}  // namespace

Variable sort_relations(const Adjacency& order, const Variable& parameter) {
  if (!order.defined()) return parameter;
  const Shape& shape = parameter.shape();
  check(shape.rank() >= 2 && shape[0] == order.cols(), "[sort_relations] the parameter must be [",
        order.cols(), ", ...], got ", shape);
  const std::int64_t relations = order.rows(), size = shape[0] == 0 ? 0 : shape.numel() / shape[0];
  const Variable sorted = spmm(order, reshape(parameter, {shape[0], size}));
  if (shape.rank() == 2) return sorted;
  return reshape(sorted, shape.rank() == 3 ? Shape{relations, shape[1], shape[2]}
                                           : Shape{relations, shape[1], shape[2], shape[3]});
}

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
                          .stack = graph.num_sources(),
                          .targets = graph.num_targets(),
                          .rows = graph.num_rows(),
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
  if (plan.order == RelationalOrder::kAggregateFirst)
    return grouped_linear(reduce_edges(graph, graph.by_target(), x, options), graph.targets_to_rows(),
                          graph.num_rows(), sort_relations(graph.target_order(), w));
  const Variable stack = fan_out_linear(x, graph.nodes_to_stack(), graph.num_sources(),
                                        transpose_last(sort_relations(graph.source_order(), w)));
  return reduce_edges(graph, graph.stacked(), stack, options);
}

}  // namespace rodeo
