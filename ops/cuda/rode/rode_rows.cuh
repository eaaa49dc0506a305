/// What RoDe's kernels do with the sums of a row's pieces.
#pragma once

#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/spmm/gather.cuh"

namespace rodeo::kernels::cuda {

template <class Sum>
struct RodeArgs {
  RodeView plan;
  Sum* partial;  // [slots, columns]; null where pieces meet by atomicAdd
  int* arrived;  // [split rows, column tiles of this launch], zero, and left so
};

template <class Tile_>
struct RodeRow : Gather<Tile_> {
  using Tile = Tile_;
  using Base = Gather<Tile>;
  using Base::sum;
  using typename Base::Sum;

  __device__ explicit RodeRow(const SpmmArgs<typename Tile::T>& args) : Base(args) {}

  template <int kRows, class Wanted>
  __device__ void add_rows_if(const typename Base::Row (&row)[kRows], const Sum (&weight)[kRows],
                              Wanted&& wanted) {
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      if (wanted(k)) this->add(row[k], weight[k]);
  }
  /// What other ways to add up need: settle() leaves the rows that were added in sum; mend(begin, length)
  /// sees the sum of these nonzeros.
  __device__ void settle() {}
  __device__ void mend(std::int64_t, std::int64_t) {}

  /// Afterwards every group has the sum over all groups.
  __device__ void reduce_groups() {
#pragma unroll
    for (int offset = Tile::kLanes; offset < kWarp; offset *= 2)
#pragma unroll
      for (int v = 0; v < Tile::kSums; ++v) sum[v] += __shfl_xor_sync(kFullMask, sum[v], offset);
  }

  /// As published: pieces meet in Y, which was zeroed, in whatever order they come.
  __device__ void add_to_y(std::int64_t row) const {
    if constexpr (sizeof(typename Tile::T) >= 4) {
      if (this->group > 0) return;
      const auto& args = this->args;
#pragma unroll
      for (int c = 0; c < Tile::kChunks; ++c) {
        if (!this->active(c)) break;
        const std::int64_t column = this->column + c * Tile::kChunk;
        const std::int64_t head = this->head_of(column), first = column - head * args.pitch;
        auto* y = args.y + (row * args.heads + head) * args.k;
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v)
          if (first + v < args.k) atomicAdd(y + first + v, sum[c * Tile::kVec + v]);
      }
    }
  }

  /// Leaves this piece's sum; true for the warp that finds all others done, which then holds the row's sum.
  __device__ bool combine(const RodeArgs<Sum>& rode, int split, std::int64_t index) {
    using Partial = Pack<Sum, Tile::kVec>;
    const std::int64_t n = this->args.stride, first = rode.plan.split_slot[split];
    const int count = static_cast<int>(rode.plan.split_slot[split + 1] - first);
    const auto slot = [&](std::int64_t i, int chunk) {
      return reinterpret_cast<Partial*>(rode.partial + (first + i) * n + this->column + chunk * Tile::kChunk);
    };
    if (this->group == 0) {
#pragma unroll
      for (int c = 0; c < Tile::kChunks; ++c) {
        if (!this->active(c)) break;
        Partial mine;
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v) mine.value[v] = sum[c * Tile::kVec + v];
        *slot(index, c) = mine;
      }
    }
    __threadfence();
    __syncwarp();
    int before = 0;
    if (this->lane == 0) {
      int* const arrived = rode.arrived + static_cast<std::int64_t>(split) * gridDim.y + blockIdx.y;
      before = atomicAdd(arrived, 1);
      if (before == count - 1) *arrived = 0;  // for the next launch
    }
    if (__shfl_sync(kFullMask, before, 0) != count - 1) return false;
    __threadfence();
#pragma unroll
    for (int v = 0; v < Tile::kSums; ++v) sum[v] = 0;
#pragma unroll 4
    for (int i = this->group; i < count; i += Tile::kGroups)
#pragma unroll
      for (int c = 0; c < Tile::kChunks; ++c) {
        if (!this->active(c)) break;
#pragma unroll
        for (int v = 0; v < Tile::kVec; ++v)  // from L2: other SMs wrote it
          sum[c * Tile::kVec + v] += __ldcg(slot(i, c)->value + v);
      }
    reduce_groups();
    return true;
  }

  /// Every group of the warp has the sum of a piece; true where the warp then has that of the row.
  __device__ bool completes(const RodeArgs<Sum>& rode, const RodeView::Part& piece, std::int32_t split) {
    if (split < 0) return true;
    if (rode.partial) return combine(rode, split, rode.plan.index_of(piece, this->args.row_ptr));
    add_to_y(piece.row);
    return false;
  }
};

}  // namespace rodeo::kernels::cuda
