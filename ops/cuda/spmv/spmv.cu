// y = A x, CSR-vector: threads_per_vector lanes per row stride over its nonzeros and reduce by shuffles. A
// row that is long for these lanes is summed by the whole block.
#include <bit>

#include "core/cuda/warp.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/spmv/spmv_terms.cuh"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kInFlight = 4;     // nonzeros of a lane with loads in flight
constexpr int kMaxPerLane = 16;  // nonzeros; the block sums rows that are longer
constexpr int kPiece = 64;  // nonzeros of a lane that are summed before they are added to a long row's sum
static_assert(kPiece % kInFlight == 0, "a piece is a whole number of batches");

template <class T>
struct VectorArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *weight, *x;
  T* y;
  std::int64_t rows;
  int log_lanes;  // lanes of a row: a power of two in [2, 32]
};

template <bool kWeighted, class T>
__device__ __forceinline__ Accumulator<T> sum_share(const VectorArgs<T>& args, std::int64_t begin, int length,
                                                    int place, int lanes) {
  const auto x = [&](std::int32_t column) { return __ldg(args.x + column); };
  const T* const weight = kWeighted ? args.weight : nullptr;
  if constexpr (kWeighted) __builtin_assume(weight != nullptr);  // no test in the loop
  return sum_terms<kInFlight>(args.col, weight, x, begin, length, place, lanes);
}

/// The block sums its long rows one after the other. is_long: the row of this thread is one.
template <class T, bool kWeighted>
__device__ void sum_long_rows(const VectorArgs<T>& args, std::int64_t first, bool is_long) {
  using Sum = Accumulator<T>;
  constexpr int kWarps = kThreads / kWarp, kSpan = kPiece * kThreads;
  __shared__ unsigned long_rows[kWarps];  // a bit a thread
  __shared__ Sum of_warp[kWarps];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const unsigned of_this_warp =
      __ballot_sync(kFullMask, is_long && (lane & ((1 << args.log_lanes) - 1)) == 0);
  if (lane == 0) long_rows[warp] = of_this_warp;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w)
    for (unsigned left = long_rows[w]; left != 0; left &= left - 1) {
      const int its_thread = w * kWarp + __ffs(static_cast<int>(left)) - 1;
      const std::int64_t row = first + (its_thread >> args.log_lanes), end = args.row_ptr[row + 1];
      Sum sum = 0;
      for (std::int64_t at = args.row_ptr[row]; at < end; at += kSpan)
        sum += sum_share<kWeighted>(args, at, static_cast<int>(min(end - at, std::int64_t{kSpan})), thread,
                                    kThreads);
      __syncwarp();
      sum = sum_over(sum);
      if (lane == 0) of_warp[warp] = sum;
      __syncthreads();
      if (thread == 0) {
        Sum total = 0;
        for (const Sum part : of_warp) total += part;
        args.y[row] = static_cast<T>(total);
      }
      __syncthreads();
    }
}

// grid rows / rows of a block, block kThreads: a group of lanes per row.
template <class T, bool kWeighted>
__global__ void __launch_bounds__(kThreads) spmv_vector_kernel(const VectorArgs<T> args) {
  const int lanes = 1 << args.log_lanes, thread = static_cast<int>(threadIdx.x),
            member = thread & (lanes - 1);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kThreads >> args.log_lanes),
                     row = first + (thread >> args.log_lanes);
  const bool exists = row < args.rows;
  const std::int64_t begin = exists ? args.row_ptr[row] : 0,
                     length = exists ? args.row_ptr[row + 1] - begin : 0;
  const bool is_long = length > kMaxPerLane * lanes;
  Accumulator<T> sum =
      sum_share<kWeighted>(args, begin, is_long ? 0 : static_cast<int>(length), member, lanes);
  __syncwarp();  // rows of a warp differ in length; from here on its lanes work together
  sum = sum_over(sum, lanes);
  if (exists && !is_long && member == 0) args.y[row] = static_cast<T>(sum);
  if (__syncthreads_or(is_long)) sum_long_rows<T, kWeighted>(args, first, is_long);
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
    const VectorArgs<D> args{a.row_ptr.data<std::int64_t>(),
                             a.col.data<std::int32_t>(),
                             device_data<T>(weight),
                             device_data<T>(x),
                             device_data<T>(y),
                             a.rows,
                             std::countr_zero(static_cast<unsigned>(threads_per_vector))};
    const auto kernel = weight.defined() ? spmv_vector_kernel<D, true> : spmv_vector_kernel<D, false>;
    launch("spmv_vector", y.device(), kernel, grid, dim3(kThreads), 0, args);
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
