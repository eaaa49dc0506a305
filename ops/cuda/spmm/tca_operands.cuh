/// The compressed-RHS buffer and the operands of TCA-SpMM: mma.m16n8k8 with f16, bf16 or TF32 inputs and f32
/// accumulators.
///
/// 64 nonzeros of a row are the 8 x 8 right operand, column by column. 64 gathered elements of one column of
/// X are 8 rows of the left operand. The trace of an 8 x 8 block of the product is the dot product.
#pragma once

#include "ops/cuda/device/async_copy.cuh"
#include "ops/cuda/device/mma.cuh"
#include "ops/plan/tca_map.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// d += a b, a [16, 8], b [8, 8] of T, __half or __nv_bfloat16: a as columns 2t, 2t + 1 of rows g and g + 8,
/// b as rows 2t, 2t + 1 of column g.
template <class T>
__device__ __forceinline__ void mma_m16n8k8(float (&d)[4], std::uint32_t top, std::uint32_t bottom,
                                            std::uint32_t right) {
  if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(top), "r"(bottom), "r"(right));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(top), "r"(bottom), "r"(right));
}

__device__ __forceinline__ void load_matrices(std::uint32_t (&matrix)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(address)
               : "memory");
}

/// Stores four 8 x 8 matrices of 16-bit elements, each transposed. Lane 8 r + i has the address of line i of
/// matrix r.
__device__ __forceinline__ void store_matrices_transposed(std::uint32_t address, const uint4& x) {
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
#else
  const std::uint32_t words[4] = {x.x, x.y, x.z, x.w};
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    std::uint32_t transposed;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(words[r]));
    const std::uint32_t line = __shfl_sync(kFullMask, address, r * 8 + lane / 4);
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(line + lane % 4 * 4), "r"(transposed) : "memory");
  }
#endif
}

/// Keeps a value in a register: the compiler would compute it again before each use.
__device__ __forceinline__ void keep(std::uint32_t& value) {
  asm("" : "+r"(value));
}

/// T is __half or __nv_bfloat16.
template <class T, int kBlocks>
struct TcaOperands {
  using Map = tca::Map<2, kBlocks>;
  using Right = std::uint32_t;
  static constexpr int kProducts = Map::kMmas;
  static constexpr int kPart = Map::kBytes / 2;  // from a part of the buffer to the other
  static constexpr int kLine = 128;              // bytes of the units of a left operand

  std::uint32_t store_offset, left_offset[2];  // of this lane

  __device__ explicit TcaOperands(int member)
      : store_offset(Map::offset(Map::stored_column(lane()), member, 0)),
        left_offset{left_of(member, 0), left_of(member, 1)} {
    keep(store_offset);
    keep(left_offset[0]);
    if constexpr (kBlocks >= 4)
      left_offset[1] = left_offset[0] + 2 * kLine;  // the swizzle is the same
    else
      keep(left_offset[1]);
  }
  __device__ static int lane() { return threadIdx.x % kWarp; }
  __device__ static std::uint32_t left_of(int member, int pair) {
    const int q = 2 * pair + lane() / 16, part = lane() / 8 % 2, g = lane() % 8;
    return Map::offset(Map::left_column(member, q, g), Map::left_member(g), part);
  }
  /// Position in a unit of nonzero i of 8.
  __device__ static int place(int i) { return i % 4 * 2 + i / 4; }

  /// Writes what the lane loaded of its two nonzeros, transposed.
  __device__ void store(std::uint32_t buffer, const uint4 (&row)[2]) const {
#pragma unroll
    for (int part = 0; part < 2; ++part)
      store_matrices_transposed(buffer + store_offset + part * kPart, row[part]);
  }
  __device__ void multiply(float (&sum)[kProducts][4], std::uint32_t buffer, Right right,
                           const bool (&wanted)[2]) const {
    constexpr int kLow = 0x5410, kHigh = 0x7632;  // halves of two words
    if (!wanted[0]) return;
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      std::uint32_t w[4];  // parts 0 and 1 of a left operand, then of the next
      load_matrices(w, buffer + left_offset[pair]);
      mma_m16n8k8<T>(sum[2 * pair], __byte_perm(w[0], w[1], kLow), __byte_perm(w[2], w[3], kLow), right);
      if (wanted[1])
        mma_m16n8k8<T>(sum[2 * pair + 1], __byte_perm(w[0], w[1], kHigh), __byte_perm(w[2], w[3], kHigh),
                       right);
    }
  }
  /// The right operand from the values of the row in the scratch pad.
  __device__ static Right load_right(const T* values) {
    return *reinterpret_cast<const Right*>(values + lane() / 4 % kBlocks * 8 + lane() % 4 * 2);
  }
  __device__ static Right ones() {
    return std::is_same_v<T, __half> ? 0x3c003c00U : 0x3f803f80U;
  }
};

/// f32 inputs, rounded to TF32.
template <int kBlocks>
struct TcaOperands<float, kBlocks> {
  using Map = tca::Map<4, kBlocks>;
  using Right = uint2;
  static constexpr int kProducts = Map::kMmas;

  const std::uint32_t store_offset[2][4], left_offset[2];

  __device__ explicit TcaOperands(int member)
      : store_offset{{store_of(member, 0, 0), store_of(member, 0, 1), store_of(member, 0, 2),
                      store_of(member, 0, 3)},
                     {store_of(member, 1, 0), store_of(member, 1, 1), store_of(member, 1, 2),
                      store_of(member, 1, 3)}},
        left_offset{left_of(member, 0), left_of(member, 1)} {}
  __device__ static int lane() { return threadIdx.x % kWarp; }
  __device__ static std::uint32_t store_of(int member, int part, int element) {
    return Map::offset(lane() % 8 * Map::kVec + element, member, part) + lane() / 8 * 4;
  }
  __device__ static std::uint32_t left_of(int member, int pair) {
    const int q = 2 * pair + lane() / 8 % 2, part = lane() / 16, g = lane() % 8;
    return Map::offset(Map::left_column(member, q, g), Map::left_member(g), part);
  }
  __device__ static int place(int i) { return i; }

  __device__ void store(std::uint32_t buffer, const uint4 (&row)[2]) const {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const std::uint32_t words[4] = {row[part].x, row[part].y, row[part].z, row[part].w};
#pragma unroll
      for (int j = 0; j < 4; ++j)
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(buffer + store_offset[part][j]),
                     "r"(to_tf32(__uint_as_float(words[j])))
                     : "memory");
    }
  }
  __device__ void multiply(float (&sum)[kProducts][4], std::uint32_t buffer, Right right,
                           const bool (&wanted)[2]) const {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      if (!wanted[pair]) continue;
      std::uint32_t left[4];
      load_matrices(left, buffer + left_offset[pair]);
      mma_m16n8k8_tf32(sum[pair], left, {right.x, right.y});
    }
  }
  __device__ static Right load_right(const float* values) {
    const float* const at = values + lane() / 4 % kBlocks * 8 + lane() % 4;
    return {to_tf32(at[0]), to_tf32(at[4])};
  }
  __device__ static Right ones() {
    return {__float_as_uint(1.0f), __float_as_uint(1.0f)};
  }
};

}  // namespace rodeo::kernels::cuda
