/// PTX wgmma: matrix products of a warpgroup (4 warps). Compute capability 9.0 only (sm_90a).
#pragma once

#include <cstdint>

namespace rodeo::kernels::cuda {

constexpr int kWarpgroup = 128;  // threads

/// Descriptor of a right operand b [8, n] in shared memory, without swizzle. Core matrices hold 4 values of k
/// (16 bytes) for each of 8 columns; `bytes` is the distance from k = 0 .. 3 to k = 4 .. 7, 16 n.
__device__ __forceinline__ std::uint64_t wgmma_matrix(const float* shared, int bytes) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  constexpr std::uint64_t kEightColumns = 128;  // bytes from 8 columns to the next 8
  return (address & 0x3ffff) >> 4 | static_cast<std::uint64_t>(bytes >> 4) << 16 | kEightColumns >> 4 << 32;
}

/// Keeps the computation of x before this point in program order.
__device__ __forceinline__ void hold(std::uint32_t& x) {
  asm volatile("" : "+r"(x)::"memory");
}
__device__ __forceinline__ void hold(float& x) {
  asm volatile("" : "+f"(x)::"memory");
}

/// Orders register writes before the wgmma instructions that follow.
__device__ __forceinline__ void wgmma_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits for all committed products: accumulators may be read and operands overwritten.
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
/// Makes this thread's shared-memory writes visible to wgmma. A barrier must follow.
__device__ __forceinline__ void publish_to_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#define RODEO_4(a, b, c, d) "%" #a ", %" #b ", %" #c ", %" #d
#define RODEO_16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) \
  RODEO_4(a, b, c, d) ", " RODEO_4(e, f, g, h) ", " RODEO_4(i, j, k, l) ", " RODEO_4(m, n, o, p)
#define RODEO_0_TO_15 RODEO_16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define RODEO_16_TO_31 RODEO_16(16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)
#define RODEO_32_TO_47 RODEO_16(32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47)
#define RODEO_48_TO_63 RODEO_16(48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63)
#define RODEO_SUMS_4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define RODEO_SUMS_8(i) RODEO_SUMS_4(i), RODEO_SUMS_4(i + 4)
#define RODEO_SUMS_32(i) RODEO_SUMS_8(i), RODEO_SUMS_8(i + 8), RODEO_SUMS_8(i + 16), RODEO_SUMS_8(i + 24)
#define RODEO_WGMMA(n, sums, left, right)                                                    \
  "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                             \
  "wgmma.mma_async.sync.aligned.m64n" #n "k8.f32.tf32.tf32 {" sums "}, {" left "}, %" #right \
  ", add, 1, 1;\n}"
#define RODEO_LEFT "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)

/// sum += a b, with a [64, 8] in registers and b [8, kN] in shared memory. A warp has 16 rows. Lane (g, t), g
/// = lane / 4, t = lane % 4, has rows g and g + 8 of a at k = t (a[0], a[1]) and k = t + 4 (a[2], a[3]), and
/// columns 2t and 2t + 1 of every 8 columns of the sums, row g before row g + 8.
template <int kN>
__device__ __forceinline__ void wgmma(float (&sum)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t b) {
  static_assert(kN == 16 || kN == 48 || kN == 64 || kN == 128);
  if constexpr (kN == 16)
    asm volatile(RODEO_WGMMA(16, RODEO_4(0, 1, 2, 3) ", " RODEO_4(4, 5, 6, 7), RODEO_4(8, 9, 10, 11), 12)
                 : RODEO_SUMS_8(0)
                 : RODEO_LEFT);
  if constexpr (kN == 48)
    asm volatile(RODEO_WGMMA(48, RODEO_0_TO_15 ", " RODEO_4(16, 17, 18, 19) ", " RODEO_4(20, 21, 22, 23),
                             RODEO_4(24, 25, 26, 27), 28)
                 : RODEO_SUMS_8(0), RODEO_SUMS_8(8), RODEO_SUMS_8(16)
                 : RODEO_LEFT);
  if constexpr (kN == 64)
    asm volatile(RODEO_WGMMA(64, RODEO_0_TO_15 ", " RODEO_16_TO_31, RODEO_4(32, 33, 34, 35), 36)
                 : RODEO_SUMS_32(0)
                 : RODEO_LEFT);
  if constexpr (kN == 128)
    asm volatile(RODEO_WGMMA(128, RODEO_0_TO_15 ", " RODEO_16_TO_31 ", " RODEO_32_TO_47 ", " RODEO_48_TO_63,
                             RODEO_4(64, 65, 66, 67), 68)
                 : RODEO_SUMS_32(0), RODEO_SUMS_32(32)
                 : RODEO_LEFT);
}

#undef RODEO_4
#undef RODEO_16
#undef RODEO_0_TO_15
#undef RODEO_16_TO_31
#undef RODEO_32_TO_47
#undef RODEO_48_TO_63
#undef RODEO_SUMS_4
#undef RODEO_SUMS_8
#undef RODEO_SUMS_32
#undef RODEO_WGMMA
#undef RODEO_LEFT

}  // namespace rodeo::kernels::cuda
