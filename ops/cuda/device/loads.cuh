/// Global loads with a cache policy.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

/// Streaming load: for data that is read once, so that it does not evict reused rows from the L1.
template <class T>
__device__ __forceinline__ T load_streaming(const T* p) {
  return __ldcs(p);
}

/// a b as 64 bits, in one instruction. From the C++ expression the compiler makes a product of 64 bits (CUDA
/// 13.0), which takes an instruction more, but leaves it free to issue loads earlier.
__device__ __forceinline__ std::uint64_t wide_product(std::uint32_t a, std::uint32_t b) {
  std::uint64_t product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
}

/// Loads from L2, past the L1 of this multiprocessor: for data that other blocks wrote in this launch.
template <class V>
__device__ V load_from_l2(const V* from) {
  using Word = std::conditional_t<sizeof(V) % 16 == 0, uint4,
                                  std::conditional_t<sizeof(V) == 8, uint2, std::uint32_t>>;
  struct Words {
    Word word[sizeof(V) / sizeof(Word)];
  } words;
#pragma unroll
  for (std::size_t w = 0; w < sizeof(V) / sizeof(Word); ++w)
    words.word[w] = __ldcg(reinterpret_cast<const Word*>(from) + w);
  return std::bit_cast<V>(words);
}

}  // namespace rodeo::kernels::cuda
