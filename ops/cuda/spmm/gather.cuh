/// What the sparse kernels share: how a warp gathers rows of X and sums them.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "core/cuda/launch.cuh"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/spmm/padded_rows.h"
#include "ops/kernels/registry.h"
#include "ops/plan/row_clusters.h"

namespace rodeo::kernels::cuda {

using namespace rodeo::cuda;

/// As many pieces of work in turn, up to `most`, as leave every multiprocessor several times the warps that
/// it holds; `warps` would do one each.
inline int rounds_for(std::int64_t warps, std::int64_t most, Device device) {
  constexpr std::int64_t kWarpsOfMultiprocessor = 64;
  const std::int64_t enough = kWarpsOfMultiprocessor * Context::of(device).num_multiprocessors();
  return static_cast<int>(std::clamp<std::int64_t>(warps / enough, 1, most));
}

enum class Weighting { kNone, kPerEdge, kPerHead };

/// A @ X for one tile of columns. A row of X is covered by kLanes lanes of kChunks times 16 bytes each; the
/// warp's 32 / kLanes groups of lanes work on different nonzeros or rows.
/// A ragged tile's last chunk may be beyond the last column (of two chunks, both). With kVec 1 a lane reads
/// one element instead of 16 bytes: rows of X and Y may begin anywhere, and have no padding.
template <class T_, int kLanes_, Weighting kWeighting_, int kChunks_ = 1, bool kRagged_ = false,
          int kVec_ = 16 / sizeof(T_)>
struct Tile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kVec = kVec_, kLanes = kLanes_, kGroups = kWarp / kLanes_;
  static_assert(kVec == 16 / sizeof(T) || kVec == 1);
  using Element = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
  using Load = std::conditional_t<kVec == 1, Element, uint4>;
  static constexpr int kChunks = kChunks_, kChunk = kVec * kLanes;
  static constexpr int kWidth = kChunk * kChunks, kSums = kVec * kChunks;
  static constexpr Weighting kWeighting = kWeighting_;
  static constexpr bool kRagged = kRagged_;
  using AsRagged = Tile<T_, kLanes_, kWeighting_, kChunks_, (kChunks_ > 1), kVec_>;  // takes any columns
};

/// X is [cols, heads, pitch] with pitch a multiple of 16 bytes (for tiles of kVec 1: k), of which k columns
/// count; Y is [rows, heads, k].
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

/// Whether lanes write Y as wide as they read X, not by way of shared memory.
template <class Tile>
__host__ __device__ __forceinline__ bool writes_loads(const SpmmArgs<typename Tile::T>& args) {
  return Tile::kVec == 1 || args.whole_vectors;
}

/// One warp's view of its column tile.
template <class Tile>
struct Gather {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  struct Row {  // raw until it is added: unpacked, 16-bit elements would take twice the registers
    typename Tile::Load chunk[Tile::kChunks];
  };

  const SpmmArgs<T>& args;
  const int lane = threadIdx.x % kWarp;
  const int group = lane / Tile::kLanes;
  const int member = lane % Tile::kLanes;
  const std::int64_t tile = args.first + static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth;
  const std::int64_t column = tile + member * Tile::kVec;  // of chunk 0
  // Row 0 as chunks see it, the second for the last one. A lane beyond the last column reads the last one
  // again: no load waits for a condition.
  const char* x[Tile::kRagged ? 2 : 1];
  const std::int64_t head = Tile::kWeighting == Weighting::kPerHead && active(0) ? head_of(column) : 0;
  Sum sum[Tile::kSums] = {};
  // Lanes to read from are constants and need no registers: 2 to 4 % where two loads a row need most; tiles
  // of one load spill with them (CUDA 13.0) and lose up to 12 %.
  static constexpr bool kConstantLanes = Tile::kChunks == 2;

  __device__ explicit Gather(const SpmmArgs<T>& a) : args(a) {
    const auto seen_from_chunk = [&](int c) {
      return reinterpret_cast<const char*>(
          args.x + (active(c) ? column : args.stride - Tile::kVec - c * Tile::kChunk));
    };
    x[0] = seen_from_chunk(0);
    if constexpr (Tile::kRagged) x[1] = seen_from_chunk(Tile::kChunks - 1);
  }
  /// Columns of a row have 31 bits (make_args).
  __device__ std::int64_t head_of(std::int64_t of_row) const {
    return args.heads == 1 ? 0 : static_cast<std::uint32_t>(of_row) / static_cast<std::uint32_t>(args.pitch);
  }
  __device__ bool active(int chunk) const {
    // One head without padding: stride is k. k is in a register anyway, stride would take another, and 5 % of
    // the time (products-like, 41 columns).
    const std::int64_t columns = Tile::kRagged && Tile::kVec == 1 ? args.k : args.stride;
    return column + (Tile::kRagged ? chunk * Tile::kChunk : 0) < columns;
  }

  /// The sparse data of one nonzero, held by the lane that loaded it. Weights of heads are not: every lane
  /// reads that of its own head, along with the row of X.
  struct Entry {
    std::int32_t col = 0;
    Sum weight = 0;
  };
  __device__ Entry fetch(std::int64_t e) const {
    Entry entry;
    entry.col = load_streaming(args.col + e);
    if constexpr (Tile::kWeighting == Weighting::kPerEdge)
      entry.weight = widen(load_streaming(args.weight + e));
    return entry;
  }
  template <int kOf = kWarp>  // lanes of the warp
  __device__ Entry from_lane(const Entry& entry, int source) const {
    Entry out;
    out.col = __shfl_sync(kFullMask, entry.col, source, kOf);
    if constexpr (Tile::kWeighting == Weighting::kPerEdge)
      out.weight = __shfl_sync(kFullMask, entry.weight, source, kOf);
    return out;
  }
  /// That of a lane of this group.
  __device__ Entry from_member(const Entry& entry, int source) const {
    if constexpr (kConstantLanes) return from_lane<Tile::kLanes>(entry, source);
    return from_lane(entry, group * Tile::kLanes + source);
  }
  __device__ Row row_of_x(std::int32_t col) const {
    using Load = typename Tile::Load;
    const std::uint64_t at = static_cast<std::uint64_t>(static_cast<std::uint32_t>(col)) * args.row_bytes;
    Row row;
#pragma unroll
    for (int c = 0; c < Tile::kChunks; ++c)
      row.chunk[c] =
          reinterpret_cast<const Load*>(x[Tile::kRagged && c == Tile::kChunks - 1] + at)[c * Tile::kLanes];
    return row;
  }
  /// What this lane multiplies its part of the row by.
  __device__ Sum weight_of(const Entry& entry, std::int64_t e) const {
    if constexpr (Tile::kWeighting == Weighting::kPerHead)
      return widen(args.weight[e * args.heads + head]);
    else
      return entry.weight;
  }
  struct Elements {
    T value[Tile::kSums];
  };
  __device__ void add(const Row& row, Sum weight) {
    const auto elements = std::bit_cast<Elements>(row);
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) {
      if constexpr (Tile::kWeighting != Weighting::kNone)
        sum[v] += weight * widen(elements.value[v]);
      else
        sum[v] += widen(elements.value[v]);
    }
  }

  template <int kRows>
  __device__ void add_rows(const Row (&row)[kRows], const Sum (&weight)[kRows]) {
#pragma unroll
    for (int k = 0; k < kRows; ++k) add(row[k], weight[k]);
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
  __device__ void sum_row(std::int64_t begin, std::int64_t length) {
    sum_row(begin, length, first_of_row(begin, length),
            [this](const auto& row, const auto& weight) { add_rows(row, weight); });
  }
  // Rows of X in flight: with more, fewer warps fit.
  static constexpr int kStep = Tile::kVec > 1 ? 4 : std::max(2, 8 / Tile::kChunks);
  template <class AddRows>
  __device__ void sum_row(std::int64_t begin, std::int64_t length, Entry next, AddRows&& add_rows) {
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
          const Entry entry = from_member(now, j + k);
          const std::int64_t at = base + j + k;
          row[k] = Row{};
          weight[k] = 0;
          if (at < length) row[k] = row_of_x(entry.col), weight[k] = weight_of(entry, begin + at);
        }
        add_rows(row, weight);
      }
    }
  }

  /// Called by whole warps; `valid` lanes write.
  __device__ void write_y(std::int64_t row, bool valid) const {
    T* y = args.y + row * args.heads * args.k;
    if (writes_loads<Tile>(args)) {
#pragma unroll
      for (int c = 0; c < Tile::kChunks; ++c)
        if (valid && active(c))
          *reinterpret_cast<Pack<T, Tile::kVec>*>(y + column + c * Tile::kChunk) = result(c);
    } else {
      write_staged(y, valid);
    }
  }
  __device__ Pack<T, Tile::kVec> result(int chunk) const {
    Pack<T, Tile::kVec> out;
#pragma unroll
    for (int v = 0; v < Tile::kVec; ++v) out.value[v] = static_cast<T>(sum[chunk * Tile::kVec + v]);
    return out;
  }
  /// Where Y's rows begin anywhere, lanes write neighbours side by side, by way of shared memory.
  __device__ void write_staged(T* y, bool valid) const {
    extern __shared__ uint4 staged_rows[];
    T* const staged = reinterpret_cast<T*>(staged_rows) + threadIdx.x / Tile::kLanes * Tile::kWidth;
#pragma unroll
    for (int c = 0; c < Tile::kChunks; ++c)
      *reinterpret_cast<Pack<T, Tile::kVec>*>(staged + c * Tile::kChunk + member * Tile::kVec) = result(c);
    __syncwarp();
    if (args.heads == 1) {
      const int columns = valid ? static_cast<int>(min(args.k - tile, std::int64_t{Tile::kWidth})) : 0;
#pragma unroll
      for (int i = 0; i < Tile::kSums; ++i) {
        const int at = i * Tile::kLanes + member;
        if (at < columns) y[tile + at] = staged[at];
      }
    } else if (valid) {
#pragma unroll 1
      for (int at = member; at < Tile::kWidth; at += Tile::kLanes) {
        const std::int64_t part = head_of(tile + at), first = tile + at - part * args.pitch;
        if (tile + at < args.stride && first < args.k) y[part * args.k + first] = staged[at];
      }
    }
    __syncwarp();  // the next row may be staged
  }
};

/// Shared memory that a block of `threads` asks for.
template <class Tile>
std::size_t staging_bytes(const SpmmArgs<typename Tile::T>& args, int threads) {
  return writes_loads<Tile>(args) ? 0 : static_cast<std::size_t>(threads) * Tile::kChunks * 16;
}

/// Rows of x are heads * pitch elements long.
template <class T>
SpmmArgs<device_t<T>> make_args(const Csr& a, const Tensor& weight, const Tensor& x, std::int64_t pitch,
                                std::int64_t heads, std::int64_t k, const Tensor& y) {
  using D = device_t<T>;
  const std::int64_t stride = heads * pitch, row_bytes = stride * static_cast<std::int64_t>(sizeof(T));
  check(row_bytes <= std::numeric_limits<std::int32_t>::max(), "[spmm] a row of x may take 2 GiB, got ",
        row_bytes, " bytes");
  return {a.row_ptr.data<std::int64_t>(),
          a.col.data<std::int32_t>(),
          weight.defined() ? reinterpret_cast<const D*>(weight.data<T>()) : nullptr,
          reinterpret_cast<const D*>(x.data<T>()),
          reinterpret_cast<D*>(y.data<T>()),
          a.rows,
          heads,
          k,
          pitch,
          stride,
          static_cast<std::uint32_t>(row_bytes),
          0,
          pitch == k && is_aligned(y)};
}

/// Calls f with what weights [edges] or [edges, heads], or their absence, make of a Tile.
template <class F>
void dispatch_weighting(const Tensor& weight, F&& f) {
  if (!weight.defined())
    f.template operator()<Weighting::kNone>();
  else if (weight.rank() == 2)
    f.template operator()<Weighting::kPerHead>();
  else
    f.template operator()<Weighting::kPerEdge>();
}

/// Calls f(Tile{}, args, tiles) for launches that cover the columns of Y.
/// Rows of X that do not begin at multiples of 16 bytes are copied to where they do: that costs columns x k,
/// the sum costs edges x k.
///
/// A row is read 128 bytes at a time, and what is then left of 64 or less by a tile of its own. With kWider,
/// 256 bytes at a time by two loads a lane: rows are begun and ended half as often, which counts where they
/// are short or X comes from the L2. Where rows share an L1 (clusters), tiles of 128 bytes find more of them
/// there, and the wider one, ragged, only takes the place of two launches.
template <class T, bool kWider, class F>
void dispatch_tile(const Csr& a, const Tensor& weight, const Tensor& x, const Tensor& y, F&& f) {
  using D = device_t<T>;
  const std::int64_t heads = heads_of(weight), k = y.numel() / (a.rows * heads);
  const PaddedRows padded(x, heads, k);
  SpmmArgs<D> args = make_args<T>(a, weight, padded.x, padded.pitch, heads, k, y);
  dispatch_weighting(weight, [&]<Weighting kWeighting>() {
    using Wide = Tile<D, 8, kWeighting>;
    using Narrow = Tile<D, 4, kWeighting>;
    const auto left = [&] { return (args.stride - args.first) / Wide::kVec; };  // in units of 16 bytes
    const auto cover = [&]<class Tile>(Tile tile, std::int64_t tiles) {
      if (tiles > 0) f(tile, args, tiles);
      args.first += tiles * Tile::kWidth;
    };
    if constexpr (kWider && kWeighting != Weighting::kPerHead) {
      using Wider = Tile<D, 8, kWeighting, 2>;
      using Ragged = Tile<D, 8, kWeighting, 2, true>;
      const std::int64_t begun = left() % 8, of_wider = left() % 16;
      if (!RowClusters::should_use(a.rows, a.cols, a.col.numel())) {
        if (of_wider > 8) return cover(Ragged{}, ceil_div(left(), 16));
        cover(Wider{}, left() / 16);
      } else if (left() > 8 && 0 < begun && begun <= 4) {
        cover(Wide{}, left() / 8 - 1);
        return cover(Ragged{}, 1);
      }
    }
    cover(Wide{}, left() / 8 + (left() % 8 > 4));
    if (left() > 0) cover(Narrow{}, 1);
  });
}

}  // namespace rodeo::kernels::cuda
