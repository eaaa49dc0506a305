#include "ops/sample_neighbors.h"

#include <algorithm>

#include "ops/all_rows.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels/graph.h"
#include "ops/sparse/row_order.h"

namespace rodeo {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

void check_inputs(const Adjacency& graph, const Tensor& targets, const Tensor& num_targets,
                  const SampleOptions& options, const SampleKey& key, const Tensor& marks) {
  const auto is = [&](const Tensor& x, DType dtype, std::int64_t size) {
    return x.defined() && x.rank() == 1 && x.dtype() == dtype && (size < 0 || x.numel() == size) &&
           x.device() == graph.device();
  };
  check(is(targets, DType::kI64, -1), "[sample_neighbors] targets must be i64 [t] on ", graph.device());
  check(is(num_targets, DType::kI64, 1), "[sample_neighbors] num_targets must be i64 [1] on ",
        graph.device());
  check(is(marks, DType::kI32, all_rows(graph).nodes),
        "[sample_neighbors] marks must be those of make_node_marks()");
  check(options.fanout > 0 || options.fanout == kAllNeighbors,
        "[sample_neighbors] a fan-out must be positive, or -1 for all neighbours, got ", options.fanout);
  check(!options.replace || options.fanout > 0,
        "[sample_neighbors] sampling with replacement needs a fan-out, not -1");
  check(key.epoch < 1 << 24 && key.batch < std::uint64_t{1} << 32 && key.layer < 1 << 8,
        "[sample_neighbors] epoch must be below 2^24, batch below 2^32 and layer below 2^8");
}

}  // namespace

Tensor make_node_marks(const Adjacency& graph) {
  return Tensor::full({all_rows(graph).nodes}, kUnmarked, DType::kI32, graph.device());
}

namespace {

/// A sample of the edges of `rows`, of which the first num_rows[0] are used. Its sources are not numbered
/// yet, and there is room for `targets` more.
NeighborSample draw_edges(const Adjacency& graph, const Tensor& rows, const Tensor& num_rows,
                          std::int64_t targets, const SampleOptions& options, const SampleKey& key) {
  const Device device = graph.device();
  const std::int64_t r = rows.numel();
  const AllRows known = all_rows(graph);
  const Csr csr = known.columns ? Csr{known.nodes, known.nodes, known.row_ptr, {}} : graph.csr();
  NeighborSample sample{.row_ptr = r > 0 ? Tensor::empty({r + 1}, DType::kI64, device)
                                         : Tensor::zeros({1}, DType::kI64, device),
                        .col = {},
                        .edge_ids = {},
                        .nodes = {},
                        .num_nodes = Tensor::zeros({1}, DType::kI64, device)};
  if (r > 0) kernels::sample_row_ptr.on(device)(csr, rows, num_rows, options, sample.row_ptr);
  const auto used = [&] { return sample.row_ptr.slice(r, r + 1).to_vector<std::int64_t>()[0]; };
  const bool all = options.fanout == kAllNeighbors;
  const std::int64_t capacity = r == 0 ? 0 : all ? used() : std::min(options.fanout, kMost) * r;
  check(capacity <= kMost - targets, "[sample_neighbors] ", targets, " targets with up to ", capacity,
        " edges are more than 2^31 - 1: use a smaller batch or smaller fan-outs");
  sample.col = Tensor::empty({capacity}, DType::kI32, device);
  sample.edge_ids = Tensor::empty({capacity}, DType::kI64, device);
  sample.nodes = Tensor::empty({targets + capacity}, DType::kI64, device);
  if (capacity > 0)
    kernels::sample_edges.on(device)(csr, rows, num_rows, options, key, sample.row_ptr, sample.edge_ids,
                                     sample.col);
  if (known.columns) {  // also with no edges: the other ranks read theirs
    const std::int64_t edges = capacity > 0 ? used() : 0;
    sample.col.slice(0, edges).copy_from(known.columns->read(sample.edge_ids.slice(0, edges)));
  }
  return sample;
}

}  // namespace

NeighborSample sample_neighbors(const Adjacency& graph, const Tensor& targets, const Tensor& num_targets,
                                const SampleOptions& options, const SampleKey& key, const Tensor& marks) {
  check(graph.defined() && graph.rows() == graph.cols(), "[sample_neighbors] graph must be square");
  check_inputs(graph, targets, num_targets, options, key, marks);
  NeighborSample sample = draw_edges(graph, targets, num_targets, targets.numel(), options, key);
  if (targets.numel() > 0) kernels::number_sources.on(graph.device())(targets, num_targets, marks, sample);
  return sample;
}

NeighborSample sample_rows_of(const Adjacency& graph, const Adjacency& rows_of, const Tensor& targets,
                              const SampleOptions& options, const SampleKey& key, const Tensor& marks) {
  check(graph.defined() && rows_of.defined() && rows_of.rows() == graph.cols() &&
            rows_of.cols() == graph.rows() && rows_of.device() == graph.device(),
        "[sample_rows_of] rows_of must be the transpose of graph in shape, on its device");
  const std::int64_t t = targets.numel();
  const Tensor num_targets = Tensor::full({1}, static_cast<double>(t), DType::kI64, graph.device());
  check_inputs(graph, targets, num_targets, options, key, marks);
  const NeighborSample row = draw_edges(rows_of, targets, num_targets, 0, {}, key);
  const std::int64_t rows = row.col.numel();
  NeighborSample sample =
      draw_edges(graph, row.col.to(DType::kI64),
                 Tensor::full({1}, static_cast<double>(rows), DType::kI64, graph.device()), t, options, key);
  sample.row_ptr = take(sample.row_ptr, row.row_ptr);
  if (t > 0) kernels::number_sources.on(graph.device())(targets, num_targets, marks, sample);
  return sample;
}

Adjacency sampled_graph(const NeighborSample& sample, std::int64_t rows, std::int64_t cols,
                        std::int64_t edges) {
  check(rows >= 0 && rows < sample.row_ptr.numel() && edges >= 0 && edges <= sample.col.numel() &&
            cols >= 0 && cols <= sample.nodes.numel(),
        "[sampled_graph] ", rows, " x ", cols, " with ", edges,
        " edges is more than the sample has room for");
  const Adjacency graph =
      Adjacency::trusted({rows, cols, sample.row_ptr.slice(0, rows + 1), sample.col.slice(0, edges)});
  assume_no_locality(graph);
  return graph;
}

}  // namespace rodeo
