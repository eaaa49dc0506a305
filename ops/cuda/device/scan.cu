// Prefix sums.
#include "ops/cuda/device/scan.cuh"

#include <cub/device/device_scan.cuh>

namespace rodeo::kernels::cuda {

void exclusive_scan(const Tensor& counts) {
  const cudaStream_t stream = Context::of(counts.device()).stream();
  auto* p = counts.data<std::int64_t>();
  check_cuda(cudaMemsetAsync(p + counts.numel() - 1, 0, sizeof(*p), stream), "scan");  // CUB reads it
  with_scratch("scan", counts.device(), [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(scratch, bytes, p, p, counts.numel(), stream);
  });
}

}  // namespace rodeo::kernels::cuda
