/// What the sparse kernels share: how a warp gathers rows of X and sums them.
#pragma once

#include "core/cuda/launch.cuh"
#include "ops/cuda/padded_rows.h"
#include "ops/cuda/row_adder.cuh"
#include "ops/kernels.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// Indices and weights are read once: they must not push rows of X out of the L1.
template <class T>
__device__ __forceinline__ T load_once(const T* p) {
  return __ldcs(p);
}

enum class Weighting { kNone, kPerEdge, kPerHead };

/// A @ X for one tile of columns. A row of X is covered by kLanes lanes of 16 bytes each; the warp's
/// 32 / kLanes groups of lanes work on different nonzeros or rows. kMma: tensor cores add up rows of 16-bit
/// elements (row_adder.cuh), which want the lanes in another order.
template <class T_, int kLanes_, Weighting kWeighting_, bool kMma_ = false>
struct Tile {
  using T = T_;
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr int kVec = 16 / sizeof(T), kLanes = kLanes_, kGroups = kWarp / kLanes_;
  static constexpr int kWidth = kVec * kLanes;
  static constexpr Weighting kWeighting = kWeighting_;
  static constexpr bool kMma = kMma_;
  using Row = Pack<T, kVec>;
  template <bool kOther>
  using WithMma = Tile<T, kLanes, kWeighting, kOther>;

  __device__ static int group_of(int lane) { return kMma ? lane % kGroups : lane / kLanes; }
  __device__ static int member_of(int lane) { return kMma ? lane / kGroups : lane % kLanes; }
  __device__ static int lane_of(int group, int member) {
    return kMma ? member * kGroups + group : group * kLanes + member;
  }
  /// The distance between lanes of neighbouring groups.
  static constexpr int kGroupStep = kMma ? 1 : kLanes;
};

/// X is [cols, heads, pitch] with pitch a multiple of 16 bytes, of which k columns count; Y is [rows, heads,
/// k].
template <class T>
struct SpmmArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T* weight;  // [edges, heads], or null for an unweighted sum
  const T* x;
  T* y;
  std::int64_t rows, heads, k, pitch;
  std::int64_t stride;  // heads * pitch
  std::int64_t first;   // column where this launch begins
  bool whole_vectors;   // Y can be written 16 bytes at a time
};

/// One warp's view of its column tile.
template <class Tile>
struct Gather {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Row = typename Tile::Row;

  const SpmmArgs<T>& args;
  const int lane = threadIdx.x % kWarp;
  const int group = Tile::group_of(lane);
  const int member = Tile::member_of(lane);
  const std::int64_t column =
      args.first + static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth + member * Tile::kVec;
  const bool active = column < args.stride;
  const std::int64_t head = Tile::kWeighting == Weighting::kPerHead && active ? column / args.pitch : 0;
  Sum sum[Tile::kVec] = {};
  RowAdder<T, Tile::kMma> adder;

  __device__ explicit Gather(const SpmmArgs<T>& a) : args(a) {}

  /// The sparse data of one nonzero, held by the lane that loaded it. Weights of heads are not: every lane
  /// reads that of its own head, along with the row of X.
  struct Entry {
    std::int32_t col = 0;
    Sum weight = 0;
  };
  __device__ Entry fetch(std::int64_t e, bool valid) const {
    Entry entry;
    if (valid) {
      entry.col = load_once(args.col + e);
      if constexpr (Tile::kWeighting == Weighting::kPerEdge) entry.weight = widen(load_once(args.weight + e));
    }
    return entry;
  }
  __device__ Entry from_lane(const Entry& entry, int source) const {
    Entry out;
    out.col = __shfl_sync(kFullMask, entry.col, source);
    if constexpr (Tile::kWeighting == Weighting::kPerEdge)
      out.weight = __shfl_sync(kFullMask, entry.weight, source);
    return out;
  }
  __device__ Row row_of_x(std::int32_t col) const {
    return *reinterpret_cast<const Row*>(args.x + static_cast<std::int64_t>(col) * args.stride + column);
  }
  /// What this lane multiplies its part of the row by.
  __device__ Sum weight_of(const Entry& entry, std::int64_t e) const {
    if constexpr (Tile::kWeighting == Weighting::kPerHead)
      return widen(args.weight[e * args.heads + head]);
    else
      return entry.weight;
  }
  /// sum += weight * row for rows of all groups. keep: see RowAdder::add.
  template <int kRows>
  __device__ void add(const Row (&row)[kRows], const Sum (&weight)[kRows], bool keep) {
    constexpr bool kUnweighted = Tile::kWeighting == Weighting::kNone;
    if constexpr (Tile::kMma) {
      adder.template add<kUnweighted>(row, weight, keep);
    } else {
#pragma unroll
      for (int k = 0; k < kRows; ++k)
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v)
          sum[v] += kUnweighted ? Sum(widen(row[k].value[v])) : weight[k] * widen(row[k].value[v]);
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
        Sum weight[kStep];
#pragma unroll
        for (int k = 0; k < kStep; ++k) {
          const Entry entry = from_lane(now, Tile::lane_of(group, j + k));
          const std::int64_t at = base + j + k;
          row[k] = Row{};
          weight[k] = 0;
          if (active && at < length) row[k] = row_of_x(entry.col), weight[k] = weight_of(entry, begin + at);
        }
        add(row, weight, member == group);
      }
    }
    if constexpr (Tile::kMma) adder.take_own(sum, lane);
  }

  __device__ void write_y(std::int64_t row) const {
    if (!active) return;
    T* y = args.y + row * args.heads * args.k;
    Row out;
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) out.value[v] = static_cast<T>(sum[v]);
    if (args.whole_vectors) {
      *reinterpret_cast<Row*>(y + column) = out;
    } else {
      const std::int64_t first = args.heads == 1 ? column : column % args.pitch;
      y += (column - first) / args.pitch * args.k;
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v)
        if (first + v < args.k) y[first + v] = out.value[v];
    }
  }
};

template <class T>
SpmmArgs<device_t<T>> make_args(const Csr& a, const Tensor& weight, const PaddedRows& x, std::int64_t heads,
                                std::int64_t k, const Tensor& y) {
  using D = device_t<T>;
  return {a.row_ptr.data<std::int64_t>(),
          a.col.data<std::int32_t>(),
          weight.defined() ? reinterpret_cast<const D*>(weight.data<T>()) : nullptr,
          reinterpret_cast<const D*>(x.x.data<T>()),
          reinterpret_cast<D*>(y.data<T>()),
          a.rows,
          heads,
          k,
          x.pitch,
          heads * x.pitch,
          0,
          x.pitch == k && is_aligned(y)};
}

/// Calls f(Tile{}, args, tiles) for the column tiles of Y: 128 bytes of a row at a time (narrower tiles cost
/// more requests, wider ones caught fewer repeats in the L1), then one of 64 bytes if it holds what is left.
/// Rows of X that do not begin at multiples of 16 bytes are copied to where they do: that costs columns x k,
/// the sum costs edges x k.
template <class T, class F>
void dispatch_tile(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y, F&& f) {
  using D = device_t<T>;
  const bool per_head = weight.defined() && weight.rank() == 2;
  const std::int64_t heads = per_head ? weight.dim(1) : 1, k = y.numel() / (a.rows * heads);
  const PaddedRows padded(x, heads, k);
  SpmmArgs<D> args = make_args<T>(a, weight, padded, heads, k, y);
  const auto with_lanes = [&]<Weighting kWeighting>() {
    using Wide = Tile<D, 8, kWeighting>;
    using Narrow = Tile<D, 4, kWeighting>;
    const std::int64_t left = args.stride % Wide::kWidth;
    const bool narrow = left > 0 && left <= Narrow::kWidth;
    const std::int64_t wide = args.stride / Wide::kWidth + (left > 0 && !narrow);
    if (wide > 0) f(Wide{}, args, wide);
    args.first = wide * Wide::kWidth;
    if (narrow) f(Narrow{}, args, std::int64_t{1});
  };
  if (per_head)
    with_lanes.template operator()<Weighting::kPerHead>();
  else if (weight.defined())
    with_lanes.template operator()<Weighting::kPerEdge>();
  else
    with_lanes.template operator()<Weighting::kNone>();
}

}  // namespace rodeo::kernels::cuda
