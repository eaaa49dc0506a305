/// How SpmmAlgorithm::kAuto chooses an algorithm. The contract is in spmm.h.
#pragma once

#include <functional>
#include <string>

#include "core/adjacency.h"
#include "ops/spmm_choice.h"

namespace rodeo {

template <class Problem, class Algorithm>
class TuningCache;

/// The choice without measurement: kRode on CUDA. On the CPU kCsr, which schedules rows dynamically, or kRode
/// where one row of a large graph has at least an eighth of the edges, because kRode splits that row.
SpmmAlgorithm spmm_rule(const Adjacency& adj);

/// The algorithm for one product, which run(algorithm) computes whole. Cached on adj and in `cache`.
SpmmAlgorithm choose_spmm(const Adjacency& adj, const SpmmProblem& problem,
                          const std::function<void(SpmmAlgorithm)>& run,
                          TuningCache<SpmmProblem, SpmmAlgorithm>& cache);

/// All choices that kAuto has made on this graph so far, one problem after the other, as printed. Where kRode
/// was chosen on CUDA, also what it runs (spmm_variant). Empty before the first one.
std::string explain_spmm(const Adjacency& adj);

}  // namespace rodeo
