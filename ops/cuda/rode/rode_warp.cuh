/// A warp's work in RoDe's row decomposition (ops/plan/rode_plan.h), and its launch.
///
/// Block part: a warp per (piece, column tile). The warp's groups of lanes take the piece's nonzeros in turn
/// and add their sums at the end, by shuffles, so no lane waits for a longer neighbour. A block of 32
/// nonzeros is cut into sub-blocks: while one is added, the rows of X for the next are on their way and so
/// are the column indices of the next block. Registers and shuffles stand where the paper has shared memory
/// and barriers. Residual part: a group per row. Split rows: each piece leaves its sum in a workspace; the
/// warp that finishes last adds them in order, so the result does not depend on which one that is. Column
/// tiles are the slow dimension of the grid: at any time the whole GPU works on one slice of X, which is more
/// likely to stay in the caches than whole rows are.
#pragma once

#include <optional>

#include "ops/cuda/device/scratch.h"
#include "ops/cuda/rode/rode_rows.cuh"

namespace rodeo::kernels::cuda {

constexpr int kRodeThreads = 128;
constexpr int kBlock = static_cast<int>(RodePlan::kBlock);
static_assert(kBlock == kWarp, "a lane holds the sparse data of one nonzero of a block");

/// Rows is RodeRow<Tile>, or what adds up in another way.
template <class Rows>
struct RodeWarp : Rows {
  using Base = Rows;
  using Base::sum;
  using typename Base::Entry;
  using typename Base::Row;
  using typename Base::Sum;
  using typename Base::Tile;

  static constexpr int kDepth = std::max(2, 4 / Tile::kChunks);  // nonzeros of a group in a sub-block
  static constexpr int kSubBlock = kDepth * Tile::kGroups;
  static constexpr int kSubBlocks = kBlock / kSubBlock;
  static_assert(kSubBlocks == 1 || kSubBlocks % 2 == 0);

  struct SubBlock {
    Row row[kDepth];
    Sum weight[kDepth];
  };

  __device__ explicit RodeWarp(const SpmmArgs<typename Tile::T>& args) : Base(args) {}

  /// entries: the block that begins at nonzero `block`, of which there are `limit`: past the end the last one
  /// again.
  __device__ void gather(SubBlock& out, const Entry& entries, std::int64_t block, int sub_block,
                         int limit) const {
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const int of_group = sub_block * kDepth + k, at = of_group * Tile::kGroups + this->group;
      const Entry entry =
          Base::kConstantLanes ? this->from_member(entries, of_group) : this->from_lane(entries, at);
      out.row[k] = this->row_of_x(entry.col);
      out.weight[k] = this->weight_of(entry, block + (at < limit ? at : limit - 1));
    }
  }
  __device__ void consume(const SubBlock& in) {
    this->add_rows(in.row, in.weight);
  }
  __device__ void consume_first(const SubBlock& in, int sub_block, int limit) {
    this->add_rows_if(in.row, in.weight,
                      [&](int k) { return (sub_block * kDepth + k) * Tile::kGroups + this->group < limit; });
  }

  /// The warp sums the nonzeros of a piece: whole blocks through the pipeline, then the residue. The
  /// sub-blocks in flight swap their registers without moving them.
  __device__ void sum_piece(std::int64_t begin, int length) {
    const int last = length - 1;
    const int mine = Base::kConstantLanes ? this->member * Tile::kGroups + this->group : this->lane;
    const auto fetch_block = [&](int at) { return this->fetch(begin + min(at + mine, last)); };
    Entry now = fetch_block(0), next = fetch_block(kBlock);
    SubBlock a, b;
    gather(a, now, begin, 0, length);
    int at = 0;
    for (; at + kBlock <= length; at += kBlock) {
      if constexpr (kSubBlocks > 1) {
#pragma unroll
        for (int s = 0; s < kSubBlocks; s += 2) {
          gather(b, now, begin + at, s + 1, kBlock);
          consume(a);
          if (s + 2 < kSubBlocks) {
            gather(a, now, begin + at, s + 2, kBlock);
          } else {
            now = next;
            next = fetch_block(at + 2 * kBlock);
            gather(a, now, begin + at + kBlock, 0, length - at - kBlock);
          }
          consume(b);
        }
      } else {
        now = next;
        next = fetch_block(at + 2 * kBlock);
        b = a;
        gather(a, now, begin + at + kBlock, 0, length - at - kBlock);
        consume(b);
      }
    }
    const int residue = length - at;
    if (residue == 0) return;
#pragma unroll
    for (int s = 0; s < kSubBlocks; s += 2) {
      if (s * kSubBlock >= residue) break;
      const bool second = s + 1 < kSubBlocks && (s + 1) * kSubBlock < residue;
      if (second) gather(b, now, begin + at, s + 1, residue);
      consume_first(a, s, residue);
      if (s + 2 < kSubBlocks && (s + 2) * kSubBlock < residue) gather(a, now, begin + at, s + 2, residue);
      if (second) consume_first(b, s + 1, residue);
    }
  }

  /// Every group takes `rounds` short rows. A row begins with a chain of loads (where it is, its columns, its
  /// rows of X): those of the next row are under way while this one is summed.
  __device__ void sum_short_rows(const RodeView& plan, std::int64_t first, int rounds) {
    std::int64_t at = first * Tile::kGroups + this->group;
    const auto part_if = [&](bool exists, std::int64_t i) {
      return exists ? plan.residual(i) : RodeView::Part{};
    };
    RodeView::Part part = plan.residual(at), next = part_if(rounds > 1, at + Tile::kGroups);
    Entry entry = this->first_of_row(part.begin, part.length);
    for (int round = 0; round < rounds; ++round) {
      const RodeView::Part after = part_if(round + 2 < rounds, at + 2 * Tile::kGroups);
      const Entry next_entry = this->first_of_row(next.begin, next.length);
      this->sum_row(part.begin, part.length, entry,
                    [this](const auto& row, const auto& weight) { this->add_rows(row, weight); });
      this->settle();
      this->mend(part.begin, part.length);
      this->write_y(part.row, at < plan.residuals);
#pragma unroll
      for (int v = 0; v < Tile::kSums; ++v) sum[v] = 0;
      part = next, next = after, entry = next_entry;
      at += Tile::kGroups;
    }
  }
};

/// grid (warps / warps of a block, column tiles), block kRodeThreads. Warps [0, pieces) take a piece each,
/// the others `rounds` times kGroups rows of the residual part.
template <class Rows>
__device__ void run_rode(const SpmmArgs<typename Rows::Tile::T>& args,
                         const RodeArgs<typename Rows::Sum>& rode, int rounds) {
  RodeWarp<Rows> work(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kRodeThreads + threadIdx.x) / kWarp;
  const RodeView& plan = rode.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    work.sum_piece(piece.begin, piece.length);
    work.settle();
    work.reduce_groups();
    work.mend(piece.begin, piece.length);
    if (work.completes(rode, piece, split)) work.write_y(piece.row, work.group == 0);
  } else {
    work.sum_short_rows(plan, (warp - plan.pieces) * rounds, rounds);
  }
}

/// What the pieces of split rows need: sums side by side in `partial`, or, where it is not wanted, nothing.
template <class Tile>
RodeArgs<typename Tile::Sum> make_rode_args(const RodePlan& plan, const SpmmArgs<typename Tile::T>& args,
                                            std::int64_t tiles, Device device, bool wanted,
                                            std::optional<Scratch>& partial) {
  using Sum = typename Tile::Sum;
  const std::int64_t splits = plan.num_split_rows();
  if (splits == 0 || !wanted) return {RodeView(plan), nullptr, nullptr};
  partial.emplace(plan.num_slots * args.stride * static_cast<std::int64_t>(sizeof(Sum)), device);
  return {RodeView(plan), static_cast<Sum*>(partial->data()),
          Context::of(device).zeroed_counters(splits * tiles)};
}

/// Launches a kernel that calls run_rode.
template <class Tile, class Kernel>
void launch_rode(const char* name, Kernel kernel, const RodePlan& plan,
                 const SpmmArgs<typename Tile::T>& args, const RodeArgs<typename Tile::Sum>& rode,
                 std::int64_t tiles, Device device) {
  constexpr std::int64_t kMostRounds = 4;
  const std::int64_t short_warps = ceil_div(plan.num_residual(), Tile::kGroups);
  const int rounds = rounds_for(short_warps * tiles, kMostRounds, device);
  const std::int64_t warps = plan.num_pieces() + ceil_div(short_warps, rounds);
  const dim3 grid(static_cast<unsigned>(ceil_div(warps, kRodeThreads / kWarp)), static_cast<unsigned>(tiles));
  launch(name, device, kernel, grid, dim3(kRodeThreads), staging_bytes<Tile>(args, kRodeThreads), args, rode,
         rounds);
}

}  // namespace rodeo::kernels::cuda
