/// The products of tall_matmul.cuh on Hopper's tensor cores: what they share.
///
/// Warpgroups multiply 64 rows by kN columns, 16, 48, 64 or 128, the left factor from registers, the right
/// one from shared memory, both split into TF32 halves, 32 terms at a time.
#pragma once

#include "ops/cuda/gemm/hopper/wgmma.cuh"
#include "ops/cuda/gemm/tall_matmul.cuh"

namespace rodeo::kernels::cuda {

/// 32 terms of a right factor as wgmma wants them: eight times four terms of kN columns, high halves before
/// low ones. In sets of eight warps the w-th writes the w-th four, and each set has columns of its own.
template <int kN, int kThreads>
struct WgmmaFactor {
  static constexpr int kHalf = kTallDepth * kN, kSize = 2 * kHalf;  // floats
  static constexpr int kSets = kThreads / kWarp / 8;
  static constexpr int kItems = (kN + kSets * kWarp - 1) / (kSets * kWarp);  // columns of a lane

  const int lane = threadIdx.x % kWarp, four = threadIdx.x / kWarp % 8, set = threadIdx.x / kWarp / 8;

  __device__ __forceinline__ int column(int item) const { return (item * kSets + set) * kWarp + lane; }
  __device__ __forceinline__ bool takes_part(int item) const {
    return (kThreads / kWarp % 8 == 0 || set < kSets) && column(item) < kN;
  }
  __device__ __forceinline__ void put(float* to, int item, const float (&v)[4]) const {
    const Split x = split(v[0]), y = split(v[1]), z = split(v[2]), w = split(v[3]);
    float* const at = to + (four * kN + column(item)) * 4;
    *reinterpret_cast<uint4*>(at) = {x.high, y.high, z.high, w.high};
    *reinterpret_cast<uint4*>(at + kHalf) = {x.low, y.low, z.low, w.low};
  }
};

/// A matrix whose elements can be copied `vec` at a time: rows are whole and aligned so.
struct WgmmaOperand {
  const float* x;
  int columns, pitch, vec;
};
inline WgmmaOperand wgmma_operand(const Tensor& x, std::int64_t columns) {
  const std::int64_t both = columns | x.dim(1);
  const int vec = !is_aligned(x) ? 1 : both % 4 == 0 ? 4 : both % 2 == 0 ? 2 : 1;
  return {device_data<float>(x), static_cast<int>(columns), static_cast<int>(x.dim(1)), vec};
}
/// f.operator()<vec>()
template <class F>
__device__ __forceinline__ void with_vec(int vec, F f) {
  if (vec == 4)
    f.template operator()<4>();
  else if (vec == 2)
    f.template operator()<2>();
  else
    f.template operator()<1>();
}

constexpr int kWgmmaSlots = 3;  // of what is copied ahead

/// A warpgroup's left factor of 32 terms: what its threads have for four products of 8 terms.
struct WgmmaLeft {
  std::uint32_t high[4][4], low[4][4];

  /// To be called when no product is under way: not before a wgmma_wait() that stands above it.
  __device__ __forceinline__ void set(float (&value)[4][4]) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      hold(value[i / 4][i % 4]);
      const Split s = split(value[i / 4][i % 4]);
      high[i / 4][i % 4] = s.high;
      low[i / 4][i % 4] = s.low;
    }
  }
};

/// part += left * factor, under way when it returns. Small ones first.
template <int kN>
__device__ __forceinline__ void wgmma_product(float (&part)[kN / 2], WgmmaLeft& left, const float* factor) {
  const auto each = [&](const auto& a, const float* b) {
#pragma unroll
    for (int step = 0; step < 4; ++step) wgmma<kN>(part, a[step], wgmma_matrix(b + step * 8 * kN, 16 * kN));
  };
#pragma unroll
  for (int i = 0; i < 16; ++i) hold(left.high[i / 4][i % 4]), hold(left.low[i / 4][i % 4]);
#pragma unroll
  for (float& x : part) hold(x);
  wgmma_begin();
  each(left.low, factor);
  each(left.high, factor + kTallDepth * kN);
  each(left.high, factor);
  wgmma_commit();
}

}  // namespace rodeo::kernels::cuda
