/// What launch configurations depend on: properties of a GPU as plain numbers, so that the functions that
/// choose them (ops/plan) run and are tested without one.
#pragma once

#include <cstddef>

namespace rodeo {

struct DeviceProperties {
  int compute_capability = 0;  // 90 is 9.0
  int num_multiprocessors = 0;
  int threads_per_multiprocessor = 0;  // that are resident at most
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes_per_block = 0;  // at most, after cudaFuncSetAttribute
  std::size_t shared_bytes_per_multiprocessor = 0;

  /// Warpgroup matrix instructions: Hopper alone has them.
  bool has_wgmma() const { return compute_capability == 90; }
};

}  // namespace rodeo
