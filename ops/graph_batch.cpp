#include "ops/graph_batch.h"

#include <limits>
#include <utility>

#include "ops/kernels/graph_batch.h"

namespace rodeo {

GraphSet::GraphSet(Adjacency adj, const Tensor& graph_ptr) : adj_(std::move(adj)) {
  check(adj_.defined() && adj_.rows() == adj_.cols(), "[graph_set] adj must be a square graph");
  check(graph_ptr.defined() && graph_ptr.rank() == 1 && graph_ptr.dtype() == DType::kI64 &&
            graph_ptr.numel() >= 1,
        "[graph_set] graph_ptr must be i64 [graphs + 1]");
  graph_ptr_ = graph_ptr.to(adj_.device());
  nodes_ = graph_ptr.to_vector<std::int64_t>();
  for (std::size_t g = 0; g < nodes_.size(); ++g) {
    const std::int64_t least = g == 0 ? 0 : nodes_[g - 1], most = g == 0 ? 0 : adj_.rows();
    check(nodes_[g] >= least && nodes_[g] <= most,
          "[graph_set] graph_ptr must rise from 0 to the number of nodes, ", adj_.rows(), ", but graph_ptr[",
          g, "] is ", nodes_[g]);
  }
  check(nodes_.back() == adj_.rows(), "[graph_set] graph_ptr must end at the number of nodes, ", adj_.rows(),
        ", got ", nodes_.back());
  const std::vector<std::int64_t> row_ptr = adj_.csr().row_ptr.to_vector<std::int64_t>();
  const std::vector<std::int32_t> col = adj_.csr().col.to_vector<std::int32_t>();
  for (std::size_t g = 0; g < nodes_.size(); ++g) edges_.push_back(row_ptr[nodes_[g]]);
  for (std::size_t g = 0; g + 1 < nodes_.size(); ++g)
    for (std::int64_t row = nodes_[g]; row < nodes_[g + 1]; ++row)
      for (std::int64_t e = row_ptr[row]; e < row_ptr[row + 1]; ++e)
        check(col[e] >= nodes_[g] && col[e] < nodes_[g + 1], "[graph_set] the edge from node ", col[e],
              " to node ", row, " leaves graph ", g, ", which has the nodes ", nodes_[g], " to ",
              nodes_[g + 1] - 1);
}

GraphBatch GraphSet::batch(const std::vector<std::int64_t>& graphs) const {
  const auto count = static_cast<std::int64_t>(graphs.size());
  // Rows: where each graph begins in the batch, nodes and edges, and in the set, nodes and edges.
  const Tensor places = Tensor::empty({4, count + 1}, DType::kI64);
  auto* place = places.data<std::int64_t>();
  std::int64_t nodes = 0, edges = 0;
  for (std::int64_t i = 0; i <= count; ++i) {
    const std::int64_t graph = i < count ? graphs[i] : 0;
    check(i == count || (graph >= 0 && graph < size()), "[graph_set] graph ", graph, " is outside [0, ",
          size(), ")");
    place[i] = nodes;
    place[count + 1 + i] = edges;
    place[2 * (count + 1) + i] = i < count ? nodes_[graph] : 0;
    place[3 * (count + 1) + i] = i < count ? edges_[graph] : 0;
    if (i == count) break;
    nodes += nodes_[graph + 1] - nodes_[graph];
    edges += edges_[graph + 1] - edges_[graph];
  }
  check(nodes <= std::numeric_limits<std::int32_t>::max(),
        "[graph_set] a batch has at most 2^31 - 1 nodes, got ", nodes);
  const Device device = adj_.device();
  const Tensor on_device = places.to(device);
  GraphBatch out;
  out.nodes = Tensor::empty({nodes}, DType::kI64, device);
  out.edge_ids = Tensor::empty({edges}, DType::kI64, device);
  out.offsets = on_device.slice(0, 1).reshape({count + 1});
  const Csr csr{nodes, nodes, Tensor::empty({nodes + 1}, DType::kI64, device),
                Tensor::empty({edges}, DType::kI32, device)};
  if (nodes == 0)
    csr.row_ptr.fill(0);
  else
    kernels::block_diagonal.on(device)(adj_.csr(), on_device, out.nodes, csr, out.edge_ids);
  out.adj = Adjacency::trusted(csr);
  return out;
}

}  // namespace rodeo
