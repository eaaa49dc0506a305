/// The peer that SpMM is compared with.
#pragma once

#include <string>
#include <vector>

#include "core/adjacency.h"

namespace rodeo::bench {

struct Result {
  std::string name;
  Tensor y;
  double milliseconds;
};

/// Y = A X by each of cuSPARSE's CSR algorithms in its best configuration: descriptors, workspace and
/// preprocessing are made before, outside the timing. Values of one, 32-bit indices, row-major X and Y, f32.
/// Empty on the CPU and in builds without CUDA.
std::vector<Result> time_cusparse(const Adjacency& adj, const Tensor& x, int repeats);

}  // namespace rodeo::bench
