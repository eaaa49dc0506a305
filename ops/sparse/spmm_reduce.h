/// The reductions of ops/spmm.h other than the sum. Operands have been checked.
#pragma once

#include "ops/spmm.h"

namespace rodeo {

/// weight may be undefined.
Variable spmm_mean(const Adjacency& adj, const Variable& weight, const Variable& x, SpmmOptions options);
Variable spmm_minmax(const Adjacency& adj, const Variable& weight, const Variable& x,
                     const SpmmOptions& options);

}  // namespace rodeo
