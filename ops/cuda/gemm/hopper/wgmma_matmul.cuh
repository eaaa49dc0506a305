/// f32 products of tall matrices on Hopper's tensor cores (tall_matmul.cuh describes the splitting into
/// TF32). Shared by wgmma_matmul and its transpose.
///
/// A warpgroup multiplies 64 rows by kN columns, 32 terms at a time. The left operand is in registers, the
/// right one in shared memory, both as TF32 halves.
#pragma once

#include "ops/cuda/gemm/hopper/wgmma.cuh"
#include "ops/cuda/gemm/tall_matmul.cuh"

namespace rodeo::kernels::cuda {

/// 32 terms of a right operand in the layout of wgmma_matrix(): eight groups of four terms for kN columns,
/// first all high halves, then all low halves. Warp w of every eight writes group w; sets of eight warps
/// share the columns.
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

/// A matrix whose rows can be copied `vec` elements at a time.
struct WgmmaOperand {
  ColumnParts x;
  int columns, vec;
};
inline WgmmaOperand wgmma_operand(const MatrixParts& x, std::int64_t columns) {
  const std::int64_t both = columns | x.dim(1);
  const int vec = !is_aligned(x) ? 1 : both % 4 == 0 ? 4 : both % 2 == 0 ? 2 : 1;
  return {ColumnParts(x), static_cast<int>(columns), vec};
}
/// Calls f.operator()<vec>().
template <class F>
__device__ __forceinline__ void with_vec(int vec, F f) {
  if (vec == 4)
    f.template operator()<4>();
  else if (vec == 2)
    f.template operator()<2>();
  else
    f.template operator()<1>();
}

constexpr int kWgmmaSlots = WgmmaShared::kSlots;

/// Calls f.operator()<kN>() with the entry of the table that equals `width`.
template <const auto& kWidths, int kIndex = 0, class F>
void with_width(int width, F&& f) {
  if constexpr (kIndex < static_cast<int>(std::size(kWidths))) {
    if (width == kWidths[kIndex])
      f.template operator()<kWidths[kIndex]>();
    else
      with_width<kWidths, kIndex + 1>(width, f);
  }
}

/// A warpgroup's left operand of 32 terms: the registers of a thread for four products of 8 terms.
struct WgmmaLeft {
  std::uint32_t high[4][4], low[4][4];

  /// Overwrites operands: call it after wgmma_wait().
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

/// Starts part += left * factor, small products first. wgmma_wait() completes it.
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
