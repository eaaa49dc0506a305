/// The kernels that ours are compared with: cuSPARSE, each algorithm in its best configuration. 32-bit
/// indices, row-major operands, values of one or the weights; descriptors, workspaces and preprocessing are
/// made before, outside the timing. In builds with CUDA only; they take no problem on the CPU.
#pragma once

#include "tests/bench/kernels.h"

namespace rodeo::bench {

/// Default, ALG1, ALG2 and ALG3 of the generic CSR SpMM. 16-bit operands are summed in f32; the result has
/// their type, or f32 where the name ends in "-f32out".
std::vector<Kernel> cusparse_spmm();
/// B2 is passed as a transposed operand; the result is the values of a CSR matrix.
std::vector<Kernel> cusparse_sddmm();
/// Default, ALG1 and ALG2 of the generic CSR SpMV.
std::vector<Kernel> cusparse_spmv();

/// "driver 580.65, CUDA 13.0, cuSPARSE 12.6.3"
std::string cuda_versions();

}  // namespace rodeo::bench
