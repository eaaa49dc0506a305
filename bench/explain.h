/// What was chosen for the products of a graph, and what its kernels launch.
#pragma once

#include <string>

#include "bench/bench_options.h"

namespace rodeo::bench {

/// The choices of the tuners of spmm and sddmm with their reasons, what RoDe runs for each width, dtype and
/// kind of weights (one line for each), what spmv chooses, and the MMAs of TCA-SpMM.
std::string explain(const NamedGraph& graph, const BenchOptions& options);

/// MMAs of TCA-SpMM for n columns.
struct MmaCount {
  std::int64_t model;    // by the cost model of the paper; n is rounded up to a multiple of 16
  std::int64_t planned;  // what the kernel executes, counted from the plan of this graph
};
MmaCount count_mmas(const Adjacency& adj, std::int64_t n, DType dtype);

}  // namespace rodeo::bench
