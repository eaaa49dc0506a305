// sparse_bench: SpMM kernels against cuSPARSE on one device. Verifies every result against float64 before it
// times.
//   sparse_bench [--graph arxiv|reddit|products] [--dataset FILE.h5] [--widths 16,32,...] [--repeats 20]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cxxopts.hpp>
#include <iostream>

#include "core/version.h"
#include "datasets/dataset.h"
#include "datasets/synthetic.h"
#include "ops/dense.h"
#include "ops/rode_plan.h"
#include "ops/spmm.h"
#include "tests/bench/spmm_peer.h"
#include "tests/bench/timing.h"

namespace rodeo::bench {
namespace {

struct Named {
  std::string name;
  Adjacency adj;
};

Named load_graph(const cxxopts::ParseResult& options, Device device) {
  Dataset data;
  if (options.count("dataset")) {
    data = load_dataset(options["dataset"].as<std::string>());
  } else {
    SyntheticOptions preset = synthetic_preset(options["graph"].as<std::string>());
    preset.features = 1;  // the kernels bring their own
    data = synthesize(preset);
  }
  return {data.name, to_graph(data, device).adj};
}

// ||got - want|| / ||want|| over a sample of rows, want in float64 on the host.
double relative_error(const Adjacency& adj, const Tensor& x, const Tensor& y) {
  constexpr std::int64_t kSample = 500;
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const Tensor col = adj.csr().col.to(kCpu), xs = x.to(kCpu), ys = y.to(kCpu);
  const auto* c = col.data<std::int32_t>();
  const auto *xp = xs.data<float>(), *yp = ys.data<float>();
  const std::int64_t n = x.dim(1), step = std::max<std::int64_t>(1, adj.rows() / kSample);
  double difference = 0, norm = 0;
  std::vector<double> want(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < adj.rows(); i += step) {
    std::fill(want.begin(), want.end(), 0.0);
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
      for (std::int64_t j = 0; j < n; ++j) want[j] += xp[c[e] * n + j];
    for (std::int64_t j = 0; j < n; ++j) {
      difference += std::pow(yp[i * n + j] - want[j], 2);
      norm += want[j] * want[j];
    }
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

int run(int argc, char** argv) {
  cxxopts::Options parser("sparse_bench", "SpMM against cuSPARSE, f32, unweighted");
  parser.add_options()("graph", "arxiv, reddit or products (synthetic)",
                       cxxopts::value<std::string>()->default_value("arxiv"))(
      "dataset", "an HDF5 file instead", cxxopts::value<std::string>())(
      "widths", "columns of X", cxxopts::value<std::vector<int>>()->default_value("16,32,64,128,256"))(
      "repeats", "timed runs, of which the median counts", cxxopts::value<int>()->default_value("20"))(
      "device", "auto, cpu, cuda or cuda:i", cxxopts::value<std::string>()->default_value("auto"))(
      "help", "this text");
  const auto options = parser.parse(argc, argv);
  if (options.count("help")) {
    std::cout << parser.help();
    return 0;
  }
  const Device device = parse_device(options["device"].as<std::string>());
  const int repeats = options["repeats"].as<int>();
  const Named graph = load_graph(options, device);
  const Adjacency& adj = graph.adj;
  fmt::print("{} on {}, rodeo {} ({})\n", graph.name, describe(device), RODEO_VERSION, RODEO_COMMIT);
  fmt::print("{} rows, {} edges; rode plan: {}\n\n", adj.rows(), adj.num_edges(), str(rode_plan(adj)));
  fmt::print("{:>5}  {:14} {:>10} {:>8} {:>9} {:>10} {:>10}\n", "n", "kernel", "ms", "TB/s", "GFLOP/s",
             "error", "x cuSPARSE");

  for (const int n : options["widths"].as<std::vector<int>>()) {
    const Tensor x = uniform({adj.cols(), n}, 0, 1, {1, 1}, DType::kF32, device);
    std::vector<Result> results = time_cusparse(adj, x, repeats);  // none on the CPU
    double best = INFINITY;
    for (const Result& result : results) best = std::min(best, result.milliseconds);
    for (const SpmmAlgorithm algorithm : {SpmmAlgorithm::kCsr, SpmmAlgorithm::kRode}) {
      const SpmmOptions choice{algorithm};
      results.push_back({str(algorithm), spmm(adj, x, choice), 0});
      results.back().milliseconds = median_milliseconds(device, repeats, [&] { spmm(adj, x, choice); });
    }
    for (const Result& result : results) {
      const double error = relative_error(adj, x, result.y);
      check(error < 1e-5, "[sparse_bench] ", result.name, " is wrong for n = ", n, ": relative error ",
            error);
      const double terms = static_cast<double>(adj.num_edges()) * n, ms = result.milliseconds;
      fmt::print("{:>5}  {:14} {:>10.4f} {:>8.2f} {:>9.0f} {:>10.1e} {:>10.2f}\n", n, result.name, ms,
                 terms * 4 / ms / 1e9, 2 * terms / ms / 1e6, error, best / ms);
    }
  }
  return 0;
}

}  // namespace
}  // namespace rodeo::bench

int main(int argc, char** argv) {
  try {
    return rodeo::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "sparse_bench: " << error.what() << std::endl;
    return 2;
  }
}
