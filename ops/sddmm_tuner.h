/// How SddmmAlgorithm::kAuto chooses an algorithm. The contract is in sddmm.h.
#pragma once

#include <functional>
#include <string>

#include "core/adjacency.h"
#include "ops/sddmm_choice.h"

namespace rodeo {

template <class Problem, class Algorithm>
class TuningCache;

/// The choice without measurement, from sizes, clusters, common columns and row lengths of adj
/// (choose_sddmm_algorithm in ops/plan/sddmm_config.h). kRows on the CPU, which has one loop for both.
SddmmAlgorithm sddmm_rule(const Adjacency& adj, const SddmmProblem& problem);

/// The algorithm for one problem, which run(algorithm) computes whole. Cached on adj and in `cache`.
SddmmAlgorithm choose_sddmm(const Adjacency& adj, const SddmmProblem& problem,
                            const std::function<void(SddmmAlgorithm)>& run,
                            TuningCache<SddmmProblem, SddmmAlgorithm>& cache);

/// All choices that kAuto has made on this graph so far, one problem after the other, as printed. Empty
/// before the first one.
std::string explain_sddmm(const Adjacency& adj);

}  // namespace rodeo
