/// Which products kRode and kRodeTc were asked for, for explain_rode (ops/spmm_variant.h).
#pragma once

#include "core/adjacency.h"
#include "ops/spmm_choice.h"

namespace rodeo {

/// Keeps the kind of product on adj. Called for every product that names one of them on CUDA.
void note_rode_product(const Adjacency& adj, SpmmAlgorithm algorithm, const SpmmProblem& problem,
                       const RodeOptions& options);

}  // namespace rodeo
