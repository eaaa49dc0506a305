/// How the lanes of a warp share the heads of a row: the tile of fused attention with scores from vectors
/// (edge_walk.cuh).
#pragma once

#include <bit>

#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/padded_rows.cuh"
#include "ops/plan/attention_config.h"

namespace rodeo::kernels::cuda {

/// A group of kLanes lanes has all lanes of one or several heads of an edge, kLoads loads of 16 bytes a lane:
/// each load reads consecutive addresses of a head. The groups of a warp work on different edges or rows. A
/// head has kHeadLanes lanes, a power of two; 0 where the number is known at run time alone. Tiles of several
/// heads are kShared. In kWhole tiles no lane reads past the end of a head.
template <class T_, int kLanes_, int kHeadLanes_ = kLanes_, int kLoads_ = 1, bool kWhole_ = false>
struct HeadTile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kLanes = kLanes_, kHeadLanes = kHeadLanes_, kGroups = kWarp / kLanes;
  static constexpr int kVec = 16 / sizeof(T), kLoads = kLoads_, kValues = kLoads * kVec;
  static constexpr bool kShared = kHeadLanes != kLanes, kWhole = kWhole_;
  static_assert(!kWhole || kHeadLanes > 0, "the second load of a whole head is at a constant distance");
  struct alignas(16) Part {
    T value[kValues];
  };
};

/// Rows of heads that are gathered: [nodes, heads, pitch], of which `width` elements of a head are read. A
/// pitch is a multiple of 16 bytes.
template <class T>
struct HeadRows {
  const T* data = nullptr;
  int pitch = 0, width = 0;
  std::uint32_t row_bytes = 0;

  HeadRows() = default;
  HeadRows(const PaddedRows& x, std::int64_t heads, std::int64_t k)
      : data(device_data<T>(x.x)),
        pitch(static_cast<int>(x.pitch)),
        width(static_cast<int>(k)),
        row_bytes(static_cast<std::uint32_t>(heads * x.pitch * sizeof(T))) {}
};

/// Rows that are written: [rows, heads, width]. A lane writes `values` elements.
template <class T>
struct HeadOutput {
  T* data = nullptr;
  int width = 0;
  bool whole_vectors = false;

  HeadOutput() = default;
  HeadOutput(const Tensor& x, int values)
      : data(device_data<T>(x)),
        width(static_cast<int>(x.dim(2))),
        whole_vectors(width % values == 0 && is_aligned(x, values * sizeof(T))) {}
};

/// The values of a head that a lane holds, in the type of sums.
template <class Tile>
struct HeadValues {
  typename Tile::Sum value[Tile::kValues] = {};

  HeadValues() = default;
  __device__ explicit HeadValues(const typename Tile::Part& part) {
#pragma unroll
    for (int i = 0; i < Tile::kValues; ++i) value[i] = widen(part.value[i]);
  }
};

/// Read by lanes past the end of a head.
[[maybe_unused]] static __device__ const uint4 kNothing{};

/// A lane's columns of rows that are gathered.
template <class Tile>
struct HeadColumn {
  using Part = typename Tile::Part;
  static constexpr int kColumns = Tile::kWhole ? 1 : Tile::kLoads;
  static constexpr int kDistance = 16 * Tile::kHeadLanes;  // of the loads of a whole head
  const char* first[kColumns];                             // of row 0
  std::uint32_t row_bytes[kColumns];  // 0 for a load past the end of a head, which reads zeros

  template <class Row>
  __device__ __forceinline__ Part operator[](Row row) const {
    struct alignas(16) Loads {
      uint4 load[Tile::kLoads];
    } loads;
#pragma unroll
    for (int l = 0; l < Tile::kLoads; ++l) {
      const int c = l % kColumns;
      loads.load[l] = *reinterpret_cast<const uint4*>(
          first[c] + static_cast<std::uint64_t>(row) * row_bytes[c] + (l - c) * kDistance);
    }
    return std::bit_cast<Part>(loads);
  }
};

/// Where a lane stands: its head, and its place in it.
///
/// Sums over a head and what follows from them are computed for each edge by one lane: of kCount edges in
/// flight, lane l of a head owns edge l modulo kCount. In shared tiles a head may have fewer lanes than there
/// are edges: every lane owns all of them.
template <class Tile>
struct HeadPlace {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Part = typename Tile::Part;
  static constexpr int kValues = Tile::kValues;

  int lanes;       // of a head, a power of two
  int first_head;  // of the tile
  int bit;         // head - first_head
  int head;        // at most heads - 1
  int in_head;
  bool active;  // lanes past the last head read it again and write nothing

  __device__ HeadPlace(int lanes_of_head, int heads)
      : lanes(Tile::kHeadLanes > 0 ? Tile::kHeadLanes : lanes_of_head) {
    const int member = threadIdx.x % Tile::kLanes, shift = 31 - __clz(lanes);
    first_head = static_cast<int>(blockIdx.y) * (Tile::kLanes >> shift);
    bit = member >> shift;
    in_head = member & (lanes - 1);
    active = first_head + bit < heads;
    head = active ? first_head + bit : heads - 1;
  }
  __device__ int heads_in_tile(int heads) const { return min(Tile::kLanes / lanes, heads - first_head); }
  /// Where the lane's i-th value is in its head.
  __device__ int offset(int i) const {
    return (i / Tile::kVec * lanes + in_head) * Tile::kVec + i % Tile::kVec;
  }

  __device__ HeadColumn<Tile> column(const HeadRows<T>& rows) const {
    HeadColumn<Tile> column;
#pragma unroll
    for (int l = 0; l < HeadColumn<Tile>::kColumns; ++l) {
      const int at = offset(l * Tile::kVec);
      const bool inside = Tile::kWhole || at < rows.width;
      column.first[l] = reinterpret_cast<const char*>(inside ? rows.data + head * rows.pitch + at
                                                             : reinterpret_cast<const T*>(&kNothing));
      column.row_bytes[l] = inside ? rows.row_bytes : 0;
    }
    return column;
  }
  /// The lane's part of row `row`, which may pass 2^32.
  __device__ Part load(const HeadRows<T>& rows, std::int64_t row) const {
    return column(rows)[row];
  }
  /// Writes values times factor to row `row`.
  template <class U>
  __device__ void store(const HeadOutput<U>& out, std::int64_t row, int heads, const HeadValues<Tile>& values,
                        Sum factor) const {
    if (!active) return;
#pragma unroll
    for (int l = 0; l < Tile::kLoads; ++l) {
      const int at = offset(l * Tile::kVec);
      if (at >= out.width) break;
      U* const to = out.data + (row * heads + head) * out.width + at;
      Pack<U, Tile::kVec> part;
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v)
        part.value[v] = static_cast<U>(values.value[l * Tile::kVec + v] * factor);
      if (out.whole_vectors) {
        *reinterpret_cast<Pack<U, Tile::kVec>*>(to) = part;
      } else {
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v)
          if (at + v < out.width) to[v] = part.value[v];
      }
    }
  }

  template <int kCount>
  static constexpr int kOwned = Tile::kShared ? kCount : 1;
  /// Which of the edges in flight the lane's i-th one is.
  template <int kCount>
  __device__ int owned(int i) const {
    return Tile::kShared ? i : in_head & (kCount - 1);
  }
  /// Sums x[d] over the lanes of the head, for the edges d that the lane owns.
  template <int kCount>
  __device__ __forceinline__ void sum_over_head(Sum (&x)[kCount], Sum (&sum)[kOwned<kCount>]) const {
    if constexpr (Tile::kShared) {
#pragma unroll
      for (int offset = 1; offset < (Tile::kHeadLanes > 0 ? Tile::kHeadLanes : lanes); offset *= 2)
#pragma unroll
        for (int d = 0; d < kCount; ++d) x[d] += __shfl_xor_sync(kFullMask, x[d], offset);
#pragma unroll
      for (int d = 0; d < kCount; ++d) sum[d] = x[d];
    } else {
#pragma unroll
      for (int width = kCount / 2; width > 0; width /= 2) {
        const bool upper = in_head & width;
#pragma unroll
        for (int d = 0; d < width; ++d) {
          const Sum given = upper ? x[d] : x[d + width], kept = upper ? x[d + width] : x[d];
          x[d] = kept + __shfl_xor_sync(kFullMask, given, width);
        }
      }
#pragma unroll
      for (int offset = kCount; offset < Tile::kLanes; offset *= 2)
        x[0] += __shfl_xor_sync(kFullMask, x[0], offset);
      sum[0] = x[0];
    }
  }
  /// Combines numbers of lanes that own different edges, by `combine`.
  template <int kCount, class F>
  __device__ __forceinline__ Sum over_owners(Sum x, F&& combine) const {
    if constexpr (!Tile::kShared)
#pragma unroll
      for (int offset = kCount / 2; offset > 0; offset /= 2)
        x = combine(x, __shfl_xor_sync(kFullMask, x, offset));
    return x;
  }
  /// The number of edge d, which its owner has.
  template <int kCount>
  __device__ __forceinline__ Sum from_owner(const Sum (&x)[kOwned<kCount>], int d) const {
    if constexpr (Tile::kShared)
      return x[d];
    else
      return __shfl_sync(kFullMask, x[0], d, Tile::kLanes);
  }
};

}  // namespace rodeo::kernels::cuda
