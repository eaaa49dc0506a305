/// mma.m16n8k8 as TCA-SpMM feeds it: f16, bf16 or TF32 operands, f32 sums.
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

using Word = std::uint32_t;

/// Lane t of quad g holds rows g and g + 8 of the left operand and column g of the right one, for two values
/// of k: 2t and 2t + 1 in a word for 16-bit types, t and t + 4 in a word each for TF32.
///   d  += left * right
///   first, second  two neighbouring columns of X, as loaded, for the first and the second k
///   w              the weights of the two k, each in the low bits of a word
/// The first column goes to row g, the second to row g + 8. Volatile: all lanes must take part, so the
/// compiler may not move it to where only some need the result.
template <class T>
struct Mma;

#define RODEO_MMA_16(T, type, one)                                                                         \
  template <>                                                                                              \
  struct Mma<T> {                                                                                          \
    static constexpr Word kOne = one;                                                                      \
    static constexpr int kWords = 1; /* that hold two columns */                                           \
    __device__ static void add(float (&d)[4], const Word (&first)[1], const Word (&second)[1],             \
                               const Word (&w)[2]) {                                                       \
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." type "." type                                   \
                   ".f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                                     \
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                        \
                   : "r"(__byte_perm(first[0], second[0], 0x5410)),                                        \
                     "r"(__byte_perm(first[0], second[0], 0x7632)), "r"(__byte_perm(w[0], w[1], 0x5410))); \
    }                                                                                                      \
  }
RODEO_MMA_16(__half, "f16", 0x3c00);
RODEO_MMA_16(__nv_bfloat16, "bf16", 0x3f80);
#undef RODEO_MMA_16

template <>
struct Mma<float> {
  static constexpr Word kOne = 0x3f800000;
  static constexpr int kWords = 2;
  __device__ static Word round(Word value) {  // to nearest: the tensor core by itself would cut off
    Word out;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(__uint_as_float(value)));
    return out;
  }
  __device__ static void add(float (&d)[4], const Word (&first)[2], const Word (&second)[2],
                             const Word (&w)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(round(first[0])), "r"(round(first[1])), "r"(round(second[0])), "r"(round(second[1])),
          "r"(round(w[0])), "r"(round(w[1])));
  }
};

}  // namespace rodeo::kernels::cuda
