// Helpers of ops/segment_reduce.h. One thread per element, grid-stride.
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/spmm/row_positions.cuh"
#include "ops/kernels/graph.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;

// Writes to a matrix of zeros. Grid grid_for(size, kThreads), block kThreads; size = segments n. Each element
// of dx has one writer at most.
template <class T>
__global__ void segment_extremum_backward_kernel(const std::int64_t* offsets, const RowPositions arg,
                                                 const T* dy, std::int64_t n, std::int64_t size, T* dx) {
  RODEO_GRID_STRIDE(i, size) {
    const std::int64_t segment = quotient(i, n), j = i - segment * n;
    const std::int64_t first = offsets[segment], length = offsets[segment + 1] - first;
    if (length > 0) dx[(first + arg.load(i, length)) * n + j] = dy[i];
  }
}

}  // namespace

void segment_extremum_backward(const Tensor& offsets, const Tensor& arg, const Tensor& dy, const Tensor& dx) {
  dx.fill(0);
  dispatch_float(dy.dtype(), "segment_reduce", [&]<class T>(T) {
    launch("segment_extremum_backward", dx.device(), segment_extremum_backward_kernel<device_t<T>>,
           grid_for(dy.numel(), kThreads), kThreads, 0, offsets.data<std::int64_t>(), RowPositions(arg),
           device_data<T>(dy), dy.numel() / (offsets.numel() - 1), dy.numel(), device_data<T>(dx));
  });
}

}  // namespace rodeo::kernels::cuda
