// Rows of scores in registers, for losses and log_softmax.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/cuda/warp.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/warp_reduce.cuh"
#include "ops/plan/dense_config.h"

namespace rodeo::kernels::cuda {

/// A row of scores that `kOfRow` lanes share. Rows of up to kOfRow * kHeld scores are read once, into
/// registers. All lanes of the warp call its functions.
template <class T, int kOfRow = LossConfig::kLanes>
class ScoreRow {
 public:
  using Score = Accumulator<T>;
  static constexpr int kHeld = 8, kMostHeld = kOfRow * kHeld;

  __device__ ScoreRow(const T* row, std::int64_t c) : row_(row), c_(c), is_short_(c <= kMostHeld) {
    const int columns = static_cast<int>(c);
    if (is_short_)
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (i * kOfRow >= columns) break;  // the same for all lanes
        held_[i] = place(i) < columns ? widen(row[place(i)]) : Score(-INFINITY);
      }
  }
  /// Calls f(column, score) for this lane's columns. In short rows columns are int, and scores of -inf pad
  /// the row.
  template <class F>
  __device__ void each(F f) const {
    if (is_short_) {
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        if (i * kOfRow >= static_cast<int>(c_)) break;
        f(place(i), held_[i]);
      }
    } else {
      for (std::int64_t j = threadIdx.x % kOfRow; j < c_; j += kOfRow) f(j, widen(row_[j]));
    }
  }
  __device__ Score at(std::int64_t column) const {
    if (!is_short_) return widen(row_[column]);
    const int wanted = static_cast<int>(column);
    Score own = 0;
    each([&](auto j, Score score) { own = j == wanted ? score : own; });
    return __shfl_sync(kFullMask, own, wanted % kOfRow, kOfRow);
  }
  __device__ Score log_sum_exp() const {
    Score top = -INFINITY, sum = 0;
    each([&](auto, Score score) { top = fmax(top, score); });
    top = reduce_lanes<kOfRow>(top, [](auto a, auto b) { return fmax(a, b); });
    each([&](auto, Score score) { sum += exp(score - top); });
    return top + log(reduce_lanes<kOfRow>(sum, [](auto a, auto b) { return a + b; }));
  }

 private:
  __device__ static int place(int i) {
    return static_cast<int>(threadIdx.x) % kOfRow + i * kOfRow;
  }

  const T* row_;
  std::int64_t c_;
  bool is_short_;
  Score held_[kHeld];
};

}  // namespace rodeo::kernels::cuda
