/// The command line of sparse_bench.
#pragma once

#include <string>
#include <vector>

#include "bench/graphs.h"
#include "bench/kernels.h"

namespace rodeo::bench {

struct BenchOptions {
  std::vector<Op> ops;
  std::vector<GraphSource> graphs;
  std::vector<std::int64_t> widths;
  std::vector<DType> dtypes;
  std::vector<std::string> kernels;  // empty: all
  int repeats = 20;
  std::vector<Weights> weights;
  std::vector<std::string> experiments;  // to run instead of the table
  // Whether the user gave these; experiments have their own defaults.
  bool graphs_given = false, widths_given = false, dtypes_given = false, weights_given = false;
  Device device;
  bool explain = false;
  std::string csv, json, plot;  // files to write, or empty
  std::string command;          // the command line

  std::string help;  // not empty after --help: print this and do nothing else
};

/// Throws Error in one line for an unknown option, a missing or bad value, and a file that does not exist.
BenchOptions parse_bench_options(int argc, const char* const* argv);

}  // namespace rodeo::bench
