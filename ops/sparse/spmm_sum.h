/// The sum of ops/spmm.h, which the other reductions build on.
#pragma once

#include "core/adjacency.h"
#include "core/variable.h"
#include "ops/spmm_types.h"

namespace rodeo {

/// Throws Error unless x and weight have the shapes, dtypes and devices that spmm.h requires.
void check_spmm_operands(const Adjacency& adj, const Tensor& weight, const Tensor& x);

/// Y = A X; weight undefined: an unweighted sum. options.reduce is not read.
Tensor spmm_sum(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options);
/// Recorded: see gradients.cpp.
Variable spmm_sum(const Adjacency& adj, const Variable& weight, const Variable& x,
                  const SpmmOptions& options);

}  // namespace rodeo
