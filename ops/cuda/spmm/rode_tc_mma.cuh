/// The tensor core products of RoDe-TC: f16, bf16 or TF32 operands, f32 sums.
#pragma once

#include <bit>
#include <type_traits>

#include "ops/cuda/device/mma.cuh"

namespace rodeo::kernels::cuda {

using Word = std::uint32_t;

/// Two 16-bit numbers of a word, for arithmetic.
template <class T>
using pair_t = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
template <class T>
__device__ pair_t<T> as_pair(Word word) {
  return reinterpret_cast<const pair_t<T>&>(word);  // not trivially copyable, so no std::bit_cast
}
template <class Pair>
__device__ Word as_word(Pair pair) {
  return reinterpret_cast<const Word&>(pair);
}

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

  /// The right operand from the weights of the lane's four k, each of which is a T.
  __device__ static Right right(const float (&w)[4]) { return {{pair(w[0], w[1]), pair(w[2], w[3])}}; }

  __device__ static void add(float (&sum)[kProducts][4], const MmaLeft& left, const Right& right) {
    const auto& x = left.word;
#pragma unroll
    for (int p = 0; p < kProducts; ++p) add_product(sum[p], {x[0][p], x[1][p], x[2][p], x[3][p]}, right);
  }
  /// Adds the left operand with each nonzero multiplied by its weight, which is a T. `ones`: right() of ones.
  /// A product is the sum of two T without rounding: x w rounded, and the rest. Where the first overflows the
  /// sum is not finite.
  __device__ static void add_scaled(float (&sum)[kProducts][4], const MmaLeft& left, const float (&w)[4],
                                    const Right& ones) {
    using Pair = pair_t<T>;
    Pair weight[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) weight[k] = as_pair<T>(pair(w[k], w[k]));
#pragma unroll
    for (int p = 0; p < kProducts; ++p) {
      Word high[4], low[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const Pair x = as_pair<T>(left.word[k][p]);
        const Pair product = __hmul2_rn(x, weight[k]);
        high[k] = as_word(product);
        low[k] = as_word(__hfma2(x, weight[k], __hneg2(product)));
      }
      add_product(sum[p], high, ones);
      add_product(sum[p], low, ones);
    }
  }

 private:
  /// x: a word of each nonzero.
  __device__ static void add_product(float (&sum)[4], const Word (&x)[4], const Right& right) {
    constexpr int kLow = 0x5410, kHigh = 0x7632;  // halves of two words
    const Word a[4] = {__byte_perm(x[0], x[1], kLow), __byte_perm(x[0], x[1], kHigh),
                       __byte_perm(x[2], x[3], kLow), __byte_perm(x[2], x[3], kHigh)};
    mma_m16n8k16<T>(sum, a, right.k);
  }
  __device__ static Word pair(float low, float high) {
    alignas(Word) const T halves[2] = {static_cast<T>(low), static_cast<T>(high)};
    return *reinterpret_cast<const Word*>(halves);
  }
};

/// f32: two mma.m16n8k8 of TF32, for two nonzeros each. Factors are rounded to nearest: the tensor core by
/// itself truncates them.
template <>
struct Mma<float> {
  static constexpr int kProducts = 2;
  struct Right {
    Word k[4];
  };

  __device__ static Right right(const float (&w)[4]) {
    return {{to_tf32(w[0]), to_tf32(w[1]), to_tf32(w[2]), to_tf32(w[3])}};
  }
  /// Adds the left operand with each nonzero multiplied by its weight in f32. `ones`: right() of ones.
  __device__ static void add_scaled(float (&sum)[kProducts][4], const MmaLeft& left, const float (&w)[4],
                                    const Right& ones) {
    MmaLeft scaled;
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scaled.word[k][i] = std::bit_cast<Word>(std::bit_cast<float>(left.word[k][i]) * w[k]);
    add(sum, scaled, ones);
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
