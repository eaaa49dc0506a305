/// Status checks of calls into cuBLAS and cuSPARSE. Apart from check.h: their headers would be read for every
/// kernel.
#pragma once

#include <cublasLt.h>
#include <cusparse.h>

#include "core/error.h"

namespace rodeo::cuda {

inline void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail("[cublas] ", what, ": ", cublasLtGetStatusString(status));
}

inline void check_cusparse(cusparseStatus_t status, const char* what) {
  if (status != CUSPARSE_STATUS_SUCCESS) [[unlikely]]
    fail("[cusparse] ", what, ": ", cusparseGetErrorString(status));
}

}  // namespace rodeo::cuda
