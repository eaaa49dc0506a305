/// How a warp computes dots of rows, a batch of edges at a time.
///
/// A group of lanes covers one head of a row, 16 bytes per lane and chunk. Groups side by side take the heads
/// of an edge; a team of such groups takes one edge. A lane sums its part of the dots of several edges. The
/// parts are transposed while they are reduced: in every exchange a lane sends half of its edges and receives
/// the other half of those that it keeps. So 8 dots over 8 lanes cost 7 shuffles, not 24, and end one per
/// lane, ready for a coalesced store. All rows of a step are loaded at once, columns one batch ahead. Other
/// warps hide the remaining latency, so a lane has few registers.
#pragma once

#include <bit>

#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/rode/tile.cuh"

namespace rodeo::kernels::cuda {

constexpr int kChunkBytes = 16;

/// SddmmTile as a type (ops/plan/sddmm_config.h). A group computes a batch of kEdges dots before it stores.
/// kByEdges: edges of a batch may have different rows, and b1 is loaded as b2 is; else they have one row,
/// whose b1 stays in registers.
template <class T_, int kLanes_, int kChunks_, bool kByEdges_>
struct DotTile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr bool kByEdges = kByEdges_;
  static constexpr int kVec = kChunkBytes / sizeof(T), kLanes = kLanes_, kChunks = kChunks_;
  static constexpr int kGroups = kWarp / kLanes;
  static constexpr int kEdges = 8;                                 // of a batch of a group
  static constexpr int kUnit = kLanes < kEdges ? kLanes : kEdges;  // consecutive edges
  static constexpr int kResults = kEdges / kUnit;                  // dots that a lane stores
  static constexpr int kLoadsPerStep = 8;                          // of b2, by a lane
  static constexpr int kDepth = kLoadsPerStep / kChunks;           // edges of a step
  static constexpr int kSteps = kEdges / kDepth;
  static_assert(kDepth <= kEdges && kDepth * kSteps == kEdges, "a batch is a whole number of steps");
};

/// a * b in one instruction. In C++ the compiler widens a factor outside of the loop and multiplies 64 bits.
/// With two and more chunks its schedule is better all the same.
template <int kChunks>
__device__ __forceinline__ std::uint64_t wide_product(std::uint32_t a, std::uint32_t b) {
  if constexpr (kChunks > 1) return a * static_cast<std::uint64_t>(b);
  std::uint64_t out;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(out) : "r"(a), "r"(b));
  return out;
}

template <class T, class Sum>
struct DotArgs {
  const std::int32_t* col;
  const std::int32_t* row;    // [edges]; only read by edges
  const T *b1, *b2, *weight;  // weight may be null
  std::int64_t k;             // elements of a head of b1
  std::int64_t b2_pitch;      // elements from a head of b2 to the next
  std::uint32_t b1_row_bytes, b2_row_bytes;
  std::int64_t first;     // element of a head where the slice begins
  int chunks;             // of the slice, at most kLanes * kChunks
  int heads, warp_heads;  // all, and those of a warp
  bool b1_is_aligned;     // rows of b1 can be read 16 bytes at a time
  const Sum* before;      // [edges, heads] dots of the slices before, or null
  Sum* partial;           // the dots so far, if slices follow, or null
  T* out;                 // [edges, heads]
};

template <class Tile>
struct Dot {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  static constexpr int kLanes = Tile::kLanes, kChunks = Tile::kChunks, kEdges = Tile::kEdges;
  static constexpr int kVec = Tile::kVec, kDepth = Tile::kDepth;

  const DotArgs<T, Sum>& args;
  const int lane = threadIdx.x % kWarp;
  const int group = lane / kLanes, member = lane % kLanes;
  const int teams = Tile::kGroups / args.warp_heads, team = group / args.warp_heads;
  const int head = blockIdx.y * args.warp_heads + group % args.warp_heads;
  const bool exists = team < teams && head < args.heads;

  // The hot loop loads without conditions, so that nothing waits for a load before its value is used. Past
  // the end it loads the last edge again, in a group without work edge 0, for a chunk past the end of the
  // slice its last one.
  int length = 0;  // edges of this group
  std::int64_t first_edge = 0;
  const char *b1[kChunks], *b2[kChunks];  // this lane's chunks of row 0; b1 only by edges
  bool active[kChunks];                   // false for a chunk past the end of the slice
  Sum own[kChunks][kVec] = {};            // the row of b1, by rows

  struct Ends {  // of edges
    std::int32_t col[Tile::kResults], row[Tile::kResults];
  };
  using Rows = uint4[kDepth][kChunks];  // raw until they are used: widened ones need more registers

  __device__ explicit Dot(const DotArgs<T, Sum>& a) : args(a) {
    const int existing = exists ? head : 0;
    const auto* of_b1 = reinterpret_cast<const char*>(a.b1 + existing * a.k + a.first);
    const auto* of_b2 = reinterpret_cast<const char*>(a.b2 + existing * a.b2_pitch + a.first);
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int chunk = member + c * kLanes, at = min(chunk, a.chunks - 1) * kChunkBytes;
      active[c] = chunk < a.chunks;
      b1[c] = of_b1 + at;
      b2[c] = of_b2 + at;
    }
  }

  __device__ static void unpack(Sum (&out)[kVec], const uint4& raw) {
    const auto chunk = std::bit_cast<Pack<T, kVec>>(raw);
#pragma unroll
    for (int v = 0; v < kVec; ++v) out[v] = widen(chunk.value[v]);
  }

  /// Sets the edges, which may have different rows.
  __device__ void take_edges(std::int64_t begin, int count) {
    if (!exists || count <= 0) return;
    length = count;
    first_edge = begin;
  }
  /// Sets the edges to a part of one row, and loads the row of b1.
  __device__ void take_row(const RodeView::Part& part) {
    if (!exists || part.length == 0) return;
    length = part.length;
    first_edge = part.begin;
    const auto* row = reinterpret_cast<const char*>(args.b1) + part.row * std::int64_t{args.b1_row_bytes};
    const T* head_of_b1 = reinterpret_cast<const T*>(row) + head * args.k;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const std::int64_t column = args.first + (member + c * kLanes) * kVec;
      if (!active[c]) continue;
      if (args.b1_is_aligned) {
        unpack(own[c], *reinterpret_cast<const uint4*>(head_of_b1 + column));
      } else {
#pragma unroll
        for (int v = 0; v < kVec; ++v)
          if (column + v < args.k) own[c][v] = widen(head_of_b1[column + v]);
      }
    }
  }

  /// The ends of a batch, each held by the lane that stores the dot of the edge. Past the end, the last one.
  __device__ Ends load_ends(int at, int span) const {
    const int last = length > 0 ? length - 1 : 0;
    Ends out;
#pragma unroll
    for (int r = 0; r < Tile::kResults; ++r) {
      const std::int64_t edge = first_edge + min(at + r * span + member % Tile::kUnit, last);
      out.col[r] = load_streaming(args.col + edge);
      if constexpr (Tile::kByEdges) out.row[r] = load_streaming(args.row + edge);
    }
    return out;
  }
  __device__ void gather(Rows& out, const char* const (&first)[kChunks], std::uint32_t row_bytes,
                         const std::int32_t (&rows)[Tile::kResults], int step) const {
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const int edge = step * kDepth + d;
      const auto row = static_cast<std::uint32_t>(
          __shfl_sync(kFullMask, rows[edge / Tile::kUnit], edge % Tile::kUnit, kLanes));
      const std::uint64_t at = wide_product<kChunks>(row, row_bytes);
#pragma unroll
      for (int c = 0; c < kChunks; ++c) out[d][c] = *reinterpret_cast<const uint4*>(first[c] + at);
    }
  }
  /// This lane's part of the dots of a batch.
  __device__ void multiply(Sum (&value)[kEdges], const Ends& ends) const {
#pragma unroll
    for (int step = 0; step < Tile::kSteps; ++step) {
      Rows left, right;
      gather(right, b2, args.b2_row_bytes, ends.col, step);
      if constexpr (Tile::kByEdges) gather(left, b1, args.b1_row_bytes, ends.row, step);
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        Sum sum = 0;
#pragma unroll
        for (int c = 0; c < kChunks; ++c) {
          Sum a[kVec], b[kVec], part = 0;
          if constexpr (Tile::kByEdges) unpack(a, left[d][c]);
          unpack(b, right[d][c]);
#pragma unroll
          for (int v = 0; v < kVec; ++v) part += (Tile::kByEdges ? a[v] : own[c][v]) * b[v];
          sum += active[c] ? part : 0;  // the load in its place may be infinite
        }
        value[step * kDepth + d] = sum;
      }
    }
  }
  /// Reduces the parts of kEdges dots to kResults whole dots per lane. All edges have the same order of
  /// additions.
  __device__ void reduce(Sum (&value)[kEdges]) const {
#pragma unroll
    for (int offset = 1; offset < kLanes; offset *= 2) {
      if (offset < kEdges) {
        const bool upper = member & offset;
#pragma unroll
        for (int i = 0; i < kEdges / (2 * offset); ++i) {
          const Sum low = value[2 * i], high = value[2 * i + 1];
          value[i] = (upper ? high : low) + __shfl_xor_sync(kFullMask, upper ? low : high, offset);
        }
      } else {
        value[0] += __shfl_xor_sync(kFullMask, value[0], offset);
      }
    }
  }
  /// Calls f(place in [edges, heads], edge, result) for the dots of a batch that this lane stores.
  template <class F>
  __device__ void for_own_dots(int at, int span, F&& f) const {
#pragma unroll
    for (int r = 0; r < Tile::kResults; ++r) {
      const int of_group = at + r * span + member;
      const std::int64_t edge = first_edge + of_group;
      if (member < kEdges && of_group < length) f(edge * args.heads + head, edge, r);
    }
  }

  /// All batches of the group. A batch has kUnit edges from `at` on, kUnit from at + span on, and so on.
  __device__ void run(int at, int span) {
    const int stride = Tile::kResults * span;
    Ends now = load_ends(at, span), next = load_ends(at + stride, span);
    for (; __any_sync(kFullMask, at < length); at += stride) {
      Sum value[kEdges], before[Tile::kResults] = {};
      multiply(value, now);
      now = next;
      next = load_ends(at + 2 * stride, span);
      if (args.before)
        for_own_dots(at, span, [&](std::int64_t place, std::int64_t, int r) {
          before[r] = load_streaming(args.before + place);
        });
      reduce(value);
      for_own_dots(at, span, [&](std::int64_t place, std::int64_t edge, int r) {
        const Sum sum = before[r] + value[r];
        if (args.partial)
          __stcs(args.partial + place, sum);
        else if (args.weight)
          __stcs(args.out + place, static_cast<T>(widen(load_streaming(args.weight + edge)) * sum));
        else
          __stcs(args.out + place, static_cast<T>(sum));
      });
    }
  }
};

}  // namespace rodeo::kernels::cuda
