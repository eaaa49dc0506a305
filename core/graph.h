/// The name that core/cuda_graph.h had before 0.2: a graph is the user's. Gone in 0.3.
#pragma once

#include "core/cuda_graph.h"

namespace rodeo {

using CapturedGraph [[deprecated("CudaGraph (core/cuda_graph.h)")]] = CudaGraph;

}  // namespace rodeo
