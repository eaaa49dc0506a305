/// Tensor core instructions of one warp: d += a b with f32 accumulators.
///
/// Lane (g, t), g = lane / 4, t = lane % 4, holds d[g, 2t], d[g, 2t + 1], d[g + 8, 2t], d[g + 8, 2t + 1].
/// The asm is volatile: all lanes must execute it, so the compiler must not move it into a branch.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

/// TF32 operands: a [16, 8] as a[g, t], a[g + 8, t], a[g, t + 4], a[g + 8, t + 4]; b [8, 8] as b[t, g], b[t +
/// 4, g]. The instruction truncates operands to TF32: to_tf32() rounds them first.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// x rounded to the nearest TF32 value, as the bits of an operand.
__device__ __forceinline__ std::uint32_t to_tf32(float x) {
  std::uint32_t out;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(x));
  return out;
}

/// Operands of T, __half or __nv_bfloat16, two per register: a [16, 16] as columns 2t and 2t + 1 of rows g
/// and g + 8, then columns 2t + 8 and 2t + 9 of both; b [16, 8] as rows 2t and 2t + 1, then 2t + 8 and 2t +
/// 9, of column g.
template <class T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

}  // namespace rodeo::kernels::cuda
