/// Fused attention over the edges of a row (RoDe's decomposition), shared by the forward and the backward
/// pass.
///
/// A warp computes the attention weights on the fly and accumulates rows of X twice: over all edges, and over
/// the edges with a positive score. A lane loads 16 bytes of a row, all of one head, and computes the weights
/// of that head. The terms of a score are a few bytes beside a row, and lanes of one head load the same ones.
///
/// Dropout (ops/edge_dropout.h): the lane that loads an edge's column draws its mask for all heads of the
/// tile, four heads per Philox call. The mask is shuffled along with the column.
#pragma once

#include <bit>
#include <limits>
#include <optional>

#include "ops/cuda/attention/edge_mask.cuh"
#include "ops/cuda/attention/exponential.cuh"
#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/scratch.h"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/rode/tile.cuh"
#include "ops/edge_dropout.h"
#include "ops/kernels/attention.h"
#include "ops/kernels/dropout.h"
#include "ops/plan/attention_config.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {

template <class Sum>
__device__ __forceinline__ Sum leaky(Sum value, Sum slope) {
  return value > 0 ? value : slope * value;
}

template <class T>
struct AttentionArgs {
  RodeView plan;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T* x;           // [cols, heads, pitch], gathered by row
  T *all, *positive;    // [rows, heads, k], sums over all edges and over edges with a positive score
  int heads, k, pitch;  // 32 bits save registers
  int stride;           // heads * pitch
  int first;            // column where this launch begins
  bool whole_vectors;   // outputs are written 16 bytes at a time
  Accumulator<T> slope, scale;
  std::uint32_t threshold;  // dropout_keeps(); 0: no dropout
  int first_head;           // of the mask; see AttentionOptions
  RandomKey key;
  void* partial;  // [slots, stride / kVec] states of the pieces of split rows
  int* arrived;   // [split rows, column tiles], zero, and left so
};

constexpr int kAttentionThreads = 128;

/// One warp's work on one column tile. Pass is Forward or Backward. It must have:
///   Tile, Args, Term (what an edge reads per row and head), kTransposed, kDepth (edges in flight), kBlocks
///   State: the accumulators `all` and `positive`, and per-head sums; its size is a multiple of 16 bytes
///   begin(work, row, length): loads what a row or piece of so many edges needs of its row
///   weigh(term, count, state, score, weight): scores and weights of some edges; may rescale the state
///   merge(state, other), factor(state): combine and normalise
///   write(work, row, factor): writes results of each head; all lanes of a group call it, with their state
template <class Pass>
struct Attention {
  using Tile = typename Pass::Tile;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  using Row = Pack<typename Tile::T, Tile::kVec>;
  using Term = typename Pass::Term;
  using State = typename Pass::State;
  static constexpr int kVec = Tile::kVec, kLanes = Tile::kLanes, kGroups = Tile::kGroups;
  static constexpr int kBlock = static_cast<int>(RodePlan::kBlock);
  static constexpr int kDepth = Pass::kDepth < kLanes ? Pass::kDepth : kLanes;  // edges in flight in a group
  static constexpr int kTail = 4;                                               // in the rest of a row
  static_assert(kBlock == kWarp, "a lane holds one edge of a block");
  static_assert(kLanes % kDepth == 0 && kLanes % kTail == 0, "every group takes kLanes edges of a block");
  static_assert(sizeof(State) % 16 == 0, "states are moved 16 bytes at a time");

  const AttentionArgs<T>& args;
  const int lane = threadIdx.x % kWarp, group = lane / kLanes, member = lane % kLanes;
  const int tile = args.first + static_cast<int>(blockIdx.y) * Tile::kWidth;
  const bool active = tile + member * kVec < args.stride;
  // Lanes past the end read the last columns again.
  const int column = active ? tile + member * kVec : args.stride - kVec;
  const int head = column / args.pitch, first_head = tile / args.pitch;
  const int tile_heads = (min(tile + Tile::kWidth, args.stride) - 1) / args.pitch - first_head + 1;
  const int bit = head - first_head;
  const char* const x = reinterpret_cast<const char*>(args.x + column);  // of row 0
  const std::uint32_t row_bytes = static_cast<std::uint32_t>(args.stride * sizeof(T));
  const std::uint32_t term_bytes = static_cast<std::uint32_t>(args.heads * sizeof(Term));
  Pass pass;
  const char* const terms = reinterpret_cast<const char*>(pass.args.term + head);  // of row 0
  State state{};

  __device__ Attention(const AttentionArgs<T>& a, const typename Pass::Args& own)
      : args(a), pass{own, a.slope, 0} {}

  struct Entry {
    std::uint32_t col = 0, kept = 0;  // kept: a bit for each head of the tile
  };
  __device__ Entry fetch(std::int64_t e, bool valid) const {
    Entry entry;
    if (valid) entry.col = static_cast<std::uint32_t>(load_streaming(args.col + e));
    return entry;
  }
  __device__ void draw(Entry& entry, std::int32_t row) const {
    if (args.threshold == 0) return;
    const auto own = static_cast<std::uint32_t>(row);
    entry.kept = kept_heads(args.key, args.threshold, Pass::kTransposed ? entry.col : own,
                            Pass::kTransposed ? own : entry.col, args.first_head + first_head, tile_heads);
  }

  /// Accumulates the edges held by lanes origin, origin + kPace, ...: kCount of them if kWhole, else the
  /// first `count`.
  template <int kCount, int kPace, bool kWhole>
  __device__ void step(const Entry& entry, int origin, int count) {
    Row row[kCount];
    Term term[kCount];
    Sum score[kCount], weight[kCount];
#pragma unroll
    for (int d = 0; d < kCount; ++d) {
      const std::uint64_t col = __shfl_sync(kFullMask, entry.col, origin + d * kPace);
      if (kWhole || d < count) {
        row[d] = *reinterpret_cast<const Row*>(x + col * row_bytes);
        term[d] = *reinterpret_cast<const Term*>(terms + col * term_bytes);
      } else {
        row[d] = Row{};
        term[d] = Term{};
      }
    }
    pass.weigh(term, kWhole ? kCount : count, state, score, weight);
    if (args.threshold > 0) {
#pragma unroll
      for (int d = 0; d < kCount; ++d) {
        const std::uint32_t kept = __shfl_sync(kFullMask, entry.kept, origin + d * kPace);
        if (!(kept >> bit & 1)) weight[d] = 0;
      }
    }
#pragma unroll
    for (int d = 0; d < kCount; ++d) {
      const Sum of_positive = score[d] > 0 ? weight[d] : 0;
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        const Sum value = widen(row[d].value[v]);
        state.all[v] += weight[d] * value;
        state.positive[v] += of_positive * value;
      }
    }
  }

  /// Accumulates a piece: edges [begin, begin + length) of a row, round-robin over the groups of the warp.
  __device__ void accumulate_piece(std::int32_t row, std::int64_t begin, int length) {
    Entry next = fetch(begin + lane, lane < length);
    for (int at = 0; at < length; at += kBlock) {
      Entry now = next;
      const int ahead = at + kBlock + lane, left = length - at;
      next = fetch(begin + ahead, ahead < length);
      draw(now, row);
      if (left >= kBlock) {
#pragma unroll
        for (int first = 0; first < kLanes; first += kDepth)
          step<kDepth, kGroups, true>(now, group + first * kGroups, kDepth);
      } else {
        const int mine = (left - group + kGroups - 1) / kGroups;
#pragma unroll
        for (int first = 0; first < kLanes; first += kTail)
          if (first * kGroups < left) step<kTail, kGroups, false>(now, group + first * kGroups, mine - first);
      }
    }
  }
  /// Accumulates a residual row: every group has its own row.
  __device__ void accumulate_row(std::int32_t row, std::int64_t begin, int length) {
    Entry next = fetch(begin + member, member < length);
    for (int at = 0; __any_sync(kFullMask, at < length); at += kLanes) {
      Entry now = next;
      const int ahead = at + kLanes + member;
      next = fetch(begin + ahead, ahead < length);
      draw(now, row);
#pragma unroll
      for (int first = 0; first < kLanes; first += kTail)
        if (__any_sync(kFullMask, at + first < length))
          step<kTail, 1, false>(now, group * kLanes + first, length - at - first);
    }
  }

  __device__ State from_lane_across(int offset) const {
    struct Numbers {
      Sum value[sizeof(State) / sizeof(Sum)];
    };
    auto numbers = std::bit_cast<Numbers>(state);
#pragma unroll
    for (Sum& number : numbers.value) number = __shfl_xor_sync(kFullMask, number, offset);
    return std::bit_cast<State>(numbers);
  }
  /// Merges the states of all groups into that of group 0.
  __device__ void reduce_groups() {
#pragma unroll
    for (int offset = kLanes; offset < kWarp; offset *= 2) Pass::merge(state, from_lane_across(offset));
  }
  /// Writes the state of this piece. Returns true in the last warp of the row to arrive, with the merged
  /// state of all pieces in group 0.
  __device__ bool combine(int split, std::int64_t index) {
    constexpr int kWords = sizeof(State) / 16;
    struct Words {
      uint4 word[kWords];
    };
    const std::int64_t first = args.plan.split_slot[split];
    const int columns = args.stride / kVec;
    const int count = static_cast<int>(args.plan.split_slot[split + 1] - first);
    const auto slot = [&](std::int64_t i) {
      return static_cast<uint4*>(args.partial) + ((first + i) * columns + column / kVec) * kWords;
    };
    if (group == 0 && active) {
      const auto words = std::bit_cast<Words>(state);
      uint4* to = slot(index);
#pragma unroll
      for (int w = 0; w < kWords; ++w) to[w] = words.word[w];
    }
    int* const arrived = args.arrived + static_cast<std::int64_t>(split) * gridDim.y + blockIdx.y;
    if (!is_last_warp(arrived, count)) return false;
    state = State{};
    for (int i = group; i < count; i += kGroups) {
      Words words;
      const uint4* from = slot(i);
#pragma unroll
      for (int w = 0; w < kWords; ++w) words.word[w] = __ldcg(from + w);
      Pass::merge(state, std::bit_cast<State>(words));
    }
    reduce_groups();
    return true;
  }

  __device__ void store(T* to, std::int64_t row, const Sum (&sum)[kVec], Sum factor) const {
    Row out;
#pragma unroll
    for (int v = 0; v < kVec; ++v) out.value[v] = static_cast<T>(sum[v] * factor);
    if (args.whole_vectors) {
      *reinterpret_cast<Row*>(to + row * args.stride + column) = out;
    } else {
      const int first = column - head * args.pitch;
      to += (row * args.heads + head) * args.k + first;
#pragma unroll
      for (int v = 0; v < kVec; ++v)
        if (first + v < args.k) to[v] = out.value[v];
    }
  }
  __device__ bool begins_head() const {
    return active && column == head * args.pitch;
  }
  __device__ unsigned lanes_of_group() const {
    return (kFullMask >> (kWarp - kLanes)) << (lane - member);
  }
  __device__ void finish(std::int64_t row) const {
    const Sum factor = Pass::factor(state) * args.scale;
    if (active) store(args.all, row, state.all, factor);
    if (active && args.positive) store(args.positive, row, state.positive, factor);
    pass.write(*this, row, factor);
  }
};

// Grid (warps / warps of a block, column tiles), block kAttentionThreads. Warps [0, pieces) have one piece
// each, the others kGroups residual rows each.
template <class Pass>
__global__ void __launch_bounds__(kAttentionThreads, Pass::kBlocks)
    attention_kernel(const AttentionArgs<typename Pass::Tile::T> args, const typename Pass::Args own) {
  Attention<Pass> work(args, own);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kAttentionThreads + threadIdx.x) / kWarp;
  const RodeView& plan = args.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    work.pass.begin(work, piece.row, piece.length);
    work.accumulate_piece(piece.row, piece.begin, piece.length);
    work.reduce_groups();
    const bool complete = split < 0 || work.combine(split, plan.index_of(piece, args.row_ptr));
    if (complete && work.group == 0) work.finish(piece.row);
  } else {
    const std::int64_t at = (warp - plan.pieces) * Pass::Tile::kGroups + work.group;
    const RodeView::Part part = plan.is_by_rows() ? plan.row(at, args.row_ptr) : plan.residual(at);
    work.pass.begin(work, part.row, part.length);
    work.accumulate_row(part.row, part.begin, part.length);
    if (at < plan.residuals) work.finish(part.row);
  }
}

/// The plan of a graph; null where its rows are taken as they are (ops/sparse/derived.h).
inline const RodePlan* attention_plan(const Adjacency& adj) {
  return is_overwritten(adj) ? nullptr : &rode_plan(adj);
}

template <class T>
AttentionArgs<device_t<T>> attention_args(const Csr& a, const RodePlan* plan, const PaddedRows& x,
                                          const AttentionOptions& options, const Tensor& all,
                                          const Tensor& positive) {
  using D = device_t<T>;
  const auto heads = static_cast<int>(all.dim(1)), k = static_cast<int>(all.dim(2)),
             pitch = static_cast<int>(x.pitch);
  const bool aligned = is_aligned(all) && (!positive.defined() || is_aligned(positive));
  return {plan ? RodeView(*plan) : RodeView::by_rows(a.rows),
          a.row_ptr.data<std::int64_t>(),
          a.col.data<std::int32_t>(),
          device_data<T>(x.x),
          device_data<T>(all),
          device_data<T>(positive),
          heads,
          k,
          pitch,
          heads * pitch,
          0,
          pitch == k && aligned,
          static_cast<Accumulator<D>>(options.negative_slope),
          static_cast<Accumulator<D>>(1 / (1 - options.dropout)),
          dropout_threshold(options.dropout),
          static_cast<int>(options.first_head),
          options.key,
          nullptr,
          nullptr};
}

/// One launch for each width of column tiles (AttentionTiles).
template <template <class> class Pass, class T>
void launch_attention(const char* name, const RodePlan* plan, AttentionArgs<T> args,
                      const typename Pass<Tile<T, 8, Weighting::kNone>>::Args& own, Device device) {
  const auto run = [&]<class Tile>(Tile, int tiles) {
    using State = typename Pass<Tile>::State;
    std::optional<Scratch> partial;
    if (const std::int64_t splits = plan ? plan->num_split_rows() : 0; splits > 0) {
      const auto bytes = static_cast<std::int64_t>(sizeof(State));
      partial.emplace(plan->num_slots * (args.stride / Tile::kVec) * bytes, device);
      args.partial = partial->data();
      args.arrived = Context::of(device).zeroed_counters(splits * tiles);
    }
    const std::int64_t warps = args.plan.pieces + ceil_div(args.plan.residuals, Tile::kGroups);
    const dim3 grid(static_cast<unsigned>(ceil_div(warps, kAttentionThreads / kWarp)),
                    static_cast<unsigned>(tiles));
    launch(name, device, attention_kernel<Pass<Tile>>, grid, dim3(kAttentionThreads), 0, args, own);
  };
  using Wide = Tile<T, 8, Weighting::kNone>;
  const AttentionTiles tiles = choose_attention_tiles(args.stride, sizeof(T));
  if constexpr (sizeof(T) < 8)
    if (tiles.whole > 0) return run(Tile<T, 32, Weighting::kNone>{}, tiles.whole);
  if (tiles.wide > 0) run(Wide{}, tiles.wide);
  args.first = tiles.wide * Wide::kWidth;
  if constexpr (sizeof(T) < 8)
    if (tiles.narrow > 0) run(Tile<T, 4, Weighting::kNone>{}, tiles.narrow);
}

}  // namespace rodeo::kernels::cuda
