#include "ops/cuda/spmm/padded_rows.h"

#include <bit>

#include "ops/cuda/device/pack.cuh"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

namespace {

constexpr int kThreads = 256;
constexpr int kVectors = 4;  // of a thread, in flight

// A thread per kVectors vectors of 16 bytes of the copy, a block's side by side. U: an unsigned integer of an
// element's size. Rows of the copy are `vectors` long.
template <class U>
__global__ void pad_rows_kernel(const U* x, uint4* out, std::int64_t count, std::int64_t k,
                                std::uint32_t vectors) {
  constexpr int kVec = 16 / sizeof(U);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kThreads * kVectors + threadIdx.x;
  Pack<U, kVec> value[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const std::int64_t at = begin + i * kThreads, row = quotient(at, vectors);
    const auto column = static_cast<std::int64_t>(at - row * vectors) * kVec;
#pragma unroll
    for (int v = 0; v < kVec; ++v)
      value[i].value[v] = at < count && column + v < k ? x[row * k + column + v] : U(0);
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i)
    if (begin + i * kThreads < count) out[begin + i * kThreads] = std::bit_cast<uint4>(value[i]);
}

// Whole sectors of 32 bytes for single heads, so that no row touches one more than it needs.
std::int64_t pitch_of(std::int64_t k, std::int64_t heads, std::int64_t element) {
  const std::int64_t bytes = k * element, unit = heads == 1 && bytes > 16 ? 32 : 16;
  return ceil_div(bytes, unit) * unit / element;
}

}  // namespace

PaddedRows PaddedRows::unwritten(const Tensor& given, std::int64_t heads, std::int64_t k) {
  PaddedRows rows;
  rows.x = given;
  rows.pitch = k;
  const auto element = static_cast<std::int64_t>(size_of(given.dtype()));
  if (rows_are_aligned(given, k)) return rows;
  rows.pitch = pitch_of(k, heads, element);
  const std::int64_t parts = k == 0 ? 0 : given.numel() / k;
  rows.x = Tensor::empty({parts * rows.pitch}, given.dtype(), given.device());
  return rows;
}

PaddedRows::PaddedRows(const Tensor& given, std::int64_t heads, std::int64_t k)
    : PaddedRows(unwritten(given, heads, k)) {
  if (x.raw() == given.raw()) return;
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  const std::int64_t parts = k == 0 ? 0 : given.numel() / k;
  const std::int64_t vectors = pitch * element / 16, count = parts * vectors;
  const auto run = [&]<class U>(U) {
    launch("pad rows", x.device(), pad_rows_kernel<U>,
           dim3(static_cast<unsigned>(ceil_div(count, kThreads * kVectors))), dim3(kThreads), 0,
           static_cast<const U*>(given.raw()), static_cast<uint4*>(x.raw()), count, k,
           static_cast<std::uint32_t>(vectors));
  };
  if (element == 8)
    run(std::uint64_t{});
  else if (element == 4)
    run(std::uint32_t{});
  else
    run(std::uint16_t{});
}

}  // namespace rodeo::kernels::cuda
