/// The warp loop of RoDe's row decomposition (ops/plan/rode_plan.h), and its launch.
/// docs/kernels/spmm_rode.md has a picture.
///
/// Here a block is RodePlan::kBlock = 32 consecutive nonzeros, as in the paper. A CUDA block is called a
/// thread block. A warp has 32 / Tile::kLanes groups of lanes. A group loads one row of X at a time.
///
/// - Block part: a warp per (piece, column tile). The groups take the piece's nonzeros in turn, and a shuffle
///   reduction adds their sums at the end. So all groups have the same work. A block is cut into sub-blocks.
///   While one sub-block is added, the rows of X of the next one are being loaded, and so are the column
///   indices of the next block. Registers and shuffles replace the paper's shared memory and barriers.
/// - Residual part: a group per row.
/// - Split rows: each piece writes its sum to a workspace; the last warp to finish adds them in order.
/// - Column tiles are the slow dimension of the grid: the whole GPU works on one slice of X at a time, which
///   fits the caches better than whole rows do.
#pragma once

#include <optional>

#include "ops/cuda/device/scratch.h"
#include "ops/cuda/rode/row_accumulator.cuh"
#include "ops/cuda/rode/row_store.cuh"
#include "ops/cuda/rode/split_rows.cuh"

namespace rodeo::kernels::cuda {

constexpr int kRodeThreads = 128;
constexpr int kBlock = static_cast<int>(RodePlan::kBlock);
static_assert(kBlock == kWarp, "a lane holds column and weight of one nonzero of a block");

template <RowAccumulator Accumulator>
struct RodeWarp {
  using Tile = typename Accumulator::Tile;
  using Loader = typename Accumulator::Loader;
  using Entry = typename Loader::Entry;
  using Row = typename Loader::Row;
  using Sum = typename Tile::Sum;

  static constexpr int kDepth = std::max(2, 4 / Tile::kLoads);  // nonzeros per group in a sub-block
  static constexpr int kSubBlock = kDepth * Tile::kGroups;
  static constexpr int kSubBlocks = kBlock / kSubBlock;
  static_assert(kSubBlocks == 1 || kSubBlocks % 2 == 0);

  // Measured on an H200 (docs/experiments/spmm.md).
  static constexpr bool kPlain =
      Tile::kWeighting == Weighting::kNone && std::is_same_v<Accumulator, SimtAccumulator<Tile>>;
  static constexpr RowSumStyle kResidualStyle{
      .wide_product = !kPlain,
      .adds_zeros = kPlain && Tile::kVec == 8 && Tile::kLoads == 1 && Tile::kLanes >= 8};

  static constexpr bool kLoadsWeights = Tile::kWeighting == Weighting::kPerHead;

  /// One group's rows of X of a sub-block, and weights where each lane loads the weight of its head. Weights
  /// of edges stay in the entries until they are needed, which saves registers.
  struct SubBlock {
    Row row[kDepth];
    Sum weight[kLoadsWeights ? kDepth : 1];
  };

  Loader loader;
  Accumulator sums;

  __device__ explicit RodeWarp(const SpmmArgs<typename Tile::T>& args)
      : loader(Accumulator::make_loader(args)) {}

  /// What the lane with this group's nonzero of a step of a block has.
  template <class Value>
  __device__ Value of_step(Value value, int step) const {
    return Loader::kConstantLanes ? loader.of_member(value, step)
                                  : loader.of_lane(value, step * Tile::kGroups + loader.group);
  }
  /// Loads a sub-block of the block that begins at nonzero `block` and has `limit` nonzeros. Beyond `limit`
  /// it loads the last nonzero again, so that no load is conditional.
  __device__ void load(SubBlock& out, const Entry& entries, std::int64_t block, int sub_block,
                       int limit) const {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const int step = sub_block * kDepth + k, at = step * Tile::kGroups + loader.group;
      out.row[k] = loader.template load_row<!kPlain>(of_step(entries.col, step));
      if constexpr (kLoadsWeights) out.weight[k] = loader.load_weight({}, block + min(at, limit - 1));
    }
  }
  /// The weights of a sub-block. `weights`: of the entries that it was loaded with.
  __device__ void weights_of(Sum (&weight)[kDepth], const SubBlock& in, Sum weights, int sub_block) const {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      weight[k] = 0;
      if constexpr (kLoadsWeights) weight[k] = in.weight[k];
      if constexpr (Tile::kWeighting == Weighting::kPerEdge)
        weight[k] = of_step(weights, sub_block * kDepth + k);
    }
  }
  __device__ void add(const SubBlock& in, Sum weights, int sub_block) {
    Sum weight[kDepth];
    weights_of(weight, in, weights, sub_block);
    sums.add_rows(in.row, weight);
  }
  /// Adds only the nonzeros before `limit`.
  __device__ void add_first(const SubBlock& in, Sum weights, int sub_block, int limit) {
    Sum weight[kDepth];
    weights_of(weight, in, weights, sub_block);
    sums.add_rows_if(in.row, weight,
                     [&](int k) { return (sub_block * kDepth + k) * Tile::kGroups + loader.group < limit; });
  }

  /// The warp sums the nonzeros of a piece: whole blocks in the software pipeline, then the residue of less
  /// than a block. Sub-blocks are double-buffered: `a` is added while `b` is being loaded, then the reverse,
  /// so that no register is copied.
  __device__ void sum_piece(std::int64_t begin, int length) {
    const int last = length - 1;
    const int mine = Loader::kConstantLanes ? loader.member * Tile::kGroups + loader.group : loader.lane;
    const auto load_block = [&](int at) { return loader.stream_entry(begin + min(at + mine, last)); };
    Entry now = load_block(0), next = load_block(kBlock);
    SubBlock a, b;
    load(a, now, begin, 0, length);
    int at = 0;
    for (; at + kBlock <= length; at += kBlock) {
      if constexpr (kSubBlocks > 1) {
#pragma unroll
        for (int s = 0; s < kSubBlocks; s += 2) {
          load(b, now, begin + at, s + 1, kBlock);
          const Sum weights = now.weight;
          add(a, weights, s);
          if (s + 2 < kSubBlocks) {
            load(a, now, begin + at, s + 2, kBlock);
          } else {
            now = next;
            next = load_block(at + 2 * kBlock);
            load(a, now, begin + at + kBlock, 0, length - at - kBlock);
          }
          add(b, weights, s + 1);
        }
      } else {
        const Sum weights = now.weight;
        now = next;
        next = load_block(at + 2 * kBlock);
        b = a;
        load(a, now, begin + at + kBlock, 0, length - at - kBlock);
        add(b, weights, 0);
      }
    }
    const int residue = length - at;
    if (residue == 0) return;
#pragma unroll
    for (int s = 0; s < kSubBlocks; s += 2) {
      if (s * kSubBlock >= residue) break;
      const bool second = s + 1 < kSubBlocks && (s + 1) * kSubBlock < residue;
      if (second) load(b, now, begin + at, s + 1, residue);
      add_first(a, now.weight, s, residue);
      if (s + 2 < kSubBlocks && (s + 2) * kSubBlock < residue) load(a, now, begin + at, s + 2, residue);
      if (second) add_first(b, now.weight, s + 1, residue);
    }
  }

  /// Every group sums and writes `rounds` residual rows, one after the other. A row begins with a chain of
  /// dependent loads: its position from the plan, its column indices, its rows of X. The loads of the next
  /// row are in flight while this one is summed.
  __device__ void sum_residual_rows(const RodeView& plan, std::int64_t first, int rounds) {
    // Rows are numbered by 32 bits (RodePlan::residual_row).
    auto at = static_cast<std::uint32_t>(first) * Tile::kGroups + loader.group;
    const auto end = static_cast<std::uint32_t>(plan.residuals);
    const auto range_of = [&](std::uint32_t i, bool exists) {
      return exists && i < end ? Range{plan.residual_begin[i], plan.residual_length[i]} : Range{0, 0};
    };
    Range range = range_of(at, true), next = range_of(at + Tile::kGroups, rounds > 1);
    Entry entry = loader.load_first_entry(range.begin, range.length);
    for (int round = 0; round < rounds; ++round) {
      const Range after = range_of(at + 2 * Tile::kGroups, round + 2 < rounds);
      const std::int32_t row = at < end ? plan.residual_row[at] : 0;
      const Entry next_entry = loader.load_first_entry(next.begin, next.length);
      sum_row<kResidualStyle>(loader, sums, range.begin, range.length, entry);
      sums.collect();
      sums.recompute_if_not_finite(loader, range.begin, range.length);
      store_row(loader, sums.sum, row, at < end);
#pragma unroll
      for (int v = 0; v < Tile::kSums; ++v) sums.sum[v] = 0;
      range = next, next = after, entry = next_entry;
      at += Tile::kGroups;
    }
  }

 private:
  struct Range {
    std::int64_t begin;
    int length;
  };
};

/// The body of a kernel. grid (warps / warps of a thread block, column tiles), block kRodeThreads. Each of
/// the warps [0, pieces) takes one piece. Each further warp takes `rounds` * kGroups residual rows.
template <RowAccumulator Accumulator>
__device__ void run_rode(const SpmmArgs<typename Accumulator::Tile::T>& args,
                         const RodeArgs<typename Accumulator::Tile::Sum>& rode, int rounds) {
  RodeWarp<Accumulator> work(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kRodeThreads + threadIdx.x) / kWarp;
  const RodeView& plan = rode.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    work.sum_piece(piece.begin, piece.length);
    work.sums.collect();
    reduce_groups<typename Accumulator::Tile>(work.sums.sum);
    work.sums.recompute_if_not_finite(work.loader, piece.begin, piece.length);
    if (finish_piece(work.loader, work.sums.sum, rode, piece, split))
      store_row(work.loader, work.sums.sum, piece.row, work.loader.group == 0);
  } else {
    work.sum_residual_rows(plan, (warp - plan.pieces) * rounds, rounds);
  }
}

inline RodeSizes rode_sizes(const RodePlan& plan, std::int64_t residual_warps = 0) {
  return {plan.num_pieces(), plan.num_residual(), residual_warps, plan.local_rows, plan.is_clustered};
}

/// The plan with what split rows need: a workspace, allocated in `partial`, and arrival counters. `ordered`
/// false: their pieces are added by atomicAdd and need neither.
template <class Tile>
RodeArgs<typename Tile::Sum> make_rode_args(const RodePlan& plan, const SpmmArgs<typename Tile::T>& args,
                                            std::int64_t tiles, Device device, bool ordered,
                                            std::optional<Scratch>& partial) {
  using Sum = typename Tile::Sum;
  const std::int64_t splits = plan.num_split_rows();
  if (splits == 0 || !ordered) return {RodeView(plan), nullptr, nullptr};
  partial.emplace(plan.num_slots * args.stride * static_cast<std::int64_t>(sizeof(Sum)), device);
  return {RodeView(plan), static_cast<Sum*>(partial->data()),
          Context::of(device).zeroed_counters(splits * tiles)};
}

/// Launches a kernel whose body is run_rode().
template <class Tile, class Kernel>
void launch_rode(const char* name, Kernel kernel, const RodePlan& plan,
                 const SpmmArgs<typename Tile::T>& args, const RodeArgs<typename Tile::Sum>& rode,
                 const SpmmLaunch& config, Device device) {
  const std::int64_t residual_warps = ceil_div(plan.num_residual(), Tile::kGroups),
                     warps = plan.num_pieces() + ceil_div(residual_warps, config.rounds);
  const dim3 grid(static_cast<unsigned>(ceil_div(warps, kRodeThreads / kWarp)),
                  static_cast<unsigned>(config.tiles));
  launch(name, device, kernel, grid, dim3(kRodeThreads), staging_bytes<Tile>(args, kRodeThreads), args, rode,
         config.rounds);
}

}  // namespace rodeo::kernels::cuda
