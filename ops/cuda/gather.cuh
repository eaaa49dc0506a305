/// What the sparse kernels share: how a warp gathers rows of X and sums them.
#pragma once

#include <bit>
#include <limits>

#include "core/cuda/launch.cuh"
#include "ops/cuda/pack.cuh"
#include "ops/cuda/padded_rows.h"
#include "ops/kernels.h"
#include "ops/row_clusters.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// Indices and weights are read once: they must not push rows of X out of the L1.
template <class T>
__device__ __forceinline__ T load_once(const T* p) {
  return __ldcs(p);
}

enum class Weighting { kNone, kPerEdge, kPerHead };

/// A @ X for one tile of columns. A row of X is covered by kLanes lanes of kChunks times 16 bytes each; the
/// warp's 32 / kLanes groups of lanes work on different nonzeros or rows.
template <class T_, int kLanes_, Weighting kWeighting_, int kChunks_ = 1>
struct Tile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kVec = 16 / sizeof(T), kLanes = kLanes_, kGroups = kWarp / kLanes_;
  static constexpr int kChunks = kChunks_, kChunk = kVec * kLanes;
  static constexpr int kWidth = kChunk * kChunks, kSums = kVec * kChunks;
  static constexpr Weighting kWeighting = kWeighting_;
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
  std::int64_t stride;      // heads * pitch
  std::uint32_t row_bytes;  // the same in bytes
  std::int64_t first;       // column where this launch begins
  bool whole_vectors;       // Y can be written 16 bytes at a time
};

/// One warp's view of its column tile.
template <class Tile>
struct Gather {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  struct Row {  // raw until it is added: unpacked, 16-bit elements would take twice the registers
    uint4 chunk[Tile::kChunks];
  };

  const SpmmArgs<T>& args;
  const int lane = threadIdx.x % kWarp;
  const int group = lane / Tile::kLanes;
  const int member = lane % Tile::kLanes;
  const std::int64_t column =
      args.first + static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth + member * Tile::kVec;
  const bool active = column < args.stride;
  // A lane beyond the last column reads the last one again: no load waits for a condition.
  const char* x = reinterpret_cast<const char*>(args.x + (active ? column : args.stride - Tile::kVec));
  const std::int64_t head = Tile::kWeighting == Weighting::kPerHead && active ? column / args.pitch : 0;
  Sum sum[Tile::kSums] = {};

  __device__ explicit Gather(const SpmmArgs<T>& a) : args(a) {}

  /// The sparse data of one nonzero, held by the lane that loaded it. Weights of heads are not: every lane
  /// reads that of its own head, along with the row of X.
  struct Entry {
    std::int32_t col = 0;
    Sum weight = 0;
  };
  __device__ Entry fetch(std::int64_t e) const {
    Entry entry;
    entry.col = load_once(args.col + e);
    if constexpr (Tile::kWeighting == Weighting::kPerEdge) entry.weight = widen(load_once(args.weight + e));
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
    const auto* from = reinterpret_cast<const uint4*>(
        x + static_cast<std::uint64_t>(static_cast<std::uint32_t>(col)) * args.row_bytes);
    Row row;
#pragma unroll
    for (int c = 0; c < Tile::kChunks; ++c) row.chunk[c] = from[c * Tile::kLanes];
    return row;
  }
  /// What this lane multiplies its part of the row by.
  __device__ Sum weight_of(const Entry& entry, std::int64_t e) const {
    if constexpr (Tile::kWeighting == Weighting::kPerHead)
      return widen(args.weight[e * args.heads + head]);
    else
      return entry.weight;
  }
  __device__ void add(const Row& row, Sum weight) {
    const auto elements = std::bit_cast<Pack<T, Tile::kSums>>(row);
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) {
      if constexpr (Tile::kWeighting != Weighting::kNone)
        sum[v] += weight * widen(elements.value[v]);
      else
        sum[v] += widen(elements.value[v]);
    }
  }

  /// Every group sums a row of its own: nonzeros [begin, begin + length), in order. Long rows are added up
  /// from sums of a piece's length, so that the rounding error of a hub stays that of a short row.
  __device__ void sum_long_row(std::int64_t begin, std::int64_t length) {
    Sum total[Tile::kSums] = {};
    for (std::int64_t at = 0; __any_sync(kFullMask, at < length); at += RodePlan::kSplit) {
      const std::int64_t left = length - at;
      sum_row(begin + at, left < RodePlan::kSplit ? left : RodePlan::kSplit);
#pragma unroll
      for (int v = 0; v < Tile::kSums; ++v) total[v] += sum[v], sum[v] = 0;
    }
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) sum[v] = total[v];
  }

  /// What sum_row begins with: a nonzero for every lane of the group.
  __device__ Entry first_of_row(std::int64_t begin, std::int64_t length) const {
    return member < length ? fetch(begin + member) : Entry();
  }
  /// The same for one piece.
  __device__ void sum_row(std::int64_t begin, std::int64_t length) {
    sum_row(begin, length, first_of_row(begin, length));
  }
  __device__ void sum_row(std::int64_t begin, std::int64_t length, Entry next) {
    constexpr int kStep = 4;  // rows of X in flight: with more, fewer warps fit
    for (std::int64_t base = 0; __any_sync(kFullMask, base < length); base += Tile::kLanes) {
      const Entry now = next;
      const std::int64_t ahead = base + Tile::kLanes + member;
      next = ahead < length ? fetch(begin + ahead) : Entry();
#pragma unroll
      for (int j = 0; j < Tile::kLanes; j += kStep) {
        if (!__any_sync(kFullMask, base + j < length)) break;
        Row row[kStep];
        Sum weight[kStep];
#pragma unroll
        for (int k = 0; k < kStep; ++k) {
          const Entry entry = from_lane(now, group * Tile::kLanes + j + k);
          const std::int64_t at = base + j + k;
          row[k] = Row{};
          weight[k] = 0;
          if (at < length) row[k] = row_of_x(entry.col), weight[k] = weight_of(entry, begin + at);
        }
#pragma unroll
        for (int k = 0; k < kStep; ++k) add(row[k], weight[k]);
      }
    }
  }

  __device__ void write_y(std::int64_t row) const {
    T* y = args.y + row * args.heads * args.k;
    if (args.whole_vectors) {
#pragma unroll
      for (int c = 0; c < Tile::kChunks; ++c) {
        Pack<T, Tile::kVec> out;
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v) out.value[v] = static_cast<T>(sum[c * Tile::kVec + v]);
        if (active) *reinterpret_cast<Pack<T, Tile::kVec>*>(y + column + c * Tile::kChunk) = out;
      }
    } else if (active) {  // passing elements to the lanes that would write them side by side costs more than
                          // it saves
      const std::int64_t part = args.heads == 1 ? 0 : column / args.pitch, first = column - part * args.pitch;
      y += part * args.k;
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v)
        if (first + v < args.k) y[first + v] = static_cast<T>(sum[v]);
    }
  }
};

template <class T>
SpmmArgs<device_t<T>> make_args(const Csr& a, const Tensor& weight, const PaddedRows& x, std::int64_t heads,
                                std::int64_t k, const Tensor& y) {
  using D = device_t<T>;
  const std::int64_t stride = heads * x.pitch, row_bytes = stride * static_cast<std::int64_t>(sizeof(T));
  check(row_bytes <= std::numeric_limits<std::int32_t>::max(), "[spmm] a row of x may take 2 GiB, got ",
        row_bytes, " bytes");
  return {a.row_ptr.data<std::int64_t>(),
          a.col.data<std::int32_t>(),
          weight.defined() ? reinterpret_cast<const D*>(weight.data<T>()) : nullptr,
          reinterpret_cast<const D*>(x.x.data<T>()),
          reinterpret_cast<D*>(y.data<T>()),
          a.rows,
          heads,
          k,
          x.pitch,
          stride,
          static_cast<std::uint32_t>(row_bytes),
          0,
          x.pitch == k && is_aligned(y)};
}

/// 256 bytes of a row at a time begin and end a row half as often, which counts where rows are short or X
/// comes from the L2; where rows share an L1, tiles of 128 bytes find more of them there.
template <class T>
bool wider_pays(const Csr& a, const SpmmArgs<T>& args) {
  return args.row_bytes >= 256 && !RowClusters::pays(a.rows, a.cols, a.col.numel());
}

/// Calls f(Tile{}, args, tiles) for the column tiles of Y: 128 bytes of a row at a time (narrower tiles cost
/// more requests, wider ones caught fewer repeats in the L1), then one of 64 bytes if it holds what is left.
/// With kWider, tiles of 256 bytes where wider_pays and all of Y is made of them.
/// Rows of X that do not begin at multiples of 16 bytes are copied to where they do: that costs columns x k,
/// the sum costs edges x k.
template <class T, bool kWider, class F>
void dispatch_tile(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y, F&& f) {
  using D = device_t<T>;
  const bool per_head = weight.defined() && weight.rank() == 2;
  const std::int64_t heads = per_head ? weight.dim(1) : 1, k = y.numel() / (a.rows * heads);
  const PaddedRows padded(x, heads, k);
  SpmmArgs<D> args = make_args<T>(a, weight, padded, heads, k, y);
  const auto with_lanes = [&]<Weighting kWeighting>() {
    using Wide = Tile<D, 8, kWeighting>;
    using Narrow = Tile<D, 4, kWeighting>;
    if constexpr (kWider && kWeighting != Weighting::kPerHead) {
      using Wider = Tile<D, 8, kWeighting, 2>;
      if (wider_pays(a, args) && args.stride % Wider::kWidth == 0 && args.whole_vectors)
        return f(Wider{}, args, args.stride / Wider::kWidth);
    }
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
