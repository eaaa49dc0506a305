#include "ops/sample_neighbors.h"

#include "ops/checks.h"
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
  check(graph.defined() && graph.rows() == graph.cols(), "[sample_neighbors] graph must be square");
  check(is(targets, DType::kI64, -1), "[sample_neighbors] targets must be i64 [t] on ", graph.device());
  check(is(num_targets, DType::kI64, 1), "[sample_neighbors] num_targets must be i64 [1] on ",
        graph.device());
  check(is(marks, DType::kI32, graph.cols()), "[sample_neighbors] marks must be those of make_node_marks()");
  check(options.fanout > 0 || options.fanout == kAllNeighbors,
        "[sample_neighbors] a fan-out must be positive, or -1 for all neighbours, got ", options.fanout);
  check(!options.replace || options.fanout > 0,
        "[sample_neighbors] sampling with replacement needs a fan-out, not -1");
  check(key.epoch < 1 << 24 && key.batch < std::uint64_t{1} << 32 && key.layer < 1 << 8,
        "[sample_neighbors] epoch must be below 2^24, batch below 2^32 and layer below 2^8");
}

}  // namespace

Tensor make_node_marks(const Adjacency& graph) {
  return Tensor::full({graph.cols()}, kUnmarked, DType::kI32, graph.device());
}

NeighborSample sample_neighbors(const Adjacency& graph, const Tensor& targets, const Tensor& num_targets,
                                const SampleOptions& options, const SampleKey& key, const Tensor& marks) {
  check_inputs(graph, targets, num_targets, options, key, marks);
  const Device device = graph.device();
  const std::int64_t t = targets.numel();
  NeighborSample sample{.row_ptr = t > 0 ? Tensor::empty({t + 1}, DType::kI64, device)
                                         : Tensor::zeros({1}, DType::kI64, device),
                        .col = {},
                        .edge_ids = {},
                        .nodes = {},
                        .num_nodes = Tensor::zeros({1}, DType::kI64, device)};
  if (t > 0) kernels::sample_row_ptr.on(device)(graph.csr(), targets, num_targets, options, sample.row_ptr);
  const bool all = options.fanout == kAllNeighbors;
  const std::int64_t capacity = t == 0 ? 0
                                : all  ? sample.row_ptr.slice(t, t + 1).to_vector<std::int64_t>()[0]
                                       : (options.fanout > kMost ? kMost : options.fanout) * t;
  check(capacity <= kMost - t, "[sample_neighbors] ", t, " targets with up to ", capacity,
        " edges are more than 2^31 - 1: use a smaller batch or smaller fan-outs");
  sample.col = Tensor::empty({capacity}, DType::kI32, device);
  sample.edge_ids = Tensor::empty({capacity}, DType::kI64, device);
  sample.nodes = Tensor::empty({t + capacity}, DType::kI64, device);
  if (t == 0) return sample;
  if (capacity > 0)
    kernels::sample_edges.on(device)(graph.csr(), targets, num_targets, options, key, sample.row_ptr,
                                     sample.edge_ids, sample.col);
  kernels::number_sources.on(device)(targets, num_targets, marks, sample);
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
