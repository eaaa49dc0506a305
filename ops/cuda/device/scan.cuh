/// CUB algorithms with pooled scratch memory, and prefix sums. Include single CUB headers: all of CUB
/// compiles slower than most kernels.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/tensor.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// Runs a CUB algorithm: call(scratch, bytes) runs twice, the first time with null to get the size.
template <class Call>
void with_scratch(const char* name, Device device, Call&& call) {
  std::size_t bytes = 0;
  check_cuda(call(nullptr, bytes), name);
  const Tensor scratch = Tensor::empty({static_cast<std::int64_t>(bytes)}, DType::kU8, device);
  check_cuda(call(scratch.raw(), bytes), name);
}

/// In-place exclusive scan of counts i64 [n + 1]. The last entry is ignored on input and is the total on
/// output.
void exclusive_scan(const Tensor& counts);

/// The last entry of a scanned array. Synchronises with the device.
inline std::int64_t last(const Tensor& offsets) {
  return offsets.slice(offsets.numel() - 1, offsets.numel()).to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::kernels::cuda
