/// Column tiles for kernels that read several arrays of the same shape.
#pragma once

#include "core/cuda/launch.cuh"

namespace rodeo::kernels::cuda {

/// A group of kLanes lanes, kVec elements each, covers a column tile of a row. The kGroups groups of a warp
/// work on different edges or rows.
template <class T_, int kVec_, int kLanes_>
struct RowTile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kVec = kVec_, kLanes = kLanes_, kGroups = rodeo::cuda::kWarp / kLanes_,
                       kWidth = kVec_ * kLanes_;
};

/// Calls f(RowTile{}) with a tile for heads of `per_head` columns. All columns of a lane belong to one head.
/// `aligned`: all arrays begin at multiples of 16 bytes.
template <class T, class F>
void dispatch_row_tile(std::int64_t per_head, bool aligned, F&& f) {
  constexpr int kVec = 16 / sizeof(T);
  if constexpr (sizeof(T) == 8)  // f64 is a reference: one case is enough
    f(RowTile<T, 1, 32>{});
  else if (aligned && per_head % kVec == 0)
    f(RowTile<T, kVec, 8>{});
  else if (per_head <= 8)
    f(RowTile<T, 1, 8>{});
  else
    f(RowTile<T, 1, 32>{});
}

}  // namespace rodeo::kernels::cuda
