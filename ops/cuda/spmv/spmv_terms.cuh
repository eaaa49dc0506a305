/// What a lane does in SpMV, whichever nonzeros it is given.
#pragma once

#include "ops/cuda/spmm/gather.cuh"

namespace rodeo::kernels::cuda {

/// What lane `place` of `lanes` adds up of the nonzeros [begin, begin + length), kInFlight of whose loads are
/// in flight together. Lanes of a warp may differ in length: __syncwarp before they share. weight may be
/// null; x(column) is an element of x.
template <int kInFlight, class T, class X>
__device__ __forceinline__ Accumulator<T> sum_terms(const std::int32_t* col, const T* weight, const X& x,
                                                    std::int64_t begin, int length, int place, int lanes) {
  col += begin;
  Accumulator<T> sum = 0;
  for (int at = place; at < length; at += kInFlight * lanes) {
    std::int32_t source[kInFlight];
    Accumulator<T> term[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      source[i] = at + i * lanes < length ? load_streaming(col + at + i * lanes) : -1;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      term[i] = 0;
      if (source[i] < 0) continue;
      term[i] = widen(x(source[i]));
      if (weight) term[i] *= widen(load_streaming(weight + begin + at + i * lanes));
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) sum += term[i];
  }
  return sum;
}

}  // namespace rodeo::kernels::cuda
