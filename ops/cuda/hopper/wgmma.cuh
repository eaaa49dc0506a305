/// Products of a warpgroup, 4 warps, on Hopper's tensor cores: PTX wgmma, compute capability 9.0 alone.
#pragma once

#include <cstdint>

namespace rodeo::kernels::cuda {

constexpr int kWarpgroup = 128;  // threads

/// A right factor b [8 steps, n] of k8 products in shared memory: columns k of 4 side by side (16 bytes) for
/// each of n, and below them the next 4. `bytes` is the distance to those, 16 n.
__device__ __forceinline__ std::uint64_t wgmma_matrix(const float* shared, int bytes) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  constexpr std::uint64_t kEightColumns = 128;  // bytes from 8 columns to the next 8
  return (address & 0x3ffff) >> 4 | static_cast<std::uint64_t>(bytes >> 4) << 16 | kEightColumns >> 4 << 32;
}

/// What computes a register stays before this.
__device__ __forceinline__ void hold(std::uint32_t& x) {
  asm volatile("" : "+r"(x)::"memory");
}
__device__ __forceinline__ void hold(float& x) {
  asm volatile("" : "+f"(x)::"memory");
}

/// Registers and shared memory that threads wrote may be read by products after it.
__device__ __forceinline__ void wgmma_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// What was issued is done: sums may be read, factors written.
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
/// What threads wrote to shared memory is seen by products of whoever passes a barrier after it.
__device__ __forceinline__ void publish_to_wgmma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#define RODEO_NUMBERS(a, b, c, d) "%" #a ", %" #b ", %" #c ", %" #d
#define RODEO_SUMS(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define RODEO_SUMS_16(i) RODEO_SUMS(i), RODEO_SUMS(i + 4), RODEO_SUMS(i + 8), RODEO_SUMS(i + 12)
#define RODEO_SUMS_32(i) RODEO_SUMS_16(i), RODEO_SUMS_16(i + 16)

/// sum += a b: a [64, 8] in registers, 16 rows a warp: lane (g, t), g = lane / 4, t = lane % 4, has rows g
/// and g + 8 at k = t (a[0], a[1]) and at k = t + 4 (a[2], a[3]); of the sums [64, kN] columns 2t and 2t + 1
/// of every 8, row g before row g + 8.
template <int kN>
__device__ __forceinline__ void wgmma(float (&sum)[kN / 2], const std::uint32_t (&a)[4], std::uint64_t b) {
  if constexpr (kN == 128)
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"  //
        "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"        //
        RODEO_NUMBERS(0, 1, 2, 3) ", " RODEO_NUMBERS(4, 5, 6, 7) ", "                //
        RODEO_NUMBERS(8, 9, 10, 11) ", " RODEO_NUMBERS(12, 13, 14, 15) ", "          //
        RODEO_NUMBERS(16, 17, 18, 19) ", " RODEO_NUMBERS(20, 21, 22, 23) ", "        //
        RODEO_NUMBERS(24, 25, 26, 27) ", " RODEO_NUMBERS(28, 29, 30, 31) ", "        //
        RODEO_NUMBERS(32, 33, 34, 35) ", " RODEO_NUMBERS(36, 37, 38, 39) ", "        //
        RODEO_NUMBERS(40, 41, 42, 43) ", " RODEO_NUMBERS(44, 45, 46, 47) ", "        //
        RODEO_NUMBERS(48, 49, 50, 51) ", " RODEO_NUMBERS(52, 53, 54, 55) ", "        //
        RODEO_NUMBERS(56, 57, 58, 59) ", " RODEO_NUMBERS(60, 61, 62, 63) "}, "       //
        "{" RODEO_NUMBERS(64, 65, 66, 67) "}, %68, add, 1, 1;\n}"
        : RODEO_SUMS_32(0), RODEO_SUMS_32(32)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  else if constexpr (kN == 64)
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"  //
        "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {"        //
        RODEO_NUMBERS(0, 1, 2, 3) ", " RODEO_NUMBERS(4, 5, 6, 7) ", "                //
        RODEO_NUMBERS(8, 9, 10, 11) ", " RODEO_NUMBERS(12, 13, 14, 15) ", "          //
        RODEO_NUMBERS(16, 17, 18, 19) ", " RODEO_NUMBERS(20, 21, 22, 23) ", "        //
        RODEO_NUMBERS(24, 25, 26, 27) ", " RODEO_NUMBERS(28, 29, 30, 31) "}, "       //
        "{" RODEO_NUMBERS(32, 33, 34, 35) "}, %36, add, 1, 1;\n}"
        : RODEO_SUMS_32(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  else {
    static_assert(kN == 48);
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"  //
        "wgmma.mma_async.sync.aligned.m64n48k8.f32.tf32.tf32 {"        //
        RODEO_NUMBERS(0, 1, 2, 3) ", " RODEO_NUMBERS(4, 5, 6, 7) ", "                //
        RODEO_NUMBERS(8, 9, 10, 11) ", " RODEO_NUMBERS(12, 13, 14, 15) ", "          //
        RODEO_NUMBERS(16, 17, 18, 19) ", " RODEO_NUMBERS(20, 21, 22, 23) "}, "       //
        "{" RODEO_NUMBERS(24, 25, 26, 27) "}, %28, add, 1, 1;\n}"
        : RODEO_SUMS_16(0), RODEO_SUMS(16), RODEO_SUMS(20)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
}

#undef RODEO_NUMBERS
#undef RODEO_SUMS
#undef RODEO_SUMS_16
#undef RODEO_SUMS_32

}  // namespace rodeo::kernels::cuda
