#include "tests/bench/graphs.h"

#include <algorithm>
#include <filesystem>

#include "datasets/dataset.h"
#include "datasets/matrix_market.h"
#include "datasets/subset.h"
#include "datasets/synthetic.h"
#include "tests/bench/arguments.h"

namespace rodeo::bench {
namespace {

NamedGraph from_dataset(Dataset data, const GraphSource& source, Device device) {
  data.edge_weight = {};  // the benchmark draws its own weights
  if (source.reorder != NodeOrder::kNone) {
    data.x = data.y = {};
    data.x_sparse = {};
    data.split = {};
    data = select_nodes(data, node_order(data, source.reorder));
    data.name += str("+", name(source.reorder));
  }
  return {data.name, to_graph(data, device).adj};
}

Dataset from_synthetic(const GraphSource& source) {
  SyntheticOptions preset = preset_in_order(source.name, source.shuffle);
  preset.features = 1;  // the benchmark draws its own operands
  preset.words = 0;
  return synthesize(preset);
}

NamedGraph from_matrix_market(const GraphSource& source, Device device) {
  const MatrixMarket m = read_matrix_market(source.name);
  const std::string stem = std::filesystem::path(source.name).stem().string();
  if (source.reorder == NodeOrder::kNone)
    return {stem, coo_to_csr(m.row.to(device), m.col.to(device), m.rows, m.cols).adj};
  check(m.rows == m.cols, source.name, ": --reorder needs a square matrix, got ", m.rows, " x ", m.cols);
  Dataset data;
  data.name = stem;
  data.num_nodes = m.rows;
  data.src = m.col, data.dst = m.row;
  return from_dataset(data, source, device);
}

NamedGraph from(const GraphSource& source, Device device) {
  switch (source.kind) {
    case GraphSource::Kind::kSynthetic:
      return from_dataset(from_synthetic(source), source, device);
    case GraphSource::Kind::kHdf5:
      return from_dataset(load_dataset(source.name, {.features = false}), source, device);
    default:
      return from_matrix_market(source, device);
  }
}

}  // namespace

NamedGraph load_graph(const GraphSource& source, Device device) {
  NamedGraph graph = from(source, device);
  check(graph.adj.num_edges() > 0, source.name, ": a graph without edges");
  const auto row_ptr = graph.adj.csr().row_ptr.to_vector<std::int64_t>();
  for (std::size_t i = 1; i < row_ptr.size(); ++i)
    graph.longest = std::max(graph.longest, row_ptr[i] - row_ptr[i - 1]);
  return graph;
}

}  // namespace rodeo::bench
