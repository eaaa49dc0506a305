/// One warp's work in TCA-SpMM: gathering, multiplying, traces and output.
#pragma once

#include "ops/cuda/spmm/tca_operands.cuh"
#include "ops/plan/tca_plan.h"

namespace rodeo::kernels::cuda {

constexpr int kTcaWarps = TcaPlan::kWarps, kTcaThreads = kTcaWarps * kWarp;
constexpr int kTcaChunk = TcaPlan::kChunk;
constexpr int kTcaTileBytes = 128;  // of each row of X

template <class T>
struct TcaArgs {
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T* weight;                                   // [edges], or null for an unweighted sum
  const T* x;                                        // [cols, pitch], rows at multiples of 16 bytes
  T* y;                                              // [rows, columns]
  const std::int32_t *row_id, *num_warps, *warp_id;  // of TcaPlan
  std::uint32_t columns, row_bytes;                  // of X
  int tiles;
  bool whole_vectors;  // rows of Y begin at multiples of 16 bytes
};

/// Shared memory of a block. A row's share of each part is proportional to its warps.
template <class T, bool kWeighted>
struct alignas(128) TcaShared {
  static constexpr int kStepChunks = 2;         // of a long row between two barriers
  static constexpr int kSegment = kTcaThreads;  // nonzeros that the block loads at once, one a thread
  static constexpr int kPad = 4 * kSegment;

  char rhs[2][kStepChunks][kTcaChunk * kTcaTileBytes];  // compressed-RHS buffer: two steps
  T output[2][kTcaWarps * kTcaTileBytes / sizeof(T)];   // output buffer: a tile of each row
  alignas(16) std::int32_t col[kPad];                   // sparse-row scratch pad; -1: nothing to fetch
  alignas(16) T value[kWeighted ? kPad : 1];
};

/// 16 bytes at x + col * row_bytes, of global memory. The address in one instruction: the compiler takes up
/// to four, for each of the most frequent loads.
__device__ __forceinline__ uint4 load_row_part(const char* x, std::int32_t col, std::uint32_t row_bytes) {
  const char* at;
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(col), "r"(row_bytes), "l"(x));
  uint4 out;
  asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
      : "l"(at));
  return out;
}

/// A warp's part of the work on a row that has kBlocks warps in this block.
template <class T, bool kWeighted, int kBlocks>
struct TcaWarp {
  using Shared = TcaShared<T, kWeighted>;
  using Operands = TcaOperands<T, kBlocks>;
  using Right = typename Operands::Right;
  using Map = typename Operands::Map;
  static constexpr int kVec = Map::kVec, kColumns = Map::kColumns;
  struct Rows {
    uint4 row[2];
  };

  const TcaArgs<T>& args;
  Shared& shared;
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const int member = warp % kBlocks;  // of the row's warps in this block
  const int first_warp = warp - member;
  const Operands operands{member};
  const char* x = nullptr;  // this lane's part of row 0 of the tile
  bool loads = false;       // this lane's part of the tile exists
  bool wanted[2] = {};      // parts of the products that have columns
  float sum[Operands::kProducts][4] = {};

  __device__ TcaWarp(const TcaArgs<T>& a, Shared& s) : args(a), shared(s) {}

  /// Synchronises the warps of this row in this block.
  __device__ void sync() const {
    if constexpr (kBlocks == 1)
      __syncwarp();
    else if constexpr (kBlocks == kTcaWarps)
      __syncthreads();
    else
      asm volatile("bar.sync %0, %1;" ::"r"(1 + first_warp), "n"(kBlocks * kWarp) : "memory");
  }
  /// The row's share of the compressed-RHS buffer.
  __device__ std::uint32_t rhs(int step) const {
    return shared_address(shared.rhs[step]) + first_warp * (8 * kTcaTileBytes);
  }
  __device__ void begin_tile(int tile) {
    const std::uint32_t first = tile * kColumns, byte = tile * kTcaTileBytes + lane % 8 * 16;
    x = reinterpret_cast<const char*>(args.x) + byte;
    loads = byte < args.row_bytes;
#pragma unroll
    for (int part = 0; part < 2; ++part)
      wanted[part] = first + Map::first_column(member, part) < args.columns;
  }
  /// Loads this lane's part of two rows of X. What does not exist in the tile keeps what it was: its columns
  /// are not written. kChecked: nothing is fetched for column -1, which counts as zeros.
  template <bool kChecked>
  __device__ void gather(Rows& rows, std::int32_t col0, std::int32_t col1) const {
    const std::int32_t cols[2] = {col0, col1};
    if constexpr (kChecked) rows = {};
#pragma unroll
    for (int i = 0; i < 2; ++i)
      if (loads && (!kChecked || cols[i] >= 0)) rows.row[i] = load_row_part(x, cols[i], args.row_bytes);
  }
  __device__ void store(std::uint32_t buffer, const Rows& rows) const {
    operands.store(buffer, rows.row);
  }
  __device__ void multiply(std::uint32_t buffer, Right right) {
    operands.multiply(sum, buffer, right, wanted);
  }
  /// The right operand: of 8 kBlocks nonzeros from `slot` on.
  __device__ Right right(int slot) const {
    if constexpr (kWeighted)
      return Operands::load_right(shared.value + slot);
    else
      return Operands::ones();
  }

  /// Traces of the diagonal blocks, to the output buffer. Lane 4 g + t takes diagonal element g of the t-th
  /// of four left operands by shuffles. Then kBlocks neighbouring g are summed, for all operands at once.
  __device__ void write_traces(int buffer) {
    const int g = lane / 4, t = lane % 4, holder = g * 4 + g / 2;
    T* const out = shared.output[buffer] + first_warp * kColumns;
#pragma unroll
    for (int i = 0; i < Operands::kProducts / 2; ++i) {
      float trace = 0;
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const float(&d)[4] = sum[2 * i + q / 2];
        const float value = __shfl_sync(kFullMask, g % 2 ? d[q % 2 * 2 + 1] : d[q % 2 * 2], holder);
        if (q == t) trace = value;
      }
#pragma unroll
      for (int offset = 1; offset < kBlocks; offset *= 2)
        trace += __shfl_xor_sync(kFullMask, trace, offset * 4);
      if (g % kBlocks == 0) out[Map::column(member, 4 * i + t, g)] = static_cast<T>(trace);
    }
#pragma unroll
    for (auto& product : sum)
#pragma unroll
      for (float& value : product) value = 0;
  }

  /// The first warp of the row writes a tile of it.
  __device__ void flush(int buffer, std::int64_t row, int tile) const {
    if (member != 0) return;
    const std::int64_t first = static_cast<std::int64_t>(tile) * kColumns;
    const T* const from = shared.output[buffer] + first_warp * kColumns;
    T* const y = args.y + row * args.columns + first;
    const int columns = min(static_cast<int>(args.columns) - tile * kColumns, kColumns);
    if (args.whole_vectors) {
      if (lane * kVec < columns)
        reinterpret_cast<uint4*>(y)[lane] = reinterpret_cast<const uint4*>(from)[lane];
    } else {
#pragma unroll 1
      for (int i = lane; i < columns; i += kWarp) y[i] = from[i];
    }
  }
};

}  // namespace rodeo::kernels::cuda
