#include "train/commands/repeat.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "core/error.h"
#include "datasets/dataset.h"

namespace rodeo {
namespace {

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread(const std::vector<double>& values) {
  Spread of;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) of.mean += v / n;
  for (const double v : values) of.deviation += (v - of.mean) * (v - of.mean);
  of.deviation = values.size() > 1 ? std::sqrt(of.deviation / (n - 1)) : 0;
  return of;
}

void check_files(const TrainOptions& o) {
  const std::pair<const char*, bool> of_one_run[] = {{"--checkpoint", !o.checkpoint.empty()},
                                                     {"--export", !o.export_file.empty()},
                                                     {"--csv", !o.csv.empty()},
                                                     {"--tensorboard", !o.tensorboard.empty()},
                                                     {"--report", !o.report.empty()},
                                                     {"--trace", !o.trace.empty()},
                                                     {"--profile", o.profile},
                                                     {"--explain", o.explain}};
  for (const auto& [name, given] : of_one_run)
    check(!given, name, " is for one run: not with --seeds and --splits. --log appends all runs to one file");
}

std::vector<std::string> splits_of(const TrainOptions& options) {
  if (!options.all_splits) return {options.split};
  const std::size_t count = load_dataset(options.dataset, {.all_splits = true}).splits.size();
  check(count >= 1, options.dataset, ": --splits all needs masks, and the file has none");
  std::vector<std::string> all;
  for (std::size_t k = 0; k < count; ++k) all.push_back(std::to_string(k));
  return all;
}

}  // namespace

bool is_repeated(const TrainOptions& options) {
  return options.seeds > 1 || options.all_splits;
}

void train_repeated(const TrainOptions& options,
                    const std::function<TrainSummary(const TrainOptions&)>& train) {
  check_files(options);
  check(!options.all_splits || options.split.empty(), "--splits all and --split exclude each other");
  TrainOptions one = options;
  one.seeds = 1;
  one.all_splits = false;
  one.quiet = true;
  std::vector<double> val, test;
  for (const std::string& split : splits_of(options))
    for (int s = 0; s < options.seeds; ++s) {
      one.split = split;
      one.seed = options.seed + static_cast<std::uint64_t>(s);
      if (!options.quiet) {
        if (options.all_splits) fmt::print("split {:<3} ", split);
        fmt::print("seed {:<4} ", one.seed);
        std::fflush(stdout);
      }
      one.silent = options.quiet;
      const TrainSummary summary = train(one);
      val.push_back(summary.best.val);
      test.push_back(summary.best.test);
    }
  const Spread of_test = spread(test), of_val = spread(val);
  if (options.quiet)
    fmt::print("test {:.4f} deviation {:.4f} val {:.4f} val_deviation {:.4f} runs {}\n", of_test.mean,
               of_test.deviation, of_val.mean, of_val.deviation, test.size());
  else
    fmt::print(
        "\n{} runs: test {:.4f} +- {:.4f}, val {:.4f} +- {:.4f} (mean +- standard deviation, at each "
        "run's best validation epoch)\n",
        test.size(), of_test.mean, of_test.deviation, of_val.mean, of_val.deviation);
}

}  // namespace rodeo
