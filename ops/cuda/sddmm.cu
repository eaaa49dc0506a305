// s[e] = <b1[row(e), :], b2[col(e), :]>: a warp per row, the lanes across the columns, four edges in flight.
#include "ops/cuda/gather.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kEdges = 4;

// grid rows / warps of a block, block kThreads.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sddmm_kernel(const std::int64_t* row_ptr, const std::int32_t* col, const T* b1, const T* b2, T* out,
                 std::int64_t rows, std::int64_t k) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t end = row_ptr[row + 1];
  for (std::int64_t e = row_ptr[row]; e < end; e += kEdges) {
    Sum sum[kEdges] = {};
    const T* other[kEdges];
#pragma unroll
    for (int i = 0; i < kEdges; ++i) other[i] = b2 + (e + i < end ? col[e + i] : 0) * k;
    for (std::int64_t j = lane; j < k; j += kWarp) {
      const Sum own = widen(b1[row * k + j]);
#pragma unroll
      for (int i = 0; i < kEdges; ++i) sum[i] += own * widen(other[i][j]);
    }
#pragma unroll
    for (int i = 0; i < kEdges; ++i) {
#pragma unroll
      for (int offset = kWarp / 2; offset > 0; offset /= 2)
        sum[i] += __shfl_xor_sync(kFullMask, sum[i], offset);
      if (lane == 0 && e + i < end) out[e + i] = static_cast<T>(sum[i]);
    }
  }
}

}  // namespace

void sddmm(const Csr& a, const Tensor& b1, const Tensor& b2, const Tensor& out) {
  dispatch_float(b1.dtype(), "sddmm", [&]<class T>(T) {
    using D = device_t<T>;
    launch("sddmm", out.device(), sddmm_kernel<D>,
           dim3(static_cast<unsigned>(ceil_div(a.rows, kThreads / kWarp))), dim3(kThreads), 0,
           a.row_ptr.data<std::int64_t>(), a.col.data<std::int32_t>(), static_cast<const D*>(b1.raw()),
           static_cast<const D*>(b2.raw()), static_cast<D*>(out.raw()), a.rows, b1.dim(1));
  });
}

}  // namespace rodeo::kernels::cuda
