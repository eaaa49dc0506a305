#include "bench/graphs.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "bench/arguments.h"
#include "bench/dense_graph.h"
#include "bench/kernels.h"
#include "bench/twins.h"
#include "datasets/dataset.h"
#include "datasets/matrix_market.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"

namespace rodeo::bench {
namespace {

NamedGraph from_dataset(Dataset data, const GraphSource& source, Device device) {
  if (source.reorder != NodeOrder::kNone) {
    data.x = data.y = {};
    data.x_sparse = {};
    data.split = {};
    data = select_nodes(data, node_order(data, source.reorder));
    data.name += str("+", name(source.reorder));
  }
  const Graph graph = to_graph(data, device);
  return {data.name, graph.adj, graph.weight};
}

NamedGraph from_synthetic(const GraphSource& source, Device device) {
  const SyntheticOptions preset = preset_in_order(source.name, source.shuffle);
  const Adjacency adj = synthetic_graph(preset, device);
  if (source.reorder == NodeOrder::kNone) return {preset.name, adj};
  Dataset data;
  data.name = preset.name;
  data.num_nodes = preset.nodes;
  const EdgeList edges = csr_to_coo(adj);
  data.dst = edges.row.to(kCpu), data.src = edges.col.to(kCpu);
  return from_dataset(data, source, device);
}

NamedGraph from_matrix_market(const GraphSource& source, Device device) {
  const MatrixMarket m = read_matrix_market(source.name);
  const std::string stem = std::filesystem::path(source.name).stem().string();
  if (source.reorder == NodeOrder::kNone) {
    const CooResult coo =
        coo_to_csr(m.row.to(device), m.col.to(device), m.rows, m.cols, {.edge_ids = m.value.defined()});
    return {stem, coo.adj, m.value.defined() ? take(m.value.to(device), coo.edge_ids) : Tensor()};
  }
  check(m.rows == m.cols, source.name, ": --reorder needs a square matrix, got ", m.rows, " x ", m.cols);
  Dataset data;
  data.name = stem;
  data.num_nodes = m.rows;
  data.src = m.col, data.dst = m.row;
  if (m.value.defined()) data.edge_weight = m.value.to(DType::kF32);
  return from_dataset(data, source, device);
}

/// On the CPU, a 64th of the matrix.
NamedGraph from_twin(const GraphSource& source, Device device) {
  constexpr std::int64_t kPart = 64;
  const Twin& whole = find_twin(source.name);
  const Twin twin = shrink(whole, device.is_cuda() ? 1 : kPart);
  const Adjacency adj = random_matrix(twin_lengths(twin), twin.cols, twin.banded).to(device);
  const std::string part = twin.rows < whole.rows ? str(" (1/", kPart, ")") : "";
  return {"twin of " + twin.name + part, adj, draw_operand({adj.num_edges()}, 4, DType::kF32, device)};
}

NamedGraph from_dense(const GraphSource& source, Device device) {
  const DenseGraph graph = parse_dense_graph(source.name);
  const bool shuffled = source.shuffle.value_or(false);
  return {graph.name + (shuffled ? "-shuffled" : ""), make_dense_graph(graph, shuffled).to(device)};
}

NamedGraph from(const GraphSource& source, Device device) {
  switch (source.kind) {
    case GraphSource::Kind::kSynthetic:
      return from_synthetic(source, device);
    case GraphSource::Kind::kTwin:
      check(source.reorder == NodeOrder::kNone, "--reorder is not for twins");
      return from_twin(source, device);
    case GraphSource::Kind::kDense:
      check(source.reorder == NodeOrder::kNone,
            "--reorder is not for dense graphs: --node-order shuffled is");
      return from_dense(source, device);
    case GraphSource::Kind::kHdf5:
      return from_dataset(load_dataset(source.name, {.features = false}), source, device);
    default:
      return from_matrix_market(source, device);
  }
}

}  // namespace

std::string_view name(Weights weights) {
  return weights == Weights::kNone ? "none" : weights == Weights::kRandom ? "random" : "file";
}

std::vector<Weights> parse_weights(const std::string& text) {
  if (text == "both") return {Weights::kNone, Weights::kRandom};
  for (const Weights weights : {Weights::kNone, Weights::kRandom, Weights::kFile})
    if (name(weights) == text) return {weights};
  fail("--weights must be of none, random, file, both, got '", text, "'");
}

Tensor make_weights(const NamedGraph& graph, Weights weights, DType dtype) {
  if (weights == Weights::kNone) return {};
  const Adjacency& adj = graph.adj;
  if (weights == Weights::kRandom) return draw_operand({adj.num_edges()}, 3, dtype, adj.device());
  check(graph.values.defined(), graph.name, ": no values in the file; use --weights none or random");
  if (size_of(dtype) > 2) return graph.values.to(dtype);
  auto values = graph.values.to(DType::kF64).to_vector<double>();
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  for (double& value : values) value /= largest > 0 ? largest : 1;
  return Tensor::from(values).to(dtype).to(adj.device());
}

NamedGraph load_graph(const GraphSource& source, Device device) {
  NamedGraph graph = from(source, device);
  check(graph.adj.num_edges() > 0, source.name, ": a graph without edges");
  const auto row_ptr = graph.adj.csr().row_ptr.to_vector<std::int64_t>();
  for (std::size_t i = 1; i < row_ptr.size(); ++i)
    graph.longest = std::max(graph.longest, row_ptr[i] - row_ptr[i - 1]);
  return graph;
}

}  // namespace rodeo::bench
