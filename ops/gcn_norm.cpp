#include "ops/gcn_norm.h"

#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels/dense.h"

namespace rodeo {

GcnGraph gcn_norm(const Adjacency& adj, const Tensor& weight, DType dtype) {
  check(adj.rows() == adj.cols(), "[gcn_norm] the graph must be square, got ", adj.rows(), " x ", adj.cols());
  CooResult looped = add_self_loops(adj);
  GcnGraph graph{looped.adj, {}, {}};
  if (weight.defined()) {
    check_on_device_of("gcn_norm", adj, "weight", weight);
    check_shape("gcn_norm", "weight", weight, {adj.num_edges()});
    dtype = weight.dtype();
    graph.weight = take(weight, looped.edge_ids, 1);
  }
  const std::int64_t nodes = adj.rows();
  const Tensor ones = Tensor::full({nodes, 1}, 1, dtype, adj.device());
  const Tensor degree = graph.weight.defined() ? spmm(graph.adj, graph.weight, ones) : spmm(graph.adj, ones);
  graph.scale = Tensor::empty({nodes}, dtype, adj.device());
  if (nodes > 0) kernels::inverse_sqrt.on(adj.device())(degree.reshape({nodes}), graph.scale);
  return graph;
}

Tensor aggregate(const GcnGraph& graph, const Tensor& x, const SpmmOptions& options) {
  return graph.weight.defined() ? spmm(graph.adj, graph.weight, x, options) : spmm(graph.adj, x, options);
}

Variable aggregate(const GcnGraph& graph, const Variable& x, const SpmmOptions& options) {
  return graph.weight.defined() ? spmm(graph.adj, Variable(graph.weight), x, options)
                                : spmm(graph.adj, x, options);
}

Tensor propagate(const GcnGraph& graph, const Tensor& x, const SpmmOptions& options) {
  return scale_rows(aggregate(graph, scale_rows(x, graph.scale), options), graph.scale);
}

Variable propagate(const GcnGraph& graph, const Variable& x, const SpmmOptions& options) {
  return scale_rows(aggregate(graph, scale_rows(x, graph.scale), options), graph.scale);
}

}  // namespace rodeo
