/// Vectors of elements, and conversion to the accumulator's type.
#pragma once

#include "core/cuda/map.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

}  // namespace rodeo::kernels::cuda
