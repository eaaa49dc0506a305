/// Adding up rows of 16-bit elements on tensor cores: converting them one by one would cost more than
/// fetching them.
#pragma once

#include <bit>

#include "ops/cuda/pack.cuh"

namespace rodeo::kernels::cuda {

/// Where tensor cores have no part.
template <class T, bool kMma>
struct RowAdder {};

/// For mma.m16n8k16 a lane is (g, t) = (lane / 4, lane % 4); here g is the member of a group and t the group.
/// The left operand holds 16 columns of X: g and g + 8 are two neighbouring columns of the 8 that lane g has,
/// and the 16 values of k are 4 rows of each of the 4 groups. The right operand holds the weights: lane g's
/// are column g of it. So with the weights of members 0 alone, column 0 of the product is the sum over all
/// groups; with those of the lanes whose member is their group, column t is the sum of group t. The other
/// entries are 0 times an element of the same column of X that is added up anyway, so that infinities stay
/// where they are.
template <class T>
struct RowAdder<T, true> {
  using Row = Pack<T, 8>;
  using Word = std::uint32_t;
  float product[4][4] = {};  // [pair of columns][element of the accumulator]

  /// keep: whether this lane's weights count.
  template <bool kUnweighted, int kRows>
  __device__ void add(const Row (&row)[kRows], const float (&weight)[kRows], bool keep) {
    static_assert(kRows % 4 == 0);
#pragma unroll
    for (int k = 0; k < kRows; k += 4) {
      Word right[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const Pack<T, 2> pair = {static_cast<T>(kUnweighted ? 1.f : weight[k + 2 * h]),
                                 static_cast<T>(kUnweighted ? 1.f : weight[k + 2 * h + 1])};
        right[h] = keep ? std::bit_cast<Word>(pair) : 0;
      }
      uint4 bits[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) bits[i] = std::bit_cast<uint4>(row[k + i]);
      multiply(product[0], bits[0].x, bits[1].x, bits[2].x, bits[3].x, right);
      multiply(product[1], bits[0].y, bits[1].y, bits[2].y, bits[3].y, right);
      multiply(product[2], bits[0].z, bits[1].z, bits[2].z, bits[3].z, right);
      multiply(product[3], bits[0].w, bits[1].w, bits[2].w, bits[3].w, right);
    }
  }

  /// The sums over all groups go to group 0, zero to the others.
  __device__ void take_all(float (&sum)[8]) {
#pragma unroll
    for (int p = 0; p < 4; ++p) sum[2 * p] = product[p][0], sum[2 * p + 1] = product[p][2];
    clear();
  }
  /// Every group gets its own.
  __device__ void take_own(float (&sum)[8], int lane) {
    const int group = lane % 4, source = lane - group + group / 2;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float even = __shfl_sync(kFullMask, product[i / 2][i % 2 * 2], source);
      const float odd = __shfl_sync(kFullMask, product[i / 2][i % 2 * 2 + 1], source);
      sum[i] = group % 2 == 0 ? even : odd;
    }
    clear();
  }

 private:
  __device__ void clear() {
#pragma unroll
    for (int p = 0; p < 4; ++p)
#pragma unroll
      for (int i = 0; i < 4; ++i) product[p][i] = 0;
  }
  /// Volatile: all lanes must take part.
  __device__ static void multiply(float (&d)[4], Word a, Word b, Word c, Word e, const Word (&right)[2]) {
    const Word low0 = __byte_perm(a, b, 0x5410), high0 = __byte_perm(a, b, 0x7632);
    const Word low1 = __byte_perm(c, e, 0x5410), high1 = __byte_perm(c, e, 0x7632);
    if constexpr (std::is_same_v<T, __half>)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
          "{%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(low0), "r"(high0), "r"(low1), "r"(high1), "r"(right[0]), "r"(right[1]));
    else
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
          "{%0,%1,%2,%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(low0), "r"(high0), "r"(low1), "r"(high1), "r"(right[0]), "r"(right[1]));
  }
};

}  // namespace rodeo::kernels::cuda
