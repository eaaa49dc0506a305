/// CUB with its scratch memory taken from the pool.
#pragma once

#include <cub/cub.cuh>

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
inline void exclusive_scan(const Tensor& counts) {
  const cudaStream_t stream = Context::of(counts.device()).stream();
  auto* p = counts.data<std::int64_t>();
  check_cuda(cudaMemsetAsync(p + counts.numel() - 1, 0, sizeof(*p), stream), "scan");  // read, though ignored
  with_scratch("scan", counts.device(), [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, p, p, counts.numel(), stream);
  });
}

/// The last entry of a scanned array, on the host.
inline std::int64_t last(const Tensor& offsets) {
  return offsets.slice(offsets.numel() - 1, offsets.numel()).to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::kernels::cuda
