#include "tests/bench/graphs.h"

#include <algorithm>
#include <filesystem>

#include "datasets/dataset.h"
#include "datasets/matrix_market.h"
#include "datasets/synthetic.h"

namespace rodeo::bench {
namespace {

NamedGraph from_dataset(Dataset data, Device device) {
  data.edge_weight = {};  // operands are random
  return {data.name, to_graph(data, device).adj};
}

NamedGraph from_synthetic(const std::string& name, Device device) {
  SyntheticOptions preset = synthetic_preset(name);
  preset.features = 1;  // the operands are our own
  preset.words = 0;
  return from_dataset(synthesize(preset), device);
}

NamedGraph from_hdf5(const std::string& path, Device device) {
  return from_dataset(load_dataset(path, {.features = false}), device);
}

NamedGraph from_matrix_market(const std::string& path, Device device) {
  const MatrixMarket m = read_matrix_market(path);
  return {std::filesystem::path(path).stem().string(),
          coo_to_csr(m.row.to(device), m.col.to(device), m.rows, m.cols).adj};
}

NamedGraph from(const GraphSource& source, Device device) {
  switch (source.kind) {
    case GraphSource::Kind::kSynthetic:
      return from_synthetic(source.name, device);
    case GraphSource::Kind::kHdf5:
      return from_hdf5(source.name, device);
    default:
      return from_matrix_market(source.name, device);
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
