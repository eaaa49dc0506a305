/// Reductions over the edges of every row with RoDe's decomposition. A warp has a piece, whose edges its
/// groups of lanes share round-robin; a group has a residual row. Pieces of split rows write partial results
/// to a workspace, and a second launch combines them in order: hubs are parallel, and results are
/// deterministic.
#pragma once

#include <algorithm>
#include <limits>

#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/row_tile.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/kernels/sparse.h"

namespace rodeo::kernels::cuda {

constexpr int kReductionThreads = 128;
constexpr int kEdgesInFlight = 4;  // in a group

/// The body of a reduction kernel with blocks of kReductionThreads. args has the plan (rode) and row_ptr.
/// Work must have
///   visit(part, first, step): accumulate edges first, first + step, ... of a part of a row
///   reduce_groups(): combine the groups of a warp
///   write(row), write_partial(slot): write the result of a row or of a piece
template <class Work, class Args>
__device__ __forceinline__ void reduce_rows(Work& work, const Args& args) {
  using Tile = typename Work::Tile;
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kReductionThreads + threadIdx.x) / kWarp;
  const RodeView& rode = args.rode;
  if (warp < rode.pieces) {
    const RodeView::Part piece = rode.piece(warp);
    const std::int32_t split = rode.piece_split[warp];
    work.visit(piece, work.group, Tile::kGroups);
    work.reduce_groups();
    if (work.group != 0) return;
    if (split < 0) {
      work.write(piece.row);
    } else {
      const std::int64_t index = rode.index_of(piece, args.row_ptr);
      if (index == 0 && blockIdx.y == 0 && threadIdx.x % kWarp == 0)
        args.split_row[split] = static_cast<std::int32_t>(piece.row);
      work.write_partial(rode.split_slot[split] + index);
    }
  } else {
    const std::int64_t at = (warp - rode.pieces) * Tile::kGroups + work.group;
    if (at >= rode.residuals) return;
    const RodeView::Part part = rode.residual(at);
    work.visit(part, 0, 1);
    work.write(part.row);
  }
}

/// The position of a lane: kVec columns of a row, all inside or all outside.
template <class Tile_, class Args>
struct RowLanes {
  using Tile = Tile_;
  using T = typename Tile::T;
  static constexpr int kVec = Tile::kVec;
  using Row = Pack<T, kVec>;

  const Args& args;
  const int group = threadIdx.x % kWarp / Tile::kLanes;
  const std::int64_t column;
  const bool active = column < args.k;

  __device__ explicit RowLanes(const Args& a, std::int64_t tile = blockIdx.y)
      : args(a), column(tile * Tile::kWidth + threadIdx.x % Tile::kLanes * kVec) {}
};

/// Work that sums; subclasses add visit().
template <class Tile, class Args>
struct RowSums : RowLanes<Tile, Args> {
  using Base = RowLanes<Tile, Args>;
  using Sum = typename Tile::Sum;
  using Base::active, Base::args, Base::Base, Base::column, Base::kVec;

  Sum sum[kVec] = {};

  __device__ void reduce_groups() {
#pragma unroll
    for (int offset = Tile::kLanes; offset < kWarp; offset *= 2)
#pragma unroll
      for (int v = 0; v < kVec; ++v) sum[v] += __shfl_xor_sync(kFullMask, sum[v], offset);
  }
  __device__ void write(std::int64_t row) const {
    write_to(args.y, row);
  }
  __device__ void write_partial(std::int64_t slot) const {
    write_to(args.partial, slot);
  }

 private:
  template <class Out>
  __device__ void write_to(Out* out, std::int64_t row) const {
    if (!active) return;
    Pack<Out, kVec> values;
#pragma unroll
    for (int v = 0; v < kVec; ++v) values.value[v] = static_cast<Out>(sum[v]);
    *reinterpret_cast<Pack<Out, kVec>*>(out + row * args.k + column) = values;
  }
};

// Adds the partial sums of split rows in order. One thread per element, grid-stride.
template <class Args>
__global__ void add_slots_kernel(const Args args, std::int64_t splits) {
  using Sum = std::remove_pointer_t<decltype(args.partial)>;
  RODEO_GRID_STRIDE(i, splits * args.k) {
    const std::int64_t split = i / args.k, column = i - split * args.k;
    Sum sum = 0;
#pragma unroll 8
    for (std::int64_t slot = args.rode.split_slot[split]; slot < args.rode.split_slot[split + 1]; ++slot)
      sum += args.partial[slot * args.k + column];
    args.y[args.split_row[split] * args.k + column] =
        static_cast<std::remove_pointer_t<decltype(args.y)>>(sum);
  }
}

template <class Args>
void add_slots(const char* name, Device device, const Args& args, std::int64_t splits) {
  launch(name, device, add_slots_kernel<Args>, grid_for(splits * args.k, 256), dim3(256), 0, args, splits);
}

/// Allocates the workspace of split rows and sets its pointers in args.
struct SplitRows {
  Tensor partial, row;

  template <class Args>
  SplitRows(const RodePlan& plan, Device device, Args& args) {
    using Sum = std::remove_pointer_t<decltype(args.partial)>;
    if (plan.num_split_rows() == 0) return;
    partial = Tensor::empty({plan.num_slots, args.k}, dtype_of<Sum>(), device);
    row = Tensor::empty({plan.num_split_rows()}, DType::kI32, device);
    args.partial = partial.data<Sum>();
    args.split_row = row.data<std::int32_t>();
  }
};

/// Launches a kernel that calls reduce_rows, for all column tiles or the first few.
template <class Tile, class Args>
void launch_reduction(const char* name, Device device, void (*kernel)(Args), const Args& args,
                      std::int64_t tiles = std::numeric_limits<std::int64_t>::max()) {
  const std::int64_t warps = args.rode.pieces + ceil_div(args.rode.residuals, Tile::kGroups);
  const dim3 grid(static_cast<unsigned>(ceil_div(warps, kReductionThreads / kWarp)),
                  static_cast<unsigned>(std::min(tiles, ceil_div(args.k, Tile::kWidth))));
  launch(name, device, kernel, grid, dim3(kReductionThreads), 0, args);
}

}  // namespace rodeo::kernels::cuda
