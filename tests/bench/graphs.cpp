#include "tests/bench/graphs.h"

#include <algorithm>

#include "datasets/dataset.h"
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

}  // namespace

NamedGraph load_graph(const GraphSource& source, Device device) {
  NamedGraph graph = source.kind == GraphSource::Kind::kSynthetic ? from_synthetic(source.name, device)
                                                                  : from_hdf5(source.name, device);
  check(graph.adj.num_edges() > 0, source.name, ": a graph without edges");
  const auto row_ptr = graph.adj.csr().row_ptr.to_vector<std::int64_t>();
  for (std::size_t i = 1; i < row_ptr.size(); ++i)
    graph.longest = std::max(graph.longest, row_ptr[i] - row_ptr[i - 1]);
  return graph;
}

}  // namespace rodeo::bench
