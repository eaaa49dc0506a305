/// Y = A X for operands that fit the shared memory of every block. Each block copies all of them at once, so
/// that the chain of loads has one access to DRAM, not three (row pointers, columns, rows of X).
#pragma once

#include "ops/cuda/device/async_copy.cuh"
#include "ops/cuda/rode/tile.cuh"

namespace rodeo::kernels::cuda {

constexpr int kTinyThreads = 256;

template <class T>
struct TinyArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *x, *weight;  // [cols, heads, k], [edges, heads] or null
  T* y;
  std::uint32_t rows, n, heads, k;                 // n = heads * k
  std::uint32_t x_bytes, col_bytes, weight_bytes;  // multiples of 4
};

constexpr std::uint32_t round_up_to_16(std::uint32_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/// The block starts to copy `bytes` to the multiple of 16 at `to`. Returns the next multiple of 16 after
/// them.
__device__ __forceinline__ char* stage(char* to, const void* from, std::uint32_t bytes) {
  const char* const source = static_cast<const char*>(from);
  for (std::uint32_t at = threadIdx.x * 16; at + 16 <= bytes; at += kTinyThreads * 16)
    async_copy<16>(to + at, source + at);
  const std::uint32_t at = bytes / 16 * 16 + threadIdx.x * 4;
  if (at < bytes) async_copy<4>(to + at, source + at);
  return to + round_up_to_16(bytes);
}

// grid elements of Y / kTinyThreads, block kTinyThreads: a thread per element.
template <class T>
__global__ void __launch_bounds__(kTinyThreads) spmm_tiny_kernel(const TinyArgs<T> args) {
  extern __shared__ uint4 staged[];
  char* const x_at = reinterpret_cast<char*>(staged);
  char* const col_at = stage(x_at, args.x, args.x_bytes);
  char* const row_at = stage(col_at, args.col, args.col_bytes);
  char* const weight_at = stage(row_at, args.row_ptr, (args.rows + 1) * 8);
  if (args.weight) stage(weight_at, args.weight, args.weight_bytes);
  const std::uint32_t out = blockIdx.x * kTinyThreads + threadIdx.x;
  const std::uint32_t row = out / args.n, column = out - row * args.n;
  async_copy_wait_all();
  __syncthreads();
  if (row >= args.rows) return;
  const auto* const row_ptr = reinterpret_cast<const std::int64_t*>(row_at);
  const auto* const col = reinterpret_cast<const std::int32_t*>(col_at);
  const T* const x = reinterpret_cast<const T*>(x_at) + column;
  const auto begin = static_cast<std::uint32_t>(row_ptr[row]),
             end = static_cast<std::uint32_t>(row_ptr[row + 1]);
  Accumulator<T> sum = 0;
  if (args.weight) {
    const T* const weight = reinterpret_cast<const T*>(weight_at) + column / args.k;
#pragma unroll 4
    for (std::uint32_t e = begin; e < end; ++e)
      sum += widen(weight[e * args.heads]) * widen(x[static_cast<std::uint32_t>(col[e]) * args.n]);
  } else {
#pragma unroll 4
    for (std::uint32_t e = begin; e < end; ++e) sum += widen(x[static_cast<std::uint32_t>(col[e]) * args.n]);
  }
  args.y[out] = static_cast<T>(sum);
}

/// For sizes with which SpmmKernel::kTiny is chosen.
template <class T>
void launch_tiny(const Csr& a, const Tensor& weight, const Tensor& x, const SpmmSizes& sizes,
                 const Tensor& y) {
  const auto narrow = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const TinyArgs<device_t<T>> args{a.row_ptr.data<std::int64_t>(),
                                   a.col.data<std::int32_t>(),
                                   device_data<T>(x),
                                   device_data<T>(weight),
                                   device_data<T>(y),
                                   narrow(a.rows),
                                   narrow(sizes.heads * sizes.k),
                                   narrow(sizes.heads),
                                   narrow(sizes.k),
                                   narrow(x.nbytes()),
                                   narrow(a.col.nbytes()),
                                   narrow(weight.defined() ? weight.nbytes() : 0)};
  const std::uint32_t shared = round_up_to_16(args.x_bytes) + round_up_to_16(args.col_bytes) +
                               round_up_to_16(narrow(a.row_ptr.nbytes())) + round_up_to_16(args.weight_bytes);
  launch("spmm_rode", y.device(), spmm_tiny_kernel<device_t<T>>,
         dim3(static_cast<unsigned>(ceil_div(y.numel(), kTinyThreads))), dim3(kTinyThreads), shared, args);
}

}  // namespace rodeo::kernels::cuda
