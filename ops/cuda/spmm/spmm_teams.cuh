/// RoDe's decomposition for launches that leave most of a GPU idle. Their time is the longest chain of loads,
/// so a block takes a piece, and a residual row gets as many lanes as it has nonzeros: all of its rows of X
/// are loaded at once. Rows of X at any address are read by elements: a padded copy would be a second launch.
#pragma once

#include "ops/cuda/device/l2_prefetch.cuh"
#include "ops/cuda/rode/row_accumulator.cuh"
#include "ops/cuda/rode/row_store.cuh"
#include "ops/cuda/rode/split_rows.cuh"
#include "ops/plan/residual_bins.h"

namespace rodeo::kernels::cuda {

constexpr int kTeamThreads = kSpmmTeamThreads;
constexpr int kTeamWarps = kTeamThreads / kWarp;
template <class Tile>  // per multiprocessor
constexpr int kTeamBlocks = spmm_team_blocks({.lanes = Tile::kLanes, .loads = Tile::kLoads});

/// A team of `lanes` lanes sums nonzeros [begin, begin + length), its groups in turn. Afterwards each of its
/// groups has the sum. Called by whole warps; teams of a warp may have different rows.
template <RowAccumulator A>
__device__ void sum_team(const RowLoader<typename A::Tile>& loader, A& sums, std::int64_t begin, int length,
                         int lanes) {
  using Tile = typename A::Tile;
  using Loader = RowLoader<Tile>;
  constexpr int kDepth = Tile::kLanes;  // nonzeros of a group in flight: one for each of its lanes
  const int place = loader.lane & (lanes - 1), origin = loader.lane - place;
  const int groups = lanes / Tile::kLanes, group = place / Tile::kLanes;
  const auto load_entry = [&](int at) {
    return at < length ? loader.load_entry(begin + at) : typename Loader::Entry();
  };
  auto next = load_entry(place);
  for (int base = 0; __any_sync(kFullMask, base < length); base += lanes) {
    const auto now = next;
    next = load_entry(base + lanes + place);
    typename Loader::Row row[kDepth];
    typename Loader::Sum weight[kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const int at = d * groups + group;
      const auto entry = loader.entry_of_lane(now, origin + at);
      row[d] = typename Loader::Row{};
      weight[d] = 0;
      if (base + at < length)
        row[d] = loader.load_row(entry.col), weight[d] = loader.load_weight(entry, begin + base + at);
    }
    sums.add_rows(row, weight);
  }
  for (int offset = Tile::kLanes; offset < lanes; offset *= 2)
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) sums.sum[v] += __shfl_xor_sync(kFullMask, sums.sum[v], offset);
}

/// Sums over the warps of the block; warp 0 has the result.
template <class Tile>
__device__ void reduce_warps(const RowLoader<Tile>& loader, typename Tile::Sum (&sum)[Tile::kSums]) {
  __shared__ typename Tile::Sum shared[kTeamWarps][Tile::kSums][Tile::kLanes];
  const int warp = threadIdx.x / kWarp;
  if (loader.group == 0)
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) shared[warp][v][loader.member] = sum[v];
  __syncthreads();
  if (warp > 0) return;
#pragma unroll
  for (int v = 0; v < Tile::kSums; ++v)
#pragma unroll
    for (int w = 1; w < kTeamWarps; ++w) sum[v] += shared[w][v][loader.member];
}

// grid (pieces + blocks of residual rows, column tiles), block kTeamThreads.
template <class Tile>
__global__ void __launch_bounds__(kTeamThreads, kTeamBlocks<Tile>)
    spmm_teams_kernel(const SpmmArgs<typename Tile::T> args, const RodeArgs<typename Tile::Sum> rode,
                      const ResidualBins bins, const L2Prefetch prefetch) {
  prefetch(kTeamThreads);
  const RowLoader<Tile> loader(args);
  SimtAccumulator<Tile> sums;
  const RodeView& plan = rode.plan;
  const bool is_piece = blockIdx.x < plan.pieces;
  const int warp = threadIdx.x / kWarp;
  RodeView::Part part{};
  std::int32_t split = -1;
  int lanes = kWarp;
  bool writes = false;
  if (is_piece) {
    part = plan.piece(blockIdx.x);
    split = plan.piece_split[blockIdx.x];
  } else {
    const ResidualBins::Teams teams =
        bins.of_warp((blockIdx.x - static_cast<std::uint32_t>(plan.pieces)) * kTeamWarps +
                     static_cast<std::uint32_t>(warp));
    lanes = teams.lanes;
    const std::uint32_t at = teams.first + static_cast<std::uint32_t>(loader.lane / lanes);
    writes = at < teams.end;
    if (writes) part = plan.residual(at);
  }
  int from = 0, length = part.length;
  if (is_piece) {  // every warp sums a share of it
    const int share = (part.length + kTeamWarps - 1) / kTeamWarps;
    from = warp * share;
    length = min(share, part.length - from);
  }
  sum_team(loader, sums, part.begin + from, length, lanes);
  if (is_piece) {
    reduce_warps(loader, sums.sum);
    if (warp > 0) return;
    writes = finish_piece(loader, sums.sum, rode, part, split);
  }
  store_row(loader, sums.sum, part.row, writes && loader.lane % lanes < Tile::kLanes);
}

}  // namespace rodeo::kernels::cuda
