/// RoDe's decomposition for launches that leave most of a GPU idle, where time is the longest chain of loads:
/// a block takes a piece, and a short row as many lanes as it has nonzeros, so that all of its rows of X are
/// asked for at once. Rows of X that begin anywhere are read by elements: a copy would be a second launch.
#pragma once

#include "ops/cuda/device/l2_prefetch.cuh"
#include "ops/cuda/rode/residual_bins.cuh"
#include "ops/cuda/rode/rode_rows.cuh"

namespace rodeo::kernels::cuda {

constexpr int kTeamThreads = 128;
template <class Tile>  // of a multiprocessor
constexpr int kTeamBlocks = Tile::kChunks == 2  ? 4
                            : Tile::kLanes == 8 ? 6
                                                : 8;

template <class Tile>
struct Team : RodeRow<Tile> {
  using Base = RodeRow<Tile>;
  using Base::sum;
  using typename Base::Entry;
  using typename Base::Row;
  using typename Base::Sum;
  static constexpr int kDepth = Tile::kLanes;  // nonzeros of a group in flight: a lane of the team has one

  __device__ explicit Team(const SpmmArgs<typename Tile::T>& args) : Base(args) {}

  /// `lanes` lanes take the nonzeros [begin, begin + length), their groups in turn. Then each group has the
  /// sum.
  __device__ void sum_team(std::int64_t begin, int length, int lanes) {
    const int place = this->lane & (lanes - 1), origin = this->lane - place;
    const int groups = lanes / Tile::kLanes, group = place / Tile::kLanes;
    const auto fetch = [&](int at) { return at < length ? this->fetch(begin + at) : Entry(); };
    Entry next = fetch(place);
    for (int base = 0; __any_sync(kFullMask, base < length); base += lanes) {
      const Entry now = next;
      next = fetch(base + lanes + place);
      Row row[kDepth];
      Sum weight[kDepth];
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        const int at = d * groups + group;
        const Entry entry = this->from_lane(now, origin + at);
        row[d] = Row{};
        weight[d] = 0;
        if (base + at < length)
          row[d] = this->row_of_x(entry.col), weight[d] = this->weight_of(entry, begin + base + at);
      }
#pragma unroll
      for (int d = 0; d < kDepth; ++d) this->add(row[d], weight[d]);
    }
    for (int offset = Tile::kLanes; offset < lanes; offset *= 2)
#pragma unroll
      for (int v = 0; v < Tile::kSums; ++v) sum[v] += __shfl_xor_sync(kFullMask, sum[v], offset);
  }

  /// Adds up the sums of the block's warps, in warp 0.
  __device__ void reduce_warps() {
    constexpr int kWarps = kTeamThreads / kWarp;
    __shared__ Sum shared[kWarps][Tile::kSums][Tile::kLanes];
    const int warp = threadIdx.x / kWarp;
    if (this->group == 0)
#pragma unroll
      for (int v = 0; v < Tile::kSums; ++v) shared[warp][v][this->member] = sum[v];
    __syncthreads();
    if (warp > 0) return;
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v)
#pragma unroll
      for (int w = 1; w < kWarps; ++w) sum[v] += shared[w][v][this->member];
  }
};

// grid (pieces + blocks of short rows, column tiles), block kTeamThreads.
template <class Tile>
__global__ void __launch_bounds__(kTeamThreads, kTeamBlocks<Tile>)
    spmm_teams_kernel(const SpmmArgs<typename Tile::T> args, const RodeArgs<typename Tile::Sum> rode,
                      const ResidualBins rows, const L2Prefetch ask_ahead) {
  constexpr int kWarps = kTeamThreads / kWarp;
  ask_ahead(kTeamThreads);
  Team<Tile> work(args);
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
    const ResidualBins::Teams teams = rows.of_warp(
        (blockIdx.x - static_cast<std::uint32_t>(plan.pieces)) * kWarps + static_cast<std::uint32_t>(warp));
    lanes = teams.lanes;
    const std::uint32_t at = teams.first + static_cast<std::uint32_t>(work.lane / lanes);
    writes = at < teams.end;
    if (writes) part = plan.residual(at);
  }
  int from = 0, length = part.length;
  if (is_piece) {  // a part of it for each warp
    const int share = (part.length + kWarps - 1) / kWarps;
    from = warp * share;
    length = min(share, part.length - from);
  }
  work.sum_team(part.begin + from, length, lanes);
  if (is_piece) {
    work.reduce_warps();
    if (warp > 0) return;
    writes = work.completes(rode, part, split);
  }
  work.write_y(part.row, writes && work.lane % lanes < Tile::kLanes);
}

}  // namespace rodeo::kernels::cuda
