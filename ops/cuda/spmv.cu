// y = A x, CSR-vector: threads_per_vector lanes per row stride over its nonzeros and add up by shuffles.
#include "ops/cuda/gather.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kInFlight = 4;  // nonzeros of a lane whose loads are in flight together
constexpr int kPiece = 64;    // nonzeros of a lane that are added up before they join the row's sum
static_assert(kPiece % kInFlight == 0, "a piece is a whole number of batches");

// grid rows / rows of a block, block kThreads. lanes is a power of two in [2, 32].
template <class T, bool kWeighted>
__global__ void __launch_bounds__(kThreads)
    spmv_vector_kernel(const std::int64_t* __restrict__ row_ptr, const std::int32_t* __restrict__ col,
                       const T* __restrict__ weight, const T* __restrict__ x, T* __restrict__ y,
                       std::int64_t rows, int lanes) {
  using Sum = Accumulator<T>;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (kThreads / lanes) + threadIdx.x / lanes;
  const int member = threadIdx.x % lanes;
  const bool exists = row < rows;
  const std::int64_t begin = exists ? row_ptr[row] : 0, end = exists ? row_ptr[row + 1] : 0;
  const int most = kPiece * lanes;
  Sum sum = 0;
  for (std::int64_t from = begin; from < end; from += most) {
    const int count = end - from < most ? static_cast<int>(end - from) : most;
    Sum piece = 0;
    for (int at = member; at < count; at += kInFlight * lanes) {
      std::int32_t source[kInFlight];
      Sum term[kInFlight];
#pragma unroll
      for (int i = 0; i < kInFlight; ++i)
        source[i] = at + i * lanes < count ? load_once(col + from + at + i * lanes) : -1;
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        term[i] = 0;
        if (source[i] < 0) continue;
        term[i] = widen(__ldg(x + source[i]));
        if constexpr (kWeighted) term[i] *= widen(load_once(weight + from + at + i * lanes));
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) piece += term[i];
    }
    sum += piece;
  }
  __syncwarp();  // rows of a warp differ in length; from here on its lanes work together
  for (int offset = lanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
  if (exists && member == 0) y[row] = static_cast<T>(sum);
}

__global__ void longest_row_kernel(const std::int64_t* row_ptr, std::int64_t rows,
                                   unsigned long long* longest) {
  unsigned long long mine = 0;
  RODEO_GRID_STRIDE(row, rows) {
    const auto length = static_cast<unsigned long long>(row_ptr[row + 1] - row_ptr[row]);
    if (length > mine) mine = length;
  }
  __syncwarp();
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const unsigned long long other = __shfl_xor_sync(kFullMask, mine, offset);
    if (other > mine) mine = other;
  }
  if (threadIdx.x % kWarp == 0) atomicMax(longest, mine);
}

}  // namespace

void spmv_vector(const Csr& a, const Tensor& weight, const Tensor& x, int threads_per_vector,
                 const Tensor& y) {
  dispatch_float(x.dtype(), "spmv", [&]<class T>(T) {
    using D = device_t<T>;
    const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, kThreads / threads_per_vector)));
    const auto kernel = weight.defined() ? spmv_vector_kernel<D, true> : spmv_vector_kernel<D, false>;
    launch("spmv_vector", y.device(), kernel, grid, dim3(kThreads), 0, a.row_ptr.data<std::int64_t>(),
           a.col.data<std::int32_t>(), static_cast<const D*>(weight.raw()), static_cast<const D*>(x.raw()),
           static_cast<D*>(y.raw()), a.rows, threads_per_vector);
  });
}

std::int64_t longest_row(const Csr& a) {
  const Tensor longest = Tensor::zeros({}, DType::kI64, a.row_ptr.device());
  launch("longest_row", longest.device(), longest_row_kernel, grid_for(a.rows, kThreads), kThreads, 0,
         a.row_ptr.data<std::int64_t>(), a.rows,
         reinterpret_cast<unsigned long long*>(longest.data<std::int64_t>()));
  return longest.to_vector<std::int64_t>()[0];
}

}  // namespace rodeo::kernels::cuda
