/// The cudaDataType_t of a floating-point dtype.
#pragma once

#include <library_types.h>

#include "core/dtype.h"

namespace rodeo::cuda {

inline cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return CUDA_R_64F;
    case DType::kBF16:
      return CUDA_R_16BF;
    case DType::kF16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

}  // namespace rodeo::cuda
