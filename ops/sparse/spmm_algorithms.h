/// The algorithms of spmm, by name.
#pragma once

#include "core/adjacency.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// One sum Y = A X. Operands have been checked; y is allocated and not empty.
struct SpmmOperands {
  const Adjacency& adj;
  const Tensor &weight, &x, &y;  // weight undefined: an unweighted sum
  Accumulate accumulate = Accumulate::kOrdered;
  RodeOptions rode = {};
};

/// Overwrites operands.y. `algorithm` is not kAuto.
void run_spmm(SpmmAlgorithm algorithm, const SpmmOperands& operands);

/// What cuSPARSE keeps of a graph, an array of ones as long as the edges included, is cached on adj from the
/// first run of kCusparse until it is released.
bool has_cusparse_state(const Adjacency& adj);
void release_cusparse_state(const Adjacency& adj);

}  // namespace rodeo
