/// The former name of core/cuda_graph.h. Deprecated since 0.2; will be removed in 0.3.
#pragma once

#include "core/cuda_graph.h"

namespace rodeo {

using CapturedGraph [[deprecated("CudaGraph (core/cuda_graph.h)")]] = CudaGraph;

}  // namespace rodeo
