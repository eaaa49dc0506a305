/// The tensor core products of RoDe-TC: f16, bf16 or TF32 operands, f32 sums.
#pragma once

#include <bit>

#include "ops/cuda/device/mma.cuh"

namespace rodeo::kernels::cuda {

using Word = std::uint32_t;

/// 16 bytes of four rows of X.
struct MmaLeft {
  Word word[4][4];  // [nonzero][word of the piece]
};

/// What a lane loaded times its part of the right operand (ops/plan/rode_tc_map.h): an mma.m16n8k16 of 16-bit
/// elements for each word of a piece. Product p serves columns 2p (rows 0 to 7) and 2p + 1 (rows 8 to 15) of
/// every lane's piece.
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
      mma_m16n8k16<T>(sum[p], a, right.k);
    }
  }

 private:
  __device__ static Word pair(float low, float high) {
    alignas(Word) const T halves[2] = {static_cast<T>(low), static_cast<T>(high)};
    return *reinterpret_cast<const Word*>(halves);
  }
};

/// f32: two mma.m16n8k8 of TF32, for two nonzeros each. Both factors are rounded to nearest: the tensor core
/// by itself truncates them.
template <>
struct Mma<float> {
  static constexpr int kProducts = 2;
  struct Right {
    Word k[4];
  };

  __device__ static Right right(const float (&w)[4]) {
    return {{to_tf32(w[0]), to_tf32(w[1]), to_tf32(w[2]), to_tf32(w[3])}};
  }
  __device__ static void add(float (&sum)[kProducts][4], const MmaLeft& left, const Right& right) {
#pragma unroll
    for (int p = 0; p < kProducts; ++p)
#pragma unroll
      for (int k = 0; k < 4; k += 2) {
        const Word a[4] = {rounded(left, k, 2 * p), rounded(left, k, 2 * p + 1), rounded(left, k + 1, 2 * p),
                           rounded(left, k + 1, 2 * p + 1)};
        mma_m16n8k8_tf32(sum[p], a, {right.k[k], right.k[k + 1]});
      }
  }

 private:
  __device__ static Word rounded(const MmaLeft& left, int nonzero, int column) {
    return to_tf32(std::bit_cast<float>(left.word[nonzero][column]));
  }
};

}  // namespace rodeo::kernels::cuda
