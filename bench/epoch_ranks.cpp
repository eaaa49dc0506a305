#include "bench/epoch_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/arguments.h"
#include "bench/large_graph.h"
#include "bench/output_file.h"
#include "core/launch_ranks.h"
#include "ops/sparse/simulated_step.h"

namespace rodeo::bench {
namespace {

using Json = nlohmann::json;

/// A file that is removed with the object.
struct TemporaryFile {
  std::string path =
      (std::filesystem::temp_directory_path() / str("epoch_bench.", ::getpid(), ".json")).string();
  ~TemporaryFile() { std::remove(path.c_str()); }
};

double number(const Json& row, const char* key) {
  return row.at(key).is_null() ? 0 : row.at(key).get<double>();
}

/// One measurement on any number of ranks.
std::string key_of(const Json& row) {
  std::string key;
  for (const char* name : {"graph", "model", "layers", "hidden", "heads", "features", "reorder", "precision",
                           "spmm", "attention"})
    key += row.at(name).dump() + ' ';
  return key;
}

void print_header() {
  fmt::print("\n{:<20} {:<5} {:>6} {:>6} {:<8} {:>11} {:>9} {:>11} {:>11} {:>10} {:>18} {:>10} {:>10}\n",
             "graph", "model", "hidden", "ranks", "form", "epoch, ms", "speed-up", "efficiency", "sparse, ms",
             "GEMM, ms", "communication, ms", "other, ms", "peak, GiB");
}

void print_row(const Json& row, const std::string& ranks, double ms, double first, double scale,
               const StepTimes& parts, double communication, double bytes) {
  fmt::print(
      "{:<20} {:<5} {:>6} {:>6} {:<8} {:>11.3f} {:>9.2f} {:>10.0f} % {:>11.3f} {:>10.3f} {:>18.3f} {:>10.3f} "
      "{:>10}\n",
      row.at("graph").get<std::string>(), row.at("model").get<std::string>(),
      row.at("hidden").get<std::int64_t>(), ranks, row.at("aggregation").get<std::string>(), ms, first / ms,
      100 * first / ms / scale, parts.sparse_ms, parts.gemm_ms, communication, parts.other_ms,
      bytes > 0 ? fmt::format("{:.3f}", bytes / (1 << 30)) : "-");
}

StepTimes parts_of(const Json& row) {
  return {number(row, "sparse_ms"), number(row, "gemm_ms"), number(row, "other_ms")};
}

/// The sums of a GCN of two layers in f32, forward and backward. False: another model.
bool print_simulation(const Json& one, double imbalance) {
  const bool known = one.at("model") == "gcn" && one.at("precision") == "fp32" && one.at("layers") == 2 &&
                     !large_graph(one.at("graph").get<std::string>());  // which computes few rows of the last
  if (!known) return false;
  const auto hidden = one.at("hidden").get<std::int64_t>(), classes = one.at("classes").get<std::int64_t>(),
             features = one.at("columns").get<std::int64_t>();
  std::vector<AggregationSizes> products;
  for (const std::int64_t columns : {hidden, classes, classes, hidden})
    products.push_back({.nodes = one.at("nodes").get<std::int64_t>(),
                        .edges = one.at("edges").get<std::int64_t>(),
                        .columns = columns,
                        .imbalance = imbalance});
  const double ms = number(one, "epoch_ms");
  for (const int ranks : {2, 4, 8, 16, 64}) {
    const SimulatedStep step =
        simulate_step(parts_of(one), products, features * hidden + hidden * classes, ranks);
    print_row(one, fmt::format("~{}", ranks), step.ms(), ms, ranks, step.parts, step.exchange_ms, 0);
  }
  return true;
}

/// `simulate`: the rows are of GPUs.
void print_scaling(const std::vector<Json>& rows, bool simulate) {
  print_header();
  std::map<std::string, const Json*> first;
  for (const Json& row : rows) {
    const Json& base = *first.emplace(key_of(row), &row).first->second;
    const double ranks = number(row, "ranks");
    print_row(row, fmt::format("{}", ranks), number(row, "epoch_ms"), number(base, "epoch_ms"),
              ranks / number(base, "ranks"), parts_of(row), number(row, "communication_ms"),
              number(row, "peak_bytes"));
  }
  if (!simulate) return;
  bool simulated = false;
  for (const auto& [key, row] : first)
    if (number(*row, "ranks") == 1) simulated |= print_simulation(*row, 1);
  if (simulated) fmt::print("~N: simulated for N GPUs of H200 hosts from the run on one, not measured\n");
}

}  // namespace

int run_numbers_of_ranks(const EpochOptions& options, int argc, const char* const* argv) {
  const std::vector<std::string> base =
      arguments_without(argc, argv, {"--gpus", "--ranks", "--json", "--csv"});
  OutputFile json(options.json);
  std::vector<Json> rows;
  for (const int ranks : options.ranks) {
    const TemporaryFile file;
    std::vector<std::string> command = base;
    command.insert(command.end(), {"--json", file.path});
    if (ranks > 1) command.insert(command.end(), {options.on_gpus ? "--gpus" : "--ranks", str(ranks)});
    fmt::print("{} rank{}\n", ranks, ranks == 1 ? "" : "s");
    std::fflush(stdout);
    if (const int code = launch_ranks(ranks, command); code != 0) return code;
    std::ifstream text(file.path);
    for (const Json& row : Json::parse(text)) rows.push_back(row);
  }
  print_scaling(rows, options.on_gpus);
  json.write([&](std::ostream& out) { out << Json(rows).dump(1) << '\n'; });
  return 0;
}

}  // namespace rodeo::bench
