/// RowLoader, the part of a RoDe kernel that loads rows of X, column indices and edge weights.
#pragma once

#include <algorithm>
#include <bit>

#include "ops/cuda/rode/tile.cuh"

namespace rodeo::kernels::cuda {

/// What one lane loads. The lanes of a group together load one row of X, within their column tile. Sums are
/// in a RowAccumulator (row_accumulator.cuh).
template <class Tile_>
struct RowLoader {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;

  /// A lane's part of a row of X, as loaded. 16-bit elements are converted to f32 only when they are added:
  /// converted, they need twice the registers.
  struct Row {
    typename Tile::Load load[Tile::kLoads];
  };
  /// Column and weight of one nonzero, in the lane that loaded them; others get them by shuffles. With a
  /// weight per head it has the column only: every lane loads the weight of its own head, with load_weight().
  struct Entry {
    std::int32_t col = 0;
    Sum weight = 0;
  };

  // Rows of X in flight in sum_row(). More of them need more registers, so fewer warps fit a multiprocessor.
  static constexpr int kRowsInFlight = Tile::kVec == 1 ? std::max(2, 8 / Tile::kLoads)
                                       : Tile::kSums == 16 && Tile::kLanes == 16 ? 2
                                                                                 : 4;
  // Shuffles from a lane that is known at compile time: they need no register for the lane. Not for other
  // tiles of one load, where they make the compiler spill registers (CUDA 13.0).
  static constexpr bool kConstantLanes = Tile::kLoads == 2 || Tile::kLanes == 16 ||
                                         Tile::kWeighting == Weighting::kPerHead ||
                                         (Tile::kWeighting == Weighting::kPerEdge && sizeof(T) == 2);

  const SpmmArgs<T>& args;
  const int lane = threadIdx.x % kWarp;
  const int group = lane / Tile::kLanes;
  const int member = lane % Tile::kLanes;
  const std::int64_t tile = args.first + static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth;
  const std::int64_t column = tile + member * Tile::kVec;  // of load 0
  // Where this lane loads from row 0 of X: x[0] for all loads, but in a ragged tile x[1] for the last load. A
  // lane beyond the last column loads the last columns again, so that no load is conditional.
  const char* x[Tile::kRagged ? 2 : 1];
  const std::int64_t head = Tile::kWeighting == Weighting::kPerHead && active(0) ? head_of(column) : 0;

  __device__ explicit RowLoader(const SpmmArgs<T>& a) : args(a) {
    const auto base_of_load = [&](int load) {
      return reinterpret_cast<const char*>(
          args.x + (active(load) ? column : args.stride - Tile::kVec - load * Tile::kLoadStride));
    };
    x[0] = base_of_load(0);
    if constexpr (Tile::kRagged) x[1] = base_of_load(Tile::kLoads - 1);
  }
  /// A loader that loads the columns of lane `other` of the group (ops/plan/rode_tc_map.h).
  __device__ RowLoader(const SpmmArgs<T>& a, int other) : args(a) {
    static_assert(!Tile::kRagged);
    const std::int64_t loaded = tile + other * Tile::kVec;
    x[0] = reinterpret_cast<const char*>(args.x + min(loaded, args.stride - Tile::kVec));
  }

  /// The head of a column of X. A division of 32 bits is enough: a row of X has at most 2^31 - 1 bytes
  /// (make_spmm_args).
  __device__ std::int64_t head_of(std::int64_t row_column) const {
    return args.heads == 1 ? 0
                           : static_cast<std::uint32_t>(row_column) / static_cast<std::uint32_t>(args.pitch);
  }
  /// Whether the load begins within the row.
  __device__ bool active(int load) const {
    // Ragged tiles of single elements (kVec 1) have one head and no padding, so k equals stride. k is in a
    // register already; stride would need another.
    const std::int64_t columns = Tile::kRagged && Tile::kVec == 1 ? args.k : args.stride;
    return column + (Tile::kRagged ? load * Tile::kLoadStride : 0) < columns;
  }

  __device__ Entry load_entry(std::int64_t edge) const {
    Entry entry;
    entry.col = args.col[edge];
    if constexpr (Tile::kWeighting == Weighting::kPerEdge) entry.weight = widen(args.weight[edge]);
    return entry;
  }
  /// Loads an entry by streaming loads, for 32 consecutive entries. Fewer would share a sector with the next
  /// ones, which must then still be in the L1.
  __device__ Entry stream_entry(std::int64_t edge) const {
    Entry entry;
    entry.col = load_streaming(args.col + edge);
    if constexpr (Tile::kWeighting == Weighting::kPerEdge)
      entry.weight = widen(load_streaming(args.weight + edge));
    return entry;
  }
  /// Each lane of the group loads one of the first entries of a row of `length` nonzeros.
  __device__ Entry load_first_entry(std::int64_t begin, int length) const {
    return member < length ? load_entry(begin + member) : Entry();
  }
  /// What lane `source` of the warp has, or `source` of the kWidth lanes that this lane is in.
  template <int kWidth = kWarp, class Value>
  __device__ Value of_lane(Value value, int source) const {
    return __shfl_sync(kFullMask, value, source, kWidth);
  }
  /// What lane `source` of this group has.
  template <class Value>
  __device__ Value of_member(Value value, int source) const {
    return of_lane<Tile::kLanes>(value, source);
  }
  /// The entry that lane `source` of the warp loaded.
  __device__ Entry entry_of_lane(const Entry& entry, int source) const {
    Entry out;
    out.col = of_lane(entry.col, source);
    if constexpr (Tile::kWeighting == Weighting::kPerEdge) out.weight = of_lane(entry.weight, source);
    return out;
  }
  /// The entry that lane `source` of this group loaded.
  __device__ Entry entry_of_member(const Entry& entry, int source) const {
    Entry out;
    out.col = of_member(entry.col, source);
    if constexpr (Tile::kWeighting == Weighting::kPerEdge) out.weight = of_member(entry.weight, source);
    return out;
  }

  /// kWideProduct: the position is computed by wide_product(). Which way is faster depends on the loop.
  template <bool kWideProduct = true>
  __device__ Row load_row(std::int32_t col) const {
    using Load = typename Tile::Load;
    const auto c = static_cast<std::uint32_t>(col);
    const std::uint64_t at =
        kWideProduct ? wide_product(c, args.row_bytes) : std::uint64_t{c} * args.row_bytes;
    Row row;
#pragma unroll
    for (int l = 0; l < Tile::kLoads; ++l)
      row.load[l] =
          reinterpret_cast<const Load*>(x[Tile::kRagged && l == Tile::kLoads - 1] + at)[l * Tile::kLanes];
    return row;
  }
  /// The edge weight for this lane's columns.
  __device__ Sum load_weight(const Entry& entry, std::int64_t edge) const {
    if constexpr (Tile::kWeighting == Weighting::kPerHead)
      return widen(args.weight[edge * args.heads + head]);
    else
      return entry.weight;
  }
};

}  // namespace rodeo::kernels::cuda
