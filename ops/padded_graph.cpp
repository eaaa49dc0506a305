#include "ops/padded_graph.h"

#include "core/error.h"
#include "ops/convert.h"
#include "ops/copy_padded.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/row_order.h"
#include "ops/sparse/spmm_reduce.h"

namespace rodeo {
namespace {

Adjacency empty_graph(std::int64_t rows, std::int64_t cols, std::int64_t edges, Device device) {
  return Adjacency::trusted({rows, cols, Tensor::zeros({rows + 1}, DType::kI64, device),
                             Tensor::zeros({edges}, DType::kI32, device)});
}

// Columns beyond the edges keep those of an earlier graph: no row names them.
void add_arrays(const Adjacency& from, const Adjacency& to, std::vector<PaddedCopy>& copies) {
  const std::int64_t edges = from.num_edges();
  copies.push_back({.from = from.csr().row_ptr, .to = to.csr().row_ptr, .value = edges});
  copies.push_back({.from = from.csr().col, .to = to.csr().col.slice(0, edges)});
}

}  // namespace

PaddedGraph::PaddedGraph(std::int64_t rows, std::int64_t cols, std::int64_t edges, Device device)
    : adj_(empty_graph(rows, cols, edges, device)), transposed_(empty_graph(cols, rows, edges, device)) {
  assume_no_locality(adj_);
  set_transposed_pattern(adj_, transposed_);
  set_overwritten(adj_);
  set_overwritten(transposed_);
}

void PaddedGraph::prepare(const Adjacency& graph) const {
  if (needs_transpose_) transpose_pattern(graph);
}

void PaddedGraph::load(const Adjacency& graph) const {
  std::vector<PaddedCopy> copies;
  add_copies(graph, copies);
  copy_padded(copies);
  finish_load();
}

void PaddedGraph::add_copies(const Adjacency& graph, std::vector<PaddedCopy>& copies) const {
  check(graph.rows() <= adj_.rows() && graph.cols() <= adj_.cols() && graph.num_edges() <= adj_.num_edges() &&
            graph.device() == adj_.device(),
        "[padded_graph] a graph of ", graph.rows(), " x ", graph.cols(), " with ", graph.num_edges(),
        " edges on ", graph.device(), " does not fit into ", adj_.rows(), " x ", adj_.cols(), " with ",
        adj_.num_edges(), " edges on ", adj_.device());
  add_arrays(graph, adj_, copies);
  if (needs_transpose_) add_arrays(transpose_pattern(graph), transposed_, copies);
}

void PaddedGraph::finish_load() const {
  for (const DType values : {DType::kF32, DType::kF64})
    if (has_mean_scale(adj_, values)) refresh_mean_scale(adj_, values);
}

void PaddedGraph::keep_what_was_used() {
  check(derives_only_known(adj_) && derives_only_known(transposed_),
        "[padded_graph] the work made plans of a graph whose edges change: it must use sums and means by "
        "csr, or "
        "fused attention");
  needs_transpose_ = reads_transposed_pattern(adj_);
}

}  // namespace rodeo
