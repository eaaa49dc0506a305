/// Status checks: every call into a CUDA library goes through one of these.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include "core/error.h"

namespace rodeo::cuda {

inline void check_cuda(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]] {
    cudaGetLastError();  // clear it, because the caller may continue
    fail("[cuda] ", what, ": ", cudaGetErrorString(status));
  }
}

inline void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail("[cublas] ", what, ": ", cublasLtGetStatusString(status));
}

inline void check_cusparse(cusparseStatus_t status, const char* what) {
  if (status != CUSPARSE_STATUS_SUCCESS) [[unlikely]]
    fail("[cusparse] ", what, ": ", cusparseGetErrorString(status));
}

}  // namespace rodeo::cuda
