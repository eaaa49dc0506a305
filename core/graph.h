/// The header that core/cuda_graph.h replaces since 0.2. Removed in 0.3.
#pragma once

#include "core/cuda_graph.h"

namespace rodeo {

using CapturedGraph [[deprecated("use CudaGraph")]] = CudaGraph;

}  // namespace rodeo
