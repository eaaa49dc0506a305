#include <algorithm>
#include <vector>

#include "core/memory_stats.h"
#include "datasets/positional_encoding.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

/// A matrix [nodes, width] with ones at (begin + j, j), made on the device.
Tensor identity_columns(std::int64_t nodes, std::int64_t begin, std::int64_t width, Device device) {
  std::vector<std::int64_t> ptr(static_cast<std::size_t>(nodes) + 1);
  for (std::int64_t i = 0; i <= nodes; ++i) ptr[i] = std::clamp<std::int64_t>(i - begin, 0, width);
  std::vector<std::int32_t> col(static_cast<std::size_t>(width));
  const Tensor eye = Tensor::zeros({width, width});
  for (std::int64_t j = 0; j < width; ++j) {
    col[j] = static_cast<std::int32_t>(j);
    eye.data<float>()[j * width + j] = 1;
  }
  const Adjacency places =
      Adjacency::trusted({nodes, width, Tensor::from(ptr, device), Tensor::from(col, device)});
  return spmm(places, eye.to(device), {SpmmAlgorithm::kCsr});
}

/// [edges] the probability of each edge, in the order of the graph, whose rows are destinations.
Tensor step_probabilities(const Graph& graph) {
  const std::vector<std::int32_t> source = graph.adj.csr().col.to_vector<std::int32_t>();
  std::vector<float> weight =
      graph.weight.defined() ? graph.weight.to_vector<float>() : std::vector<float>(source.size(), 1);
  std::vector<double> out(static_cast<std::size_t>(graph.adj.rows()));
  for (std::size_t e = 0; e < source.size(); ++e) {
    check(weight[e] >= 0, "[random_walk_encoding] edge weights must not be negative, got ", weight[e]);
    out[source[e]] += weight[e];
  }
  for (std::size_t e = 0; e < source.size(); ++e)
    if (out[source[e]] > 0) weight[e] = static_cast<float>(weight[e] / out[source[e]]);
  return Tensor::from(weight);
}

}  // namespace

Tensor random_walk_encoding(const Graph& graph, std::int64_t steps, Device device) {
  constexpr std::int64_t kColumns = 128;
  check(steps >= 0, "[random_walk_encoding] steps must not be negative, got ", steps);
  const std::int64_t nodes = graph.adj.rows();
  if (steps == 0 || graph.adj.num_edges() == 0) return Tensor::zeros({nodes, steps});
  const double products = static_cast<double>(nodes) * static_cast<double>(graph.adj.num_edges()) *
                          static_cast<double>(steps),
               most = device.is_cuda() ? 1e16 : 1e14;
  check(products <= most, "[random_walk_encoding] ", steps, " steps on ", nodes, " nodes with ",
        graph.adj.num_edges(), " edges take ", products, " products, more than the ", most, " of a ",
        device.is_cuda() ? "GPU" : "CPU", ": give fewer steps, ", device.is_cuda() ? "" : "a GPU, ",
        "a subset of the nodes, or a Laplacian encoding");
  const double bytes = 4.0 * static_cast<double>(nodes) * static_cast<double>(steps + 3 * kColumns);
  check(bytes <= kMostEncodingBytes, "[random_walk_encoding] ", steps, " steps on ", nodes, " nodes take ",
        format_bytes(bytes), " of memory, more than ", format_bytes(kMostEncodingBytes),
        ": give fewer steps, or a subset of the nodes");
  const Tensor out = Tensor::zeros({nodes, steps}), weight = step_probabilities(graph).to(device);
  const Adjacency adj = graph.adj.to(device);
  const SpmmOptions fixed{device.is_cuda() ? SpmmAlgorithm::kRode : SpmmAlgorithm::kAuto};
  for (std::int64_t begin = 0; begin < nodes; begin += kColumns) {
    const std::int64_t width = std::min(kColumns, nodes - begin);
    Tensor x = identity_columns(nodes, begin, width, device);
    for (std::int64_t k = 0; k < steps; ++k) {
      x = spmm(adj, weight, x, fixed);
      const Tensor rows = x.slice(begin, begin + width).to(kCpu);
      for (std::int64_t j = 0; j < width; ++j)
        out.data<float>()[(begin + j) * steps + k] = rows.data<float>()[j * width + j];
    }
  }
  return out;
}

}  // namespace rodeo
