/// Properties of a GPU that launch configurations depend on. Plain numbers, so that ops/plan is tested
/// without a GPU.
#pragma once

#include <cstddef>

namespace rodeo {

struct DeviceProperties {
  int compute_capability = 0;  // 90 is 9.0
  int num_multiprocessors = 0;
  int threads_per_multiprocessor = 0;  // maximum of resident threads
  std::size_t l2_bytes = 0;
  std::size_t shared_bytes_per_block = 0;  // maximum, after cudaFuncSetAttribute
  std::size_t shared_bytes_per_multiprocessor = 0;

  /// Warpgroup matrix instructions: only on Hopper.
  bool has_wgmma() const { return compute_capability == 90; }
};

}  // namespace rodeo
