/// The command line of sparse_bench.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/graphs.h"
#include "tests/bench/kernels.h"

namespace rodeo::bench {

struct BenchOptions {
  std::vector<Op> ops;
  std::vector<GraphSource> graphs;
  std::vector<std::int64_t> widths;
  std::vector<DType> dtypes;
  std::vector<std::string> kernels;  // empty: all
  int repeats = 20;
  bool weighted = false;
  Device device;
  std::string csv, json, plot;  // files to write, or empty
  std::string command;          // the command line

  std::string help;  // not empty after --help: print this and do nothing else
};

/// Throws Error in one line for an unknown option, a missing or bad value, and a file that does not exist.
BenchOptions parse_bench_options(int argc, const char* const* argv);

}  // namespace rodeo::bench
