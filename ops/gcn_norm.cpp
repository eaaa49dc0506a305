#include "ops/gcn_norm.h"

#include "ops/all_rows.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels/dense.h"

namespace rodeo {

Tensor inverse_sqrt_degrees(const Adjacency& adj, const Tensor& weight, DType dtype) {
  if (weight.defined()) dtype = weight.dtype();
  const Tensor ones = Tensor::full({adj.csr().cols, 1}, 1, dtype, adj.device());
  const Tensor degree = weight.defined() ? spmm(adj, weight, ones) : spmm(adj, ones);
  const Tensor scale = Tensor::empty({adj.rows()}, dtype, adj.device());
  if (adj.rows() > 0) kernels::inverse_sqrt.on(adj.device())(degree.reshape({adj.rows()}), scale);
  return scale;
}

GcnGraph gcn_norm(const Adjacency& adj, const Tensor& weight, DType dtype) {
  check(adj.rows() == adj.cols(), "[gcn_norm] the graph must be square, got ", adj.rows(), " x ", adj.cols());
  CooResult looped = add_self_loops(adj);
  GcnGraph graph{looped.adj, {}, {}};
  if (weight.defined()) {
    check_on_device_of("gcn_norm", adj, "weight", weight);
    check_shape("gcn_norm", "weight", weight, {adj.num_edges()});
    graph.weight = take(weight, looped.edge_ids, 1);
  }
  graph.scale = inverse_sqrt_degrees(graph.adj, graph.weight, dtype);
  return graph;
}

Tensor row_degrees(const GcnGraph& graph) {
  const std::vector<std::int64_t> row_ptr = all_rows(graph.adj).row_ptr.to_vector<std::int64_t>();
  std::vector<double> degree(row_ptr.size() - 1);
  for (std::size_t i = 0; i < degree.size(); ++i)
    degree[i] = static_cast<double>(row_ptr[i + 1] - row_ptr[i]);
  return Tensor::from(degree).to(graph.scale.dtype()).to(graph.adj.device());
}

GcnBlock gcn_block(const GcnGraph& whole, const Tensor& degree, const Adjacency& block,
                   const Tensor& edge_ids, const Tensor& sources) {
  const std::int64_t targets = block.rows();
  check(targets <= block.cols(), "[gcn_block] a block has at least as many sources as destinations, got ",
        targets, " x ", block.cols());
  check_shape("gcn_block", "sources", sources, {block.cols()});
  check_shape("gcn_block", "edge_ids", edge_ids, {block.num_edges()});
  check_shape("gcn_block", "degree", degree, whole.scale.shape());
  const Tensor nodes = sources.slice(0, targets);
  GcnBlock out{.adj = block,
               .weight = whole.weight.defined() ? take(whole.weight, edge_ids) : Tensor(),
               .source_scale = take(whole.scale, sources),
               .target_scale = take(whole.scale, nodes)};
  out.target_scale =
      scale_rows(take(degree, nodes).reshape({targets, 1}), out.target_scale).reshape({targets});
  return out;
}

Variable aggregate(const GcnBlock& block, const Variable& x, SpmmOptions options) {
  options.reduce = Reduce::kMean;
  const Variable h = scale_rows(x, block.source_scale);
  return block.weight.defined() ? spmm(block.adj, Variable(block.weight), h, options)
                                : spmm(block.adj, h, options);
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
