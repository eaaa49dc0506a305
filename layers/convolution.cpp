#include "layers/convolution.h"

#include <numeric>
#include <utility>
#include <vector>

#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/select_rows.h"

namespace rodeo {

ConvGraph::ConvGraph(Adjacency graph, Variable edge_features)
    : adj(std::move(graph)), edge_attr(std::move(edge_features)) {}

ConvGraph::ConvGraph(const GcnGraph& graph, Variable edge_features)
    : adj(graph.adj), weight(graph.weight), row_scale(graph.scale), edge_attr(std::move(edge_features)) {
  // Selected rows of a GcnGraph have no scale of their columns: the caller scales them.
  if (adj.defined() && adj.rows() == adj.cols()) col_scale = graph.scale;
}

ConvGraph::ConvGraph(const GcnBlock& block, Variable edge_features)
    : adj(block.adj),
      weight(block.weight),
      row_scale(block.target_scale),
      col_scale(block.source_scale),
      edge_attr(std::move(edge_features)),
      is_block(true) {}

ConvGraph select_destinations(const ConvGraph& whole, const Tensor& rows) {
  check(whole.is_whole(), "[select_destinations] the graph must be whole, got a block or selected rows");
  ConvGraph out;
  const bool has_edges = whole.weight.defined() || whole.edge_attr.defined();
  const RowSelection selection = select_rows(whole.adj, rows, has_edges);
  out.adj = selection.adj;
  if (whole.weight.defined()) out.weight = take(whole.weight, selection.edge_ids);
  if (whole.edge_attr.defined()) out.edge_attr = Variable(take(whole.edge_attr.value(), selection.edge_ids));
  if (whole.row_scale.defined()) out.row_scale = take(whole.row_scale, rows);
  out.col_scale = whole.col_scale;
  std::vector<std::int64_t> row_ptr(static_cast<std::size_t>(rows.numel()) + 1);
  std::iota(row_ptr.begin(), row_ptr.end(), 0);
  out.selected = Adjacency::trusted(
      {rows.numel(), whole.adj.cols(), Tensor::from(row_ptr, rows.device()), rows.to(DType::kI32)});
  out.whole = std::make_shared<const ConvGraph>(whole);
  return out;
}

Features destinations(const ConvGraph& graph, const Features& x) {
  // A product, and no gather: its gradient can be captured in a CUDA graph.
  if (graph.selected.defined()) return spmm(graph.selected, x.dense(), {.algorithm = SpmmAlgorithm::kCsr});
  return x.dim(0) == graph.adj.rows() ? x : Features(rows(x.dense(), 0, graph.adj.rows()));
}

Variable propagate(const ConvGraph& graph, const Variable& x, const SpmmOptions& options) {
  if (graph.is_block)
    return scale_rows(
        aggregate(GcnBlock{graph.adj, graph.weight, graph.col_scale, graph.row_scale}, x, options),
        graph.row_scale);
  const GcnGraph by{graph.adj, graph.weight, graph.row_scale};
  return scale_rows(aggregate(by, scale_rows(x, graph.col_scale), options), graph.row_scale);
}

bool Convolution::can_be_padded(const ConvGraph&, const SpmmOptions&) const {
  return false;
}

bool sums_without_plan(Reduce reduce, const SpmmOptions& spmm) {
  return (reduce == Reduce::kSum || reduce == Reduce::kMean) &&
         (spmm.algorithm == SpmmAlgorithm::kAuto || spmm.algorithm == SpmmAlgorithm::kCsr);
}

Variable apply(Variable x, const EpilogueOptions& then) {
  return then.activation == Activation::kNone && then.dropout == 0 ? x : epilogue(x, Variable(), then);
}

}  // namespace rodeo
