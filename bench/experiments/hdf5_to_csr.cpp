// Files to graphs, end to end: load_dataset() and to_graph() of an edge list and of a CSR of the same graph.
// The files were just written, so that they are read from the page cache.
#include <filesystem>

#include "bench/experiments/conversions.h"
#include "datasets/dataset.h"
#include "datasets/hdf5_writer.h"
#include "tests/support/temp_dir.h"

namespace rodeo::bench {
namespace {

struct LoadTime {
  double total = 0, reading = 0;  // ms
};

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// The run of median length, of as many as take about two seconds.
LoadTime time_load(const std::string& path, Device device, int repeats) {
  constexpr double kBudget = 2000;
  std::vector<LoadTime> runs;
  for (double spent = 0; runs.empty() || (static_cast<int>(runs.size()) < repeats && spent < kBudget);) {
    synchronize(device);
    const auto begin = std::chrono::steady_clock::now();
    const Dataset dataset = load_dataset(path, {.device = device});
    const double reading = milliseconds_since(begin);
    const Graph graph = to_graph(dataset, device);
    synchronize(device);
    runs.push_back({milliseconds_since(begin), reading});
    spent += runs.back().total;
  }
  std::ranges::sort(runs, {}, &LoadTime::total);
  return runs[runs.size() / 2];
}

struct Variant {
  const char* name;
  DType ids;
  bool weighted;
};

void write_file(const std::string& path, bool list, const Adjacency& adj, const ScatteredEdges& edges,
                const Variant& variant) {
  Hdf5Writer file(path);
  file.attribute("num_nodes", adj.rows());
  if (list) {
    file.write_rows("edge_index", {edges.col.to(variant.ids), edges.row.to(variant.ids)});
  } else {
    file.write("indptr", adj.csr().row_ptr.to(kCpu));
    file.write("indices", adj.csr().col.to(kCpu).to(variant.ids));
  }
  if (variant.weighted) file.write("edge_weight", list ? edges.weight : edges.sorted_weight);
  file.commit();
}

void convert_graph(ExperimentRun& run, const NamedGraph& graph, const std::string& path,
                   ConversionTable& table) {
  const Adjacency& adj = graph.adj;
  const ScatteredEdges edges = scatter_edges(adj);
  const bool sorted = has_sorted_rows(adj);
  const auto load = [&](Device device) { return to_graph(load_dataset(path, {.device = device}), device); };
  for (const Variant& variant : {Variant{"i32", DType::kI32, false},
                                 {"i32, weights", DType::kI32, true},
                                 {"i64", DType::kI64, false}}) {
    double list_ms[2] = {};  // on the host and on the device
    for (const bool list : {true, false}) {
      write_file(path, list, adj, edges, variant);
      const Graph want = load(kCpu);
      for (const Device device : conversion_devices(run)) {
        const Graph got = load(device);
        const bool right = same_csr(got.adj, want.adj) && same_bytes(got.weight, want.weight) &&
                           (!sorted || same_csr(got.adj, adj));
        const LoadTime time = time_load(path, device, run.options.repeats);
        if (list) list_ms[device.is_cuda()] = time.total;
        table.add({graph.name, str(list ? "edge list, " : "CSR, ", variant.name), device, time.total,
                   adj.num_edges(), static_cast<std::int64_t>(std::filesystem::file_size(path)), right},
                  {cell(time.reading), cell(list_ms[device.is_cuda()] / time.total)});
      }
    }
  }
}

}  // namespace

void run_hdf5_to_csr(ExperimentRun& run) {
  ConversionTable table(run, "Uncompressed HDF5 file in the page cache to CSR (GB/s of the file)", "edges",
                        {"ms reading", "x edge list"});
  const test::TempDir folder;
  const auto standard = run.small() ? synthetic_sources({"cora"}) : synthetic_sources({"arxiv", "reddit"});
  run.each_graph(standard, [&](const NamedGraph& graph) {
    if (graph.adj.rows() == graph.adj.cols()) convert_graph(run, graph, folder / "graph.h5", table);
  });
  table.print();
}

}  // namespace rodeo::bench
