// Edge lists to CSR: ids of 32 and 64 bits, weights that follow their edges, symmetrised, without duplicates.
#include "ops/convert.h"

#include "bench/experiments/conversions.h"

namespace rodeo::bench {
namespace {

struct Variant {
  const char* name;
  DType ids;
  bool weighted;
  CooOptions options{};
  bool keeps_edges() const { return !options.symmetrize && !options.drop_duplicates; }
};

struct Converted {
  Adjacency adj;
  Tensor weight;
};

std::vector<Variant> variants(bool square) {
  std::vector<Variant> all{{"i32", DType::kI32, false},
                           {"i64", DType::kI64, false},
                           {"i32, weights", DType::kI32, true},
                           {"drop duplicates", DType::kI32, false, {.drop_duplicates = true}}};
  if (square) {
    all.push_back({"symmetrise", DType::kI32, false, {.symmetrize = true}});
    all.push_back({"symmetrise, weights", DType::kI32, true, {.symmetrize = true}});
  }
  return all;
}

void convert_graph(ExperimentRun& run, const NamedGraph& graph, ConversionTable& table) {
  const Adjacency& adj = graph.adj;
  const ScatteredEdges edges = scatter_edges(adj);
  const bool sorted = has_sorted_rows(adj);
  for (const Variant& variant : variants(adj.rows() == adj.cols())) {
    const Tensor row = edges.row.to(variant.ids), col = edges.col.to(variant.ids);
    Converted want;  // of the host
    for (const Device device : conversion_devices(run)) {
      const Tensor from = row.to(device), to = col.to(device), weight = edges.weight.to(device);
      const auto convert = [&]() -> Converted {
        CooOptions options = variant.options;
        options.edge_ids = variant.weighted;
        const CooResult made = coo_to_csr(from, to, adj.rows(), adj.cols(), options);
        return {made.adj, variant.weighted ? take(weight, made.edge_ids, 1) : Tensor()};
      };
      const Converted got = convert();
      // The list is of the edges of adj: where its rows are sorted, adj must come out again.
      bool right = !variant.keeps_edges() || !sorted || same_csr(got.adj, adj);
      if (device.is_cuda())
        right = right && same_csr(got.adj, want.adj) && same_bytes(got.weight, want.weight);
      else
        want = got;
      const std::int64_t weights = variant.weighted ? weight.nbytes() + got.weight.nbytes() : 0;
      table.add({graph.name, variant.name, device, time_conversion(device, run.options.repeats, convert),
                 adj.num_edges(), 2 * from.nbytes() + bytes_of(got.adj) + weights, right},
                {cell(adj.num_edges()), cell(got.adj.num_edges())});
    }
  }
}

}  // namespace

void run_coo_to_csr(ExperimentRun& run) {
  ConversionTable table(run, "Edge list in scattered order to CSR", "edges",
                        {"edges", "edges of the result"});
  const auto standard = run.small() ? synthetic_sources({"cora"}) : synthetic_sources({"arxiv", "reddit"});
  run.each_graph(standard, [&](const NamedGraph& graph) { convert_graph(run, graph, table); });
  table.print();
}

}  // namespace rodeo::bench
