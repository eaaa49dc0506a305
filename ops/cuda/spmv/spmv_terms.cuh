/// One lane's share of the sum over nonzeros in SpMV.
#pragma once

#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"

namespace rodeo::kernels::cuda {

/// The sum over nonzeros begin + place, begin + place + lanes, ... of [begin, begin + length), with loads of
/// kInFlight of them in flight. Lanes of a warp may have different lengths: call __syncwarp() before they
/// exchange sums. weight may be null. x(column) is an element of x.
template <int kInFlight, class T, class X>
__device__ __forceinline__ Accumulator<T> sum_terms(const std::int32_t* col, const T* weight, const X& x,
                                                    std::int64_t begin, int length, int place, int lanes) {
  col += begin;
  Accumulator<T> sum = 0;
  for (int at = place; at < length; at += kInFlight * lanes) {
    std::int32_t source[kInFlight];
    T factor[kInFlight];  // not widened yet: to use a value is to wait for its load
    Accumulator<T> term[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i)
      source[i] = at + i * lanes < length ? load_streaming(col + at + i * lanes) : -1;
    if (weight) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i)
        factor[i] = at + i * lanes < length ? load_streaming(weight + begin + at + i * lanes) : T(0.f);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) term[i] = source[i] >= 0 ? widen(x(source[i])) : Accumulator<T>(0);
    if (weight) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) term[i] *= widen(factor[i]);
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) sum += term[i];
  }
  return sum;
}

/// sum_terms() where each element of x is asked for on a condition of its own, and its weight behind it. Long
/// pieces of large graphs are faster so, short rows slower (docs/experiments/spmv.md).
template <int kInFlight, class T, class X>
__device__ __forceinline__ Accumulator<T> sum_terms_in_turn(const std::int32_t* col, const T* weight,
                                                            const X& x, std::int64_t begin, int length,
                                                            int place, int lanes) {
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
