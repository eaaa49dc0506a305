/// What the sparse kernels share: how a warp gathers rows of X and sums them.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// kVec elements that are loaded and stored as one.
template <class T, int kVec>
struct alignas(sizeof(T) * kVec) Pack {
  T value[kVec];
};

template <class T>
__device__ __forceinline__ auto widen(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value);
  else
    return value;
}

/// Indices and weights are read once: they must not push rows of X out of the L1.
template <class T>
__device__ __forceinline__ T load_once(const T* p) {
  return __ldcs(p);
}

/// A @ X for one tile of columns. A row of X is covered by kLanes lanes of kVec elements each; the warp's
/// 32 / kLanes groups of lanes work on different nonzeros or rows.
template <class T_, int kVec_, int kLanes_, bool kWeighted_>
struct Tile {
  using T = T_;
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr int kVec = kVec_, kLanes = kLanes_, kGroups = kWarp / kLanes_;
  static constexpr int kWidth = kVec * kLanes;
  static constexpr bool kWeighted = kWeighted_;
  using Row = Pack<T, kVec>;
};

template <class T>
struct SpmmArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T* weight;  // null for an unweighted sum
  const T* x;
  T* y;
  std::int64_t rows, n;
};

/// One warp's view of its column tile.
template <class Tile>
struct Gather {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Row = typename Tile::Row;

  const SpmmArgs<T>& args;
  const int lane = threadIdx.x % kWarp;
  const int group = lane / Tile::kLanes;
  const int member = lane % Tile::kLanes;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth + member * Tile::kVec;
  const bool active = column < args.n;  // kVec divides n, so a lane has all of its columns or none
  Sum sum[Tile::kVec] = {};

  __device__ explicit Gather(const SpmmArgs<T>& a) : args(a) {}

  /// The sparse data of one nonzero, held by the lane that loaded it.
  struct Entry {
    std::int32_t col = 0;
    Sum weight = 0;
  };
  __device__ Entry fetch(std::int64_t e, bool valid) const {
    Entry entry;
    if (valid) {
      entry.col = load_once(args.col + e);
      if constexpr (Tile::kWeighted) entry.weight = widen(load_once(args.weight + e));
    }
    return entry;
  }
  __device__ Entry from_lane(const Entry& entry, int source) const {
    Entry out;
    out.col = __shfl_sync(kFullMask, entry.col, source);
    if constexpr (Tile::kWeighted) out.weight = __shfl_sync(kFullMask, entry.weight, source);
    return out;
  }
  __device__ Row row_of_x(std::int32_t col) const {
    return *reinterpret_cast<const Row*>(args.x + static_cast<std::int64_t>(col) * args.n + column);
  }
  __device__ void add(const Row& row, Sum weight) {
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) {
      if constexpr (Tile::kWeighted)
        sum[v] += weight * widen(row.value[v]);
      else
        sum[v] += widen(row.value[v]);
    }
  }

  /// Every group sums a row of its own: nonzeros [begin, begin + length), in order. Long rows are added up
  /// from sums of a piece's length, so that the rounding error of a hub stays that of a short row.
  __device__ void sum_long_row(std::int64_t begin, std::int64_t length) {
    Sum total[Tile::kVec] = {};
    for (std::int64_t at = 0; __any_sync(kFullMask, at < length); at += RodePlan::kSplit) {
      const std::int64_t left = length - at;
      sum_row(begin + at, left < RodePlan::kSplit ? left : RodePlan::kSplit);
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v) total[v] += sum[v], sum[v] = 0;
    }
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) sum[v] = total[v];
  }

  /// The same for one piece.
  __device__ void sum_row(std::int64_t begin, std::int64_t length) {
    constexpr int kStep = Tile::kLanes < 8 ? Tile::kLanes : 8;  // rows of X in flight
    Entry next = fetch(begin + member, member < length);
    for (std::int64_t base = 0; __any_sync(kFullMask, base < length); base += Tile::kLanes) {
      const Entry now = next;
      const std::int64_t ahead = base + Tile::kLanes + member;
      next = fetch(begin + ahead, ahead < length);
#pragma unroll
      for (int j = 0; j < Tile::kLanes; j += kStep) {
        if (!__any_sync(kFullMask, base + j < length)) break;
        Row row[kStep];
        Entry entry[kStep];
#pragma unroll
        for (int k = 0; k < kStep; ++k) {
          entry[k] = from_lane(now, group * Tile::kLanes + j + k);
          row[k] = Row{};
          if (active && base + j + k < length) row[k] = row_of_x(entry[k].col);
        }
#pragma unroll
        for (int k = 0; k < kStep; ++k) add(row[k], entry[k].weight);
      }
    }
  }

  __device__ void write_y(std::int64_t row) const {
    Row out;
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) out.value[v] = static_cast<T>(sum[v]);
    if (active) *reinterpret_cast<Row*>(args.y + row * args.n + column) = out;
  }
};

/// Calls f(Tile{}) with the tile that fits: 16-byte loads where the rows of X allow them, else single
/// elements.
template <class T, class F>
void dispatch_tile(bool weighted, const Tensor& x, const Tensor& y, F&& f) {
  constexpr int kVec = 16 / sizeof(T);
  const std::int64_t n = x.dim(1);
  const auto aligned = [](const Tensor& t) { return reinterpret_cast<std::uintptr_t>(t.raw()) % 16 == 0; };
  const auto with = [&]<int kV, int kLanes>() {
    if (weighted)
      f(Tile<T, kV, kLanes, true>{});
    else
      f(Tile<T, kV, kLanes, false>{});
  };
  // 128 bytes of a row at a time: narrower tiles cost more requests, wider ones caught fewer repeats in the
  // L1.
  if (n % kVec == 0 && aligned(x) && aligned(y)) {
    if (n <= 4 * kVec)
      with.template operator()<kVec, 4>();
    else
      with.template operator()<kVec, 8>();
  } else {
    if (n <= 8)
      with.template operator()<1, 8>();
    else
      with.template operator()<1, 32>();
  }
}

template <class T>
SpmmArgs<device_t<T>> make_args(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y) {
  using D = device_t<T>;
  return {a.row_ptr.data<std::int64_t>(),
          a.col.data<std::int32_t>(),
          weight.defined() ? reinterpret_cast<const D*>(weight.data<T>()) : nullptr,
          reinterpret_cast<const D*>(x.data<T>()),
          reinterpret_cast<D*>(y.data<T>()),
          a.rows,
          x.dim(1)};
}

}  // namespace rodeo::kernels::cuda
