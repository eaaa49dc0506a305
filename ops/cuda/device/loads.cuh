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
