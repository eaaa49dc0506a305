/// Which products SpmmAlgorithm::kRode was asked for, for explain_rode (ops/spmm_variant.h).
#pragma once

#include "core/adjacency.h"
#include "ops/spmm_choice.h"

namespace rodeo {

/// Keeps the kind of product on adj. Called for every product that names kRode on CUDA.
void note_rode_product(const Adjacency& adj, const SpmmProblem& problem, const RodeOptions& options);

}  // namespace rodeo
