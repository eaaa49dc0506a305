/// The baselines: all algorithms of cuSPARSE in their best configuration. They use 32-bit indices and
/// row-major operands; the matrix values are ones or the edge weights. Descriptors, workspaces and
/// preprocessing are not timed. CUDA builds only; on the CPU every prepare() returns an empty Run.
#pragma once

#include "bench/kernels.h"

namespace rodeo::bench {

/// Default, ALG1, ALG2 and ALG3 of the generic CSR SpMM. 16-bit operands are accumulated in f32. The result
/// has the dtype of the operands, or f32 if the name ends in "-f32out".
std::vector<Kernel> cusparse_spmm();
/// B2 is passed as a transposed operand. The result is the values of a CSR matrix. cuSPARSE does not multiply
/// by A's values: in weighted problems "-scaled" is followed by an elementwise product, which is timed.
std::vector<Kernel> cusparse_sddmm();
/// Default, ALG1 and ALG2 of the generic CSR SpMV.
std::vector<Kernel> cusparse_spmv();

/// "driver 580.65, CUDA 13.0, cuSPARSE 12.6.3"
std::string cuda_versions();

}  // namespace rodeo::bench
