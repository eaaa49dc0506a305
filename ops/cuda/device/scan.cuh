/// CUB with its scratch memory taken from the pool. Who calls an algorithm includes that one alone: all of
/// CUB takes the compiler longer than most kernels.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/tensor.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// Runs a CUB algorithm: call(scratch, bytes) is made twice, first to learn the size.
template <class Call>
void with_scratch(const char* name, Device device, Call&& call) {
  std::size_t bytes = 0;
  check_cuda(call(nullptr, bytes), name);
  const Tensor scratch = Tensor::empty({static_cast<std::int64_t>(bytes)}, DType::kU8, device);
  check_cuda(call(scratch.raw(), bytes), name);
}

/// counts i64 [n + 1], the last one ignored -> where each begins; the last entry is the sum of all. In place.
void exclusive_scan(const Tensor& counts);

/// The last entry of a scanned array, on the host.
inline std::int64_t last(const Tensor& offsets) {
  return offsets.slice(offsets.numel() - 1, offsets.numel()).to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::kernels::cuda
