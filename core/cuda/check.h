/// The status check of calls into the CUDA runtime. Those into libraries: core/cuda/check_libraries.h.
#pragma once

#include <cuda_runtime.h>

#include "core/error.h"

namespace rodeo::cuda {

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]] {
    cudaGetLastError();  // clear it, because the caller may continue
    fail("[cuda] ", what, ": ", cudaGetErrorString(status));
  }
}

}  // namespace rodeo::cuda
