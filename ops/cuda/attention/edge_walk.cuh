/// The walk over the edges of a row by RoDe's plan, for attention whose scores are computed from vectors of
/// both ends (dot_attention, gatv2_attention): loads, dropout, pieces of split rows. What is computed of an
/// edge is a Pass (attention_passes.cuh).
#pragma once

#include <bit>
#include <optional>

#include "ops/cuda/attention/edge_mask.cuh"
#include "ops/cuda/attention/head_tile.cuh"
#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/scratch.h"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/edge_dropout.h"
#include "ops/kernels/attention.h"
#include "ops/kernels/dropout.h"
#include "ops/sparse/derived.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {

/// What all passes read: the graph that is walked, A or A^T, and the dropout of its edges.
template <class Sum>
struct WalkArgs {
  RodeView plan;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const std::int64_t* edge_ids;  // of A^T: positions in A; null for A
  int heads, lanes;              // lanes of a head
  Sum keep_scale;                // 1 / (1 - dropout)
  std::uint32_t threshold;       // dropout_keeps(); 0: no dropout
  int first_head;                // of the mask; see AttentionOptions
  RandomKey key;
  void* partial;  // [slots, column tiles, kLanes] states of the pieces of split rows
  int* arrived;   // [split rows, column tiles], zero, and left so
};

/// Threads of a block. Where a row has 512 bytes, blocks of more warps share more rows in the L1, which pays
/// on large graphs.
constexpr int kWalkThreads = 128, kWideWalkThreads = 512;
constexpr std::int64_t kManyEdges = 1 << 24;
template <class Tile>
constexpr int kMaxWalkThreads = Tile::kLanes * sizeof(typename Tile::Part) >= 512 ? kWideWalkThreads
                                                                                  : kWalkThreads;

/// What the lane that owns an edge knows of it.
template <class Sum>
struct OwnedEdge {
  bool valid = false;
  std::uint32_t col = 0;  // where the pass is over A^T
  std::int64_t id = 0;    // where the pass has operands by edge
  Sum keep = 1;           // the factor of dropout
};

/// One warp's work on one column tile. A Pass has:
///   Tile, Args, kTables (rows that an edge gathers), kEdges (operands by edge), kTransposed, kDepth (edges
///   in flight in a group), kWarps (on a multiprocessor, which limits registers) State  numbers that are
///   merged; its size is a multiple of 16 bytes table[kTables]                           columns of the rows
///   that an edge gathers begin(row)                               loads the operands of a row step(row, own,
///   count, id_of, state)      accumulates some edges close(state)                             called after
///   the last of them merge(state, other), finish(row, state)  combine, and write a row
template <class Pass>
struct EdgeWalk {
  using Tile = typename Pass::Tile;
  using Sum = typename Tile::Sum;
  using State = typename Pass::State;
  static constexpr int kLanes = Tile::kLanes, kGroups = Tile::kGroups;
  static constexpr int kBlock = static_cast<int>(RodePlan::kBlock);
  static constexpr int kDepth = Pass::kDepth;
  static_assert(kBlock == kWarp, "a lane holds one edge of a block");
  static_assert(kLanes % kDepth == 0, "every group takes kLanes edges of a block");
  static_assert(sizeof(State) % 16 == 0, "states are moved 16 bytes at a time");

  const WalkArgs<Sum>& args;
  const int lane = threadIdx.x % kWarp, group = lane / kLanes, member = lane % kLanes;
  const HeadPlace<Tile> place;
  Pass pass;
  State state{};

  __device__ EdgeWalk(const WalkArgs<Sum>& a, const typename Pass::Args& own)
      : args(a), place(a.lanes, a.heads), pass(own, place) {}

  struct Entry {
    std::uint32_t col = 0, kept = 0;  // kept: a bit for each head of the tile
    std::int64_t id = 0;              // position in A, where the pass has operands by edge
  };
  __device__ Entry fetch(std::int64_t e, bool valid) const {
    Entry entry;
    if (!valid) return entry;
    entry.col = static_cast<std::uint32_t>(load_streaming(args.col + e));
    if constexpr (Pass::kEdges) entry.id = args.edge_ids ? load_streaming(args.edge_ids + e) : e;
    return entry;
  }
  __device__ void draw(Entry& entry, std::int64_t row) const {
    if (args.threshold == 0) return;
    const auto own = static_cast<std::uint32_t>(row);
    entry.kept = kept_heads(args.key, args.threshold, Pass::kTransposed ? entry.col : own,
                            Pass::kTransposed ? own : entry.col, args.first_head + place.first_head,
                            place.heads_in_tile(args.heads));
  }

  /// Accumulates the edges held by lanes origin, origin + kPace, ...: kDepth of them if kWhole, else the
  /// first `count`.
  template <int kPace, bool kWhole>
  __device__ __forceinline__ void step(const Entry& entry, int origin, int count) {
    typename Tile::Part row[Pass::kTables][kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const std::uint32_t col = __shfl_sync(kFullMask, entry.col, origin + d * kPace);
#pragma unroll
      for (int t = 0; t < Pass::kTables; ++t)
        row[t][d] = kWhole || d < count ? pass.table[t][col] : typename Tile::Part{};
    }
    constexpr int kOwned = HeadPlace<Tile>::template kOwned<kDepth>;
    OwnedEdge<Sum> own[kOwned];
#pragma unroll
    for (int i = 0; i < kOwned; ++i) {
      const int d = place.template owned<kDepth>(i), from = origin + d * kPace;
      own[i].valid = kWhole || d < count;
      if constexpr (Pass::kTransposed) own[i].col = __shfl_sync(kFullMask, entry.col, from);
      if constexpr (Pass::kEdges) own[i].id = __shfl_sync(kFullMask, entry.id, from);
      if (args.threshold > 0) {
        const std::uint32_t kept = __shfl_sync(kFullMask, entry.kept, from);
        own[i].keep = kept >> place.bit & 1 ? args.keep_scale : Sum(0);
      }
    }
    pass.step(
        row, own, kWhole ? kDepth : count,
        [&](int d) {
          return Pass::kEdges ? __shfl_sync(kFullMask, entry.id, origin + d * kPace) : std::int64_t(0);
        },
        state);
  }

  /// Accumulates a piece: edges [begin, begin + length) of a row, round-robin over the groups of the warp.
  __device__ void accumulate_piece(std::int64_t row, std::int64_t begin, int length) {
    Entry next = fetch(begin + lane, lane < length);
    for (int at = 0; at < length; at += kBlock) {
      Entry now = next;
      const int ahead = at + kBlock + lane, left = length - at;
      next = fetch(begin + ahead, ahead < length);
      draw(now, row);
      if (left >= kBlock) {
#pragma unroll 1
        for (int first = 0; first < kLanes; first += kDepth)
          step<kGroups, true>(now, group + first * kGroups, kDepth);
      } else {
        const int mine = (left - group + kGroups - 1) / kGroups;
#pragma unroll 1
        for (int first = 0; first < kLanes; first += kDepth)
          if (first * kGroups < left) step<kGroups, false>(now, group + first * kGroups, mine - first);
      }
    }
  }
  /// Accumulates a residual row: every group has its own row.
  __device__ void accumulate_row(std::int64_t row, std::int64_t begin, int length) {
    Entry next = fetch(begin + member, member < length);
    for (int at = 0; __any_sync(kFullMask, at < length); at += kLanes) {
      Entry now = next;
      const int ahead = at + kLanes + member;
      next = fetch(begin + ahead, ahead < length);
      draw(now, row);
#pragma unroll 1
      for (int first = 0; first < kLanes; first += kDepth)
        if (__any_sync(kFullMask, at + first < length))
          step<1, false>(now, group * kLanes + first, length - at - first);
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
    const int count = static_cast<int>(args.plan.split_slot[split + 1] - first);
    const auto slot = [&](std::int64_t i) {
      return static_cast<uint4*>(args.partial) +
             (((first + i) * gridDim.y + blockIdx.y) * kLanes + member) * kWords;
    };
    if (group == 0) {
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
};

// Grid (warps / warps of a block, column tiles), block of up to kMaxWalkThreads. Warps [0, pieces) have one
// piece each, the others kGroups residual rows each.
template <class Pass>
__global__ void __launch_bounds__(kMaxWalkThreads<typename Pass::Tile>,
                                  Pass::kWarps* kWarp / kMaxWalkThreads<typename Pass::Tile>)
    edge_walk_kernel(const WalkArgs<typename Pass::Tile::Sum> args, const typename Pass::Args own) {
  EdgeWalk<Pass> walk(args, own);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
  const RodeView& plan = args.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    walk.pass.begin(piece.row);
    walk.accumulate_piece(piece.row, piece.begin, piece.length);
    walk.pass.close(walk.state);
    walk.reduce_groups();
    const bool complete = split < 0 || walk.combine(split, plan.index_of(piece, args.row_ptr));
    if (complete && walk.group == 0) walk.pass.finish(piece.row, walk.state);
  } else {
    const std::int64_t at = (warp - plan.pieces) * Pass::Tile::kGroups + walk.group;
    const RodeView::Part part = plan.is_by_rows() ? plan.row(at, args.row_ptr) : plan.residual(at);
    walk.pass.begin(part.row);
    walk.accumulate_row(part.row, part.begin, part.length);
    walk.pass.close(walk.state);
    if (at < plan.residuals) walk.pass.finish(part.row, walk.state);
  }
}

/// Launches a pass over `adj`, A or A^T. edge_ids: Transposed::edge_ids of A^T, or undefined.
template <class Pass>
void walk_edges(const char* name, const Adjacency& adj, const Tensor& edge_ids,
                const AttentionOptions& options, int heads, int lanes, const typename Pass::Args& own,
                Device device) {
  using Tile = typename Pass::Tile;
  using Sum = typename Tile::Sum;
  const Csr& a = adj.csr();
  const RodePlan* const plan = is_overwritten(adj) ? nullptr : &rode_plan(adj);
  const auto tiles = static_cast<unsigned>(ceil_div(heads, Tile::kShared ? Tile::kLanes / lanes : 1));
  WalkArgs<Sum> args{plan ? RodeView(*plan) : RodeView::by_rows(a.rows),
                     a.row_ptr.data<std::int64_t>(),
                     a.col.data<std::int32_t>(),
                     edge_ids.defined() ? edge_ids.data<std::int64_t>() : nullptr,
                     heads,
                     lanes,
                     static_cast<Sum>(1 / (1 - options.dropout)),
                     dropout_threshold(options.dropout),
                     static_cast<int>(options.first_head),
                     options.key,
                     nullptr,
                     nullptr};
  std::optional<Scratch> partial;
  if (const std::int64_t splits = plan ? plan->num_split_rows() : 0; splits > 0) {
    const auto bytes = static_cast<std::int64_t>(sizeof(typename Pass::State));
    partial.emplace(plan->num_slots * tiles * Tile::kLanes * bytes, device);
    args.partial = partial->data();
    args.arrived = Context::of(device).zeroed_counters(splits * tiles);
  }
  const std::int64_t warps = args.plan.pieces + ceil_div(args.plan.residuals, Tile::kGroups);
  const int threads = a.col.numel() < kManyEdges ? kWalkThreads : kMaxWalkThreads<Tile>;
  const dim3 grid(static_cast<unsigned>(ceil_div(warps, threads / kWarp)), tiles);
  launch(name, device, edge_walk_kernel<Pass>, grid, dim3(static_cast<unsigned>(threads)), 0, args, own);
}

}  // namespace rodeo::kernels::cuda
