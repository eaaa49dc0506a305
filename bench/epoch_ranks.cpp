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
#include "bench/gcn_sums.h"
#include "bench/large_graph.h"
#include "bench/output_file.h"
#include "core/launch_ranks.h"
#include "core/text.h"
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

/// A GCN in f32 whose epochs compute all rows.
bool can_be_simulated(const Json& one) {
  return number(one, "ranks") == 1 && one.at("model") == "gcn" && one.at("precision") == "fp32" &&
         one.at("layers") >= 2 && !large_graph(one.at("graph").get<std::string>());
}

void print_simulation(const Json& one, bool keeps_input, const AggregationRates& rates) {
  const auto size = [&](const char* key) { return one.at(key).get<std::int64_t>(); };
  const std::int64_t features = size("columns"), hidden = size("hidden"), classes = size("classes"),
                     layers = size("layers");
  const FirstInput first = one.at("features") == "sparse" ? FirstInput::kSparse
                           : keeps_input                  ? FirstInput::kKept
                                                          : FirstInput::kDropped;
  std::vector<AggregationSizes> products;
  for (const GcnSum& sum : gcn_sums(features, hidden, classes, layers, first))
    products.push_back({.nodes = size("nodes"),
                        .edges = size("edges"),
                        .columns = sum.columns,
                        .x_on_all_ranks = sum.of_features});
  const std::int64_t parameters = features * hidden + (layers - 2) * hidden * hidden + hidden * classes;
  const double ms = number(one, "epoch_ms");
  for (const int ranks : {2, 4, 8, 16, 64}) {
    const SimulatedStep step = simulate_step(parts_of(one), products, parameters, ranks, rates);
    print_row(one, fmt::format("~{}", ranks), step.ms(), ms, ranks, step.parts, step.exchange_ms, 0);
  }
}

/// The rates that a run on several GPUs measured; null: there was none.
const Json* with_rates(const std::vector<Json>& rows) {
  const auto at = std::ranges::find_if(rows, [](const Json& row) { return number(row, "ranks") > 1; });
  return at == rows.end() ? nullptr : &*at;
}

void print_scaling(const std::vector<Json>& rows, const EpochOptions& options) {
  constexpr double kShortMs = 10;
  print_header();
  std::map<std::string, const Json*> first;
  for (const Json& row : rows) {
    const Json& base = *first.emplace(key_of(row), &row).first->second;
    const double ranks = number(row, "ranks");
    print_row(row, fmt::format("{}", ranks), number(row, "epoch_ms"), number(base, "epoch_ms"),
              ranks / number(base, "ranks"), parts_of(row), number(row, "communication_ms"),
              number(row, "peak_bytes"));
  }
  AggregationRates rates;
  const Json* const measured = with_rates(rows);
  if (measured) {
    rates.exchange_ms = number(*measured, "exchange_ms");
    rates.exchange_bytes = number(*measured, "exchange_gb_s") * 1e6;
  }
  bool simulated = false;
  for (const auto& [key, row] : first)
    if (options.on_gpus && can_be_simulated(*row) && number(*row, "epoch_ms") >= kShortMs) {
      print_simulation(*row, options.input_dropout == 0.0, rates);
      simulated = true;
    }
  if (simulated)
    fmt::print(
        "~N: simulated for N GPUs from the run on one, not measured. An exchange takes {:.3g} ms, and "
        "brings {:.3g} GB/s: {}\n",
        rates.exchange_ms, rates.exchange_bytes / 1e6,
        measured ? fmt::format("measured on {} ranks", number(*measured, "ranks")) : "those of two H200");
  for (const auto& [key, row] : first)
    if (number(*row, "epoch_ms") < kShortMs)
      fmt::print(
          "{}, {} {}: an epoch of {:.3g} ms is short. More ranks seldom pay under {} ms, so none are "
          "simulated.\n",
          row->at("graph").get<std::string>(), row->at("model").get<std::string>(),
          row->at("hidden").get<std::int64_t>(), number(*row, "epoch_ms"), kShortMs);
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
    fmt::print("{}\n", count_of(ranks, "rank"));
    std::fflush(stdout);
    if (const int code = launch_ranks(ranks, command); code != 0) return code;
    std::ifstream text(file.path);
    for (const Json& row : Json::parse(text)) rows.push_back(row);
  }
  print_scaling(rows, options);
  json.write([&](std::ostream& out) { out << Json(rows).dump(1) << '\n'; });
  return 0;
}

}  // namespace rodeo::bench
