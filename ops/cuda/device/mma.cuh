/// The tensor core products of TCA-SpMM: f16, bf16 or TF32 operands, f32 sums.
#pragma once

#include <bit>

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using Word = std::uint32_t;

/// 16 bytes of four rows of X.
struct MmaLeft {
  Word word[4][4];  // [nonzero][word of the piece]
};

/// What a lane loaded times its part of the right operand (ops/plan/tca_map.h): an mma.m16n8k16 of 16-bit
/// elements for each word of a piece. Product p serves columns 2p (rows 0 to 7) and 2p + 1 (rows 8 to 15) of
/// every lane's piece. Volatile: all lanes must take part, so the compiler may not move it to where only some
/// need the result.
template <class T>
struct Mma {
  static constexpr int kProducts = 4;
  struct Right {
    Word k[2];
  };

  /// Of the weights of the lane's four k, each of which is a T.
  __device__ static Right right(const float (&w)[4]) { return {{pair(w[0], w[1]), pair(w[2], w[3])}}; }

  __device__ static void add(float (&sum)[kProducts][4], const MmaLeft& left, const Right& right) {
    constexpr int kLow = 0x5410, kHigh = 0x7632;  // halves of two words
    const auto& x = left.word;
#pragma unroll
    for (int p = 0; p < kProducts; ++p) {
      const Word a[4] = {__byte_perm(x[0][p], x[1][p], kLow), __byte_perm(x[0][p], x[1][p], kHigh),
                         __byte_perm(x[2][p], x[3][p], kLow), __byte_perm(x[2][p], x[3][p], kHigh)};
      float(&d)[4] = sum[p];
      if constexpr (std::is_same_v<T, __half>)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(right.k[0]), "r"(right.k[1]));
      else
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(right.k[0]), "r"(right.k[1]));
    }
  }

 private:
  __device__ static Word pair(float low, float high) {
    alignas(Word) const T halves[2] = {static_cast<T>(low), static_cast<T>(high)};
    return *reinterpret_cast<const Word*>(halves);
  }
};

/// f32: two mma.m16n8k8 of TF32, for two nonzeros each. Both factors are rounded to nearest: the tensor core
/// by itself would cut off.
template <>
struct Mma<float> {
  static constexpr int kProducts = 2;
  struct Right {
    Word k[4];
  };

  __device__ static Right right(const float (&w)[4]) {
    return {{round(w[0]), round(w[1]), round(w[2]), round(w[3])}};
  }
  __device__ static void add(float (&sum)[kProducts][4], const MmaLeft& left, const Right& right) {
#pragma unroll
    for (int p = 0; p < kProducts; ++p)
#pragma unroll
      for (int k = 0; k < 4; k += 2) {
        float(&d)[4] = sum[p];
        const auto x = [&](int nonzero, int column) {
          return round(std::bit_cast<float>(left.word[nonzero][column]));
        };
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(x(k, 2 * p)), "r"(x(k, 2 * p + 1)), "r"(x(k + 1, 2 * p)), "r"(x(k + 1, 2 * p + 1)),
              "r"(right.k[k]), "r"(right.k[k + 1]));
      }
  }

 private:
  __device__ static Word round(float value) {
    Word out;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(value));
    return out;
  }
};

}  // namespace rodeo::kernels::cuda
