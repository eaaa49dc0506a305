/// Y = A X where all operands fit the shared memory of every block: each asks for all of them at once, so
/// that the chain of loads is one trip to DRAM long, not three (where the row is, its columns, its rows of
/// X).
#pragma once

#include "ops/cuda/spmm/gather.cuh"

namespace rodeo::kernels::cuda {

constexpr int kTinyThreads = 256;
constexpr std::int64_t kTinyBytes = 16 << 10;  // of all operands: every block reads them all

template <class T>
struct TinyArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *x, *weight;  // [cols, heads, k], [edges, heads] or null
  T* y;
  std::uint32_t rows, n, heads, k;                 // n = heads * k
  std::uint32_t x_bytes, col_bytes, weight_bytes;  // multiples of 4
};

constexpr std::uint32_t in_sixteens(std::uint32_t bytes) {
  return (bytes + 15) / 16 * 16;
}

/// The block asks for `bytes` from a multiple of 16 on, and goes on. Returns the end of them.
__device__ __forceinline__ char* stage(char* to, const void* from, std::uint32_t bytes) {
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const char* const source = static_cast<const char*>(from);
  for (std::uint32_t at = threadIdx.x * 16; at + 16 <= bytes; at += kTinyThreads * 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + at), "l"(source + at) : "memory");
  const std::uint32_t at = bytes / 16 * 16 + threadIdx.x * 4;
  if (at < bytes)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared + at), "l"(source + at) : "memory");
  return to + in_sixteens(bytes);
}

// grid elements of Y / kTinyThreads, block kTinyThreads: a thread an element.
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
  asm volatile("cp.async.wait_all;" ::: "memory");
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

/// False where the operands are too large, a row is so long that one thread would hold up the rest, or
/// copies of 16 bytes cannot read them.
template <class T>
bool spmm_tiny(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  using D = device_t<T>;
  const std::int64_t x_bytes = x.nbytes(), col_bytes = a.col.nbytes(), row_bytes = a.row_ptr.nbytes(),
                     weight_bytes = weight.defined() ? weight.nbytes() : 0;
  if (plan.num_pieces() > 0 || x_bytes + col_bytes + row_bytes + weight_bytes > kTinyBytes) return false;
  const auto copies = [](const Tensor& t) { return is_aligned(t) && t.nbytes() % 4 == 0; };
  if (!copies(x) || !copies(a.col) || !copies(a.row_ptr) || (weight.defined() && !copies(weight)))
    return false;
  const auto narrow = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const std::int64_t heads = heads_of(weight), n = y.numel() / a.rows;
  const TinyArgs<D> args{a.row_ptr.data<std::int64_t>(),
                         a.col.data<std::int32_t>(),
                         static_cast<const D*>(x.raw()),
                         static_cast<const D*>(weight.raw()),
                         static_cast<D*>(y.raw()),
                         narrow(a.rows),
                         narrow(n),
                         narrow(heads),
                         narrow(n / heads),
                         narrow(x_bytes),
                         narrow(col_bytes),
                         narrow(weight_bytes)};
  const std::uint32_t shared = in_sixteens(args.x_bytes) + in_sixteens(args.col_bytes) +
                               in_sixteens(narrow(row_bytes)) + in_sixteens(args.weight_bytes);
  launch("spmm_rode", y.device(), spmm_tiny_kernel<D>,
         dim3(static_cast<unsigned>(ceil_div(y.numel(), kTinyThreads))), dim3(kTinyThreads), shared, args);
  return true;
}

}  // namespace rodeo::kernels::cuda
