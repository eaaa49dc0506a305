/// Sums of rows that RoDe's plan splits into several pieces.
#pragma once

#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/rode/row_loader.cuh"

namespace rodeo::kernels::cuda {

template <class Sum>
struct RodeArgs {
  RodeView plan;
  Sum* partial;  // [slots, columns]; null for sums by atomicAdd
  int* arrived;  // [split rows, column tiles of this launch], zero before and after the launch
};

/// Every group gets the sum over the groups of the warp.
template <class Tile>
__device__ void reduce_groups(typename Tile::Sum (&sum)[Tile::kSums]) {
#pragma unroll
  for (int offset = Tile::kLanes; offset < kWarp; offset *= 2)
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) sum[v] += __shfl_xor_sync(kFullMask, sum[v], offset);
}

/// The published way: adds the piece's sum to Y, which was zeroed, in no fixed order.
template <class Tile>
__device__ void add_to_y(const RowLoader<Tile>& loader, const typename Tile::Sum (&sum)[Tile::kSums],
                         std::int64_t row) {
  if constexpr (sizeof(typename Tile::T) >= 4) {
    if (loader.group > 0) return;
    const auto& args = loader.args;
#pragma unroll
    for (int l = 0; l < Tile::kLoads; ++l) {
      if (!loader.active(l)) break;
      const std::int64_t column = loader.column + l * Tile::kLoadStride;
      const std::int64_t head = loader.head_of(column), first = column - head * args.pitch;
      auto* y = args.y + (row * args.heads + head) * args.k;
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v)
        if (first + v < args.k) atomicAdd(y + first + v, sum[l * Tile::kVec + v]);
    }
  }
}

/// Writes piece `index` of the row to the workspace. True for the last warp to arrive: `sum` is then the sum
/// of all pieces, added in their order.
template <class Tile>
__device__ bool combine_pieces(const RowLoader<Tile>& loader, typename Tile::Sum (&sum)[Tile::kSums],
                               const RodeArgs<typename Tile::Sum>& rode, int split, std::int64_t index) {
  using Partial = Pack<typename Tile::Sum, Tile::kVec>;
  const std::int64_t n = loader.args.stride, first = rode.plan.split_slot[split];
  const int count = static_cast<int>(rode.plan.split_slot[split + 1] - first);
  const auto slot = [&](std::int64_t i, int load) {
    return reinterpret_cast<Partial*>(rode.partial + (first + i) * n + loader.column +
                                      load * Tile::kLoadStride);
  };
  if (loader.group == 0) {
#pragma unroll
    for (int l = 0; l < Tile::kLoads; ++l) {
      if (!loader.active(l)) break;
      Partial mine;
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v) mine.value[v] = sum[l * Tile::kVec + v];
      *slot(index, l) = mine;
    }
  }
  if (!is_last_warp(rode.arrived + static_cast<std::int64_t>(split) * gridDim.y + blockIdx.y, count))
    return false;
#pragma unroll
  for (int v = 0; v < Tile::kSums; ++v) sum[v] = 0;
#pragma unroll 4
  for (int i = loader.group; i < count; i += Tile::kGroups)
#pragma unroll
    for (int l = 0; l < Tile::kLoads; ++l) {
      if (!loader.active(l)) break;
#pragma unroll
      for (int v = 0; v < Tile::kVec; ++v)  // from L2: other multiprocessors wrote it
        sum[l * Tile::kVec + v] += __ldcg(slot(i, l)->value + v);
    }
  reduce_groups<Tile>(sum);
  return true;
}

/// `sum` is the sum of a piece, in every group of the warp. True where it is then the sum of the row, which
/// this warp writes.
template <class Tile>
__device__ bool finish_piece(const RowLoader<Tile>& loader, typename Tile::Sum (&sum)[Tile::kSums],
                             const RodeArgs<typename Tile::Sum>& rode, const RodeView::Part& piece,
                             std::int32_t split) {
  if (split < 0) return true;
  if (rode.partial)
    return combine_pieces(loader, sum, rode, split, rode.plan.index_of(piece, loader.args.row_ptr));
  add_to_y(loader, sum, piece.row);
  return false;
}

}  // namespace rodeo::kernels::cuda
