/// Writes a row of Y from the sums of a group of lanes.
#pragma once

#include "ops/cuda/rode/row_loader.cuh"

namespace rodeo::kernels::cuda {

/// Whether lanes write Y with the same width and layout as they read X; else by way of shared memory.
template <class Tile>
__host__ __device__ __forceinline__ bool writes_directly(const SpmmArgs<typename Tile::T>& args) {
  return Tile::kVec == 1 || args.whole_vectors;
}

/// Dynamic shared memory of a block of `threads`.
template <class Tile>
std::size_t staging_bytes(const SpmmArgs<typename Tile::T>& args, int threads) {
  return writes_directly<Tile>(args) ? 0 : static_cast<std::size_t>(threads) * Tile::kLoads * 16;
}

template <class Tile>
__device__ Pack<typename Tile::T, Tile::kVec> packed_result(const typename Tile::Sum (&sum)[Tile::kSums],
                                                            int load) {
  Pack<typename Tile::T, Tile::kVec> out;
#pragma unroll
  for (int v = 0; v < Tile::kVec; ++v)
    out.value[v] = static_cast<typename Tile::T>(sum[load * Tile::kVec + v]);
  return out;
}

/// Rows of Y that begin at any address: neighbouring lanes write neighbouring elements.
template <class Tile>
__device__ void store_staged(const RowLoader<Tile>& loader, const typename Tile::Sum (&sum)[Tile::kSums],
                             typename Tile::T* y, bool valid) {
  using T = typename Tile::T;
  const auto& args = loader.args;
  extern __shared__ uint4 staged_rows[];
  T* const staged = reinterpret_cast<T*>(staged_rows) + threadIdx.x / Tile::kLanes * Tile::kWidth;
#pragma unroll
  for (int l = 0; l < Tile::kLoads; ++l)
    *reinterpret_cast<Pack<T, Tile::kVec>*>(staged + l * Tile::kLoadStride + loader.member * Tile::kVec) =
        packed_result<Tile>(sum, l);
  __syncwarp();
  if (args.heads == 1) {
    const int columns = valid ? static_cast<int>(min(args.k - loader.tile, std::int64_t{Tile::kWidth})) : 0;
#pragma unroll
    for (int i = 0; i < Tile::kSums; ++i) {
      const int at = i * Tile::kLanes + loader.member;
      if (at < columns) y[loader.tile + at] = staged[at];
    }
  } else if (valid) {
#pragma unroll 1
    for (int at = loader.member; at < Tile::kWidth; at += Tile::kLanes) {
      const std::int64_t head = loader.head_of(loader.tile + at),
                         first = loader.tile + at - head * args.pitch;
      if (loader.tile + at < args.stride && first < args.k) y[head * args.k + first] = staged[at];
    }
  }
  __syncwarp();  // the next row may be staged
}

/// Called by whole warps; lanes that are `valid` write.
template <class Tile>
__device__ void store_row(const RowLoader<Tile>& loader, const typename Tile::Sum (&sum)[Tile::kSums],
                          std::int64_t row, bool valid) {
  const auto& args = loader.args;
  auto* const y = args.y + row * args.heads * args.k;
  if (writes_directly<Tile>(args)) {
#pragma unroll
    for (int l = 0; l < Tile::kLoads; ++l)
      if (valid && loader.active(l))
        *reinterpret_cast<Pack<typename Tile::T, Tile::kVec>*>(y + loader.column + l * Tile::kLoadStride) =
            packed_result<Tile>(sum, l);
  } else {
    store_staged(loader, sum, y, valid);
  }
}

}  // namespace rodeo::kernels::cuda
