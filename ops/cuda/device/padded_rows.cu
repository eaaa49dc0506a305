#include "ops/cuda/device/padded_rows.cuh"

#include <bit>

#include "ops/cuda/device/pack.cuh"
#include "ops/plan/spmm_config.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

namespace {

constexpr int kThreads = 256;
constexpr int kVectors = 4;  // stores of a thread in flight

// grid vectors of the copy / (kThreads * kVectors), block kThreads. A vector has 16 bytes; a row of the copy
// has `vectors`. U is an unsigned integer of an element's size.
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

}  // namespace

PaddedRows::PaddedRows(const Tensor& given, std::int64_t heads, std::int64_t k) : x(given), pitch(k) {
  if (rows_are_aligned(given, k)) return;
  const auto element = static_cast<std::int64_t>(size_of(given.dtype()));
  pitch = padded_pitch(k, heads, size_of(given.dtype()));
  const std::int64_t parts = k == 0 ? 0 : given.numel() / k;
  const std::int64_t vectors = pitch * element / 16, count = parts * vectors;
  x = Tensor::empty({parts * pitch}, given.dtype(), given.device());
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
