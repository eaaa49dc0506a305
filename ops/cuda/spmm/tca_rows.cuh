/// The two ways in which TCA-SpMM computes rows: multirow_per_block and multiblock_per_row.
#pragma once

#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/spmm/tca_warp.cuh"

namespace rodeo::kernels::cuda {

/// Rows of up to 64 nonzeros: the whole row is in the scratch pad, and tile follows tile.
template <int kBlocks, bool kWeighted, class T>
__device__ void multirow_per_block(const TcaArgs<T>& args, TcaShared<T, kWeighted>& shared, std::int64_t row,
                                   std::int64_t begin, int length) {
  using Warp = TcaWarp<T, kWeighted, kBlocks>;
  Warp warp(args, shared);
  const int first_slot = warp.warp * 8;  // of this warp's nonzeros
  if (warp.lane < 8) {
    const int at = warp.member * 8 + warp.lane;
    const bool exists = at < length;
    shared.col[first_slot + warp.lane] = exists ? args.col[begin + at] : -1;
    if constexpr (kWeighted)
      shared.value[first_slot + Warp::Operands::place(warp.lane)] =
          exists ? args.weight[begin + at] : static_cast<T>(0.0f);
  }
  __syncwarp();
  const std::int32_t col[2] = {shared.col[first_slot + warp.lane / 8],
                               shared.col[first_slot + warp.lane / 8 + 4]};
  typename Warp::Rows x = {};
  warp.begin_tile(0);
  warp.template gather<true>(x, col[0], col[1]);
  warp.sync();  // all values of the row are in the scratch pad
  const auto right = warp.right(warp.first_warp * 8);
#pragma unroll 1
  for (int tile = 0; tile < args.tiles; ++tile) {
    const int buffer = tile % 2;
    warp.store(warp.rhs(buffer), x);
    const bool wanted[2] = {warp.wanted[0] && length > 0, warp.wanted[1] && length > 0};
    if (tile + 1 < args.tiles) {
      warp.begin_tile(tile + 1);
      warp.template gather<true>(x, col[0], col[1]);
    }
    warp.sync();
    if (tile > 0) warp.flush(buffer ^ 1, row, tile - 1);
    warp.operands.multiply(warp.sum, warp.rhs(buffer), right, wanted);
    warp.write_traces(buffer);
  }
  warp.sync();
  warp.flush((args.tiles - 1) % 2, row, args.tiles - 1);
}

/// Fills the scratch pad of a long row, a nonzero a thread, segment after segment.
template <class T, bool kWeighted>
class TcaPad {
 public:
  using Shared = TcaShared<T, kWeighted>;
  static_assert(Shared::kStepChunks == 2 && kTcaChunk == 64);

  __device__ TcaPad(const TcaArgs<T>& args, std::int64_t begin, int length)
      : col_(args.col + begin), weight_(kWeighted ? args.weight + begin : nullptr), length_(length) {
    keep(col_slot_);
  }

  /// Columns of a step, so that one load gets the four of a lane: those of nonzeros m and m + 4 of the warp,
  /// in both chunks.
  __device__ static std::uint32_t col_slot() {
    const int t = threadIdx.x;
    return (t & ~127) | (t >> 3 & 7) << 4 | (t & 3) << 2 | (t >> 6 & 1) << 1 | (t >> 2 & 1);
  }
  __device__ static const int4& cols_of(const Shared& shared, std::uint32_t step_slot) {
    return *reinterpret_cast<const int4*>(shared.col + step_slot + threadIdx.x / 8 * 4);
  }

  __device__ void load() {
    const bool exists = at_ < length_;
    now_.col = exists ? load_streaming(col_ + at_) : -1;
    if constexpr (kWeighted) now_.value = exists ? load_streaming(weight_ + at_) : static_cast<T>(0.0f);
    at_ += Shared::kSegment;
  }
  /// Writes what the last load() got to the segment that begins at `slot`.
  __device__ void store(Shared& shared, std::uint32_t slot) const {
    shared.col[slot + col_slot_] = now_.col;
    if constexpr (kWeighted)
      shared.value[slot + (threadIdx.x & ~7U) + TcaOperands<T, kTcaWarps>::place(threadIdx.x % 8)] =
          now_.value;
  }

 private:
  const std::int32_t* col_;
  const T* weight_;
  int length_;
  int at_ = threadIdx.x;
  std::uint32_t col_slot_ = col_slot();
  struct {
    std::int32_t col;
    T value;
  } now_;
};

/// Rows of more than 64 nonzeros: the blocks of a row take tiles in turn. A step is two chunks of 64: while
/// they are multiplied, those of the next step are being fetched.
template <bool kWeighted, class T>
__device__ void multiblock_per_row(const TcaArgs<T>& args, TcaShared<T, kWeighted>& shared, std::int64_t row,
                                   std::int64_t begin, int length, int block, int blocks) {
  using Shared = TcaShared<T, kWeighted>;
  using Warp = TcaWarp<T, kWeighted, kTcaWarps>;
  constexpr int kStepChunks = Shared::kStepChunks, kStep = kStepChunks * kTcaChunk;
  constexpr std::uint32_t kBuffer = sizeof(shared.rhs[0]), kChunkBytes = kBuffer / kStepChunks;
  static_assert(Shared::kSegment == 2 * kStep, "a segment is stored before the barrier that publishes it");
  Warp warp(args, shared);
  const int steps = static_cast<int>(ceil_div(length, kStep)), full_steps = length / kStep;
  const bool last_is_half = length - (steps - 1) * kStep <= kTcaChunk;
  typename Warp::Rows x[kStepChunks] = {};
#pragma unroll 1
  for (int tile = block; tile < args.tiles; tile += blocks) {
    if (tile != block) __syncthreads();  // the scratch pad of the tile before may still be read
    TcaPad<T, kWeighted> first(args, begin, length);
    first.load();
    auto pad = first;
    pad.load();  // both loads are in flight before the first store
    first.store(shared, 0);
    pad.store(shared, Shared::kSegment);
    warp.begin_tile(tile);
    __syncthreads();
    const auto gather = [&](int step) {
      const int4& cols = TcaPad<T, kWeighted>::cols_of(shared, step * kStep % Shared::kPad);
      if (step < full_steps) {
        const int4 c = cols;
        warp.template gather<false>(x[0], c.x, c.y);
        warp.template gather<false>(x[1], c.z, c.w);
      } else if (step < steps) {
        const int4 c = cols;
        warp.template gather<true>(x[0], c.x, c.y);
        warp.template gather<true>(x[1], c.z, c.w);
      }
    };
    gather(0);
    // Steps in pairs, so that buffers are at constant addresses. Segment s + 2 is loaded at the first step of
    // segment s and published by the barrier of the second.
    const auto run_step = [&](int step, int buffer) {
      const std::uint32_t rhs = warp.rhs(0) + buffer * kBuffer;
#pragma unroll
      for (int c = 0; c < kStepChunks; ++c) warp.store(rhs + c * kChunkBytes, x[c]);
      gather(step + 1);
      if (buffer == 0)
        pad.load();
      else
        pad.store(shared, (step * kStep + 3 * kStep) % Shared::kPad);
      __syncthreads();
      const int values = step * kStep % Shared::kPad;
      warp.multiply(rhs, warp.right(values));
      if (step + 1 < steps || !last_is_half) warp.multiply(rhs + kChunkBytes, warp.right(values + kTcaChunk));
    };
#pragma unroll 1
    for (int step = 0; step < steps; step += 2) {
      run_step(step, 0);
      if (step + 1 < steps) run_step(step + 1, 1);
    }
    warp.write_traces(0);
    __syncthreads();
    warp.flush(0, row, tile);
  }
}

// grid warps of the plan / kTcaWarps, block kTcaThreads.
template <class T, bool kWeighted, int kBlocksPerMultiprocessor>
__global__ void __launch_bounds__(kTcaThreads, kBlocksPerMultiprocessor)
    spmm_tca_kernel(const TcaArgs<T> args) {
  __shared__ TcaShared<T, kWeighted> shared;
  const std::int64_t warp = static_cast<std::int64_t>(blockIdx.x) * kTcaWarps + threadIdx.x / kWarp;
  const std::int32_t row = args.row_id[warp], warp_id = args.warp_id[warp];
  if ((row | warp_id) < 0) return;  // of both, so that both loads are issued at once
  const int warps = args.num_warps[row];
  const std::int64_t begin = args.row_ptr[row];
  const auto length = static_cast<int>(args.row_ptr[row + 1] - begin);
  if (length > kTcaChunk)
    return multiblock_per_row(args, shared, row, begin, length, warp_id / kTcaWarps, warps / kTcaWarps);
  switch (warps) {
    case 1:
      return multirow_per_block<1>(args, shared, row, begin, length);
    case 2:
      return multirow_per_block<2>(args, shared, row, begin, length);
    case 4:
      return multirow_per_block<4>(args, shared, row, begin, length);
    default:
      return multirow_per_block<8>(args, shared, row, begin, length);
  }
}

}  // namespace rodeo::kernels::cuda
