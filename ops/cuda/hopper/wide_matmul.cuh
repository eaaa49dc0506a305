/// The products of tall_matmul.cuh with more than 64 columns, on Hopper's tensor cores: what they share.
///
/// Warpgroups multiply 64 rows by kN columns, the left factor from registers, the right one from shared
/// memory, both split into TF32 halves, 32 terms at a time.
#pragma once

#include "ops/cuda/hopper/wgmma.cuh"
#include "ops/cuda/tall_matmul.cuh"

namespace rodeo::kernels::cuda {

constexpr int kWideThreads = 2 * kWarpgroup, kWideRows = 2 * 64;

/// 32 terms of a right factor as wgmma wants them: eight times four terms of kN columns, high halves before
/// low ones. Warp w writes the w-th four.
template <int kN>
struct WideFactor {
  static constexpr int kHalf = kTallDepth * kN, kSize = 2 * kHalf;  // floats
  static constexpr int kItems = (kN + kWarp - 1) / kWarp;           // columns of a lane

  static __device__ __forceinline__ void put(float* to, int warp, int column, const float4& v) {
    const Split x = split(v.x), y = split(v.y), z = split(v.z), w = split(v.w);
    float* const at = to + (warp * kN + column) * 4;
    *reinterpret_cast<uint4*>(at) = {x.high, y.high, z.high, w.high};
    *reinterpret_cast<uint4*>(at + kHalf) = {x.low, y.low, z.low, w.low};
  }
};

/// Copies of kVec floats to shared memory that other work need not wait for, zeros where not `inside`.
template <int kVec>
__device__ __forceinline__ void copy_later(float* to, const float* from, bool inside) {
  static_assert(kVec == 1 || kVec == 2 || kVec == 4);
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = inside ? 4 * kVec : 0;
  if constexpr (kVec == 4)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared), "l"(from), "r"(bytes),
                 "n"(4 * kVec));
}
__device__ __forceinline__ void end_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// All but the last kLeft groups have arrived.
template <int kLeft>
__device__ __forceinline__ void wait_for_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

/// A matrix whose elements can be copied `vec` at a time: rows are whole and aligned so.
struct WideMatrix {
  const float* x;
  int columns, pitch, vec;
};
inline WideMatrix wide_matrix(const Tensor& x, std::int64_t columns) {
  const std::int64_t both = columns | x.dim(1);
  const int vec = !is_aligned(x) ? 1 : both % 4 == 0 ? 4 : both % 2 == 0 ? 2 : 1;
  return {tall_pointer(x), static_cast<int>(columns), static_cast<int>(x.dim(1)), vec};
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

constexpr int kWideSlots = 3;  // of what is copied ahead

/// A warpgroup's left factor of 32 terms: what its threads have for four products of 8 terms.
struct WideLeft {
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
__device__ __forceinline__ void wide_product(float (&part)[kN / 2], WideLeft& left, const float* factor) {
  using Factor = WideFactor<kN>;
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
  each(left.high, factor + Factor::kHalf);
  each(left.high, factor);
  wgmma_commit();
}

}  // namespace rodeo::kernels::cuda
