/// The kernels of rode_ablation.h.
#pragma once

#include "core/adjacency.h"
#include "ops/plan/rode_plan.h"

namespace rodeo::bench {

enum class RodeKernel { kFull, kNoPipeline, kNoDecomposition, kResiduesApart };

/// Operands have been checked, and y is not empty. plan: see RodeForm; kNoDecomposition reads none.
void run_rode_kernel(RodeKernel kernel, const Csr& a, const RodePlan& plan, const Tensor& weight,
                     const Tensor& x, const Tensor& y);

/// The text's two kernels (rode_text.cu), with published_rode_plan; x and y [.., n] for any n. sub_block: 4,
/// 8 or 16 nonzeros.
void run_rode_text(int sub_block, const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                   const Tensor& y);

}  // namespace rodeo::bench
