/// f32 products of tall matrices on tensor cores, with dropout of the left operand fused in. Shared by
/// tall_matmul, its transpose and the wgmma kernels.
///
/// f32 accuracy comes from splitting: x = high + low, each a TF32 value of 11 significant bits. Three
/// products (low * high, high * low, high * high) leave an error of at most 2^-22 |x w|. Tensor cores
/// truncate their sums, so they add 32 terms at most; the f32 units add those sums.
#pragma once

#include <algorithm>
#include <iterator>

#include "core/random.h"
#include "ops/cuda/device/async_copy.cuh"
#include "ops/cuda/device/mma.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"
#include "ops/kernels/dropout.h"
#include "ops/plan/gemm_config.h"

namespace rodeo::kernels::cuda {

constexpr int kTallDepth = kGemmDepth;

/// The left operand D(x): D(x)[i, j] = x[i, j] scale[i] keep if element (i, j) is kept, else 0.
struct TallDropout {
  const float* scale;       // [m], or null: 1
  float keep;               // 1 / (1 - p)
  std::uint32_t threshold;  // dropout_keeps(); 0: no dropout
  RandomKey key;
  std::uint64_t first_quad;  // of the first row
  std::uint32_t* kept;       // [m, tall_words(columns)]: bit j % 32 of word j / 32, or null
};

__host__ __device__ constexpr int tall_words(int columns) {
  return (columns + 31) / 32;
}

/// Matrices of one shape side by side, `width` columns each.
struct ColumnParts {
  float* part[MatrixParts::kMost];  // of parts that do not exist: the first
  int width;

  ColumnParts() = default;
  explicit ColumnParts(const MatrixParts& x) : part{}, width(0) {
    if (!x.defined()) return;
    for (std::size_t i = 0; i < MatrixParts::kMost; ++i)
      part[i] = device_data<float>(x.parts[i < x.parts.size() ? i : 0]);
    width = static_cast<int>(x.dim(x.parts.front().rank() - 1));
  }
  /// kMany: there may be several parts.
  template <bool kMany, class Row>
  __device__ __forceinline__ float* at(Row row, int column) const {
    float* from = part[0];
    if constexpr (kMany)
#pragma unroll
      for (std::size_t i = 1; i < MatrixParts::kMost; ++i)
        if (column >= width) column -= width, from = part[i];
    return from + row * width + column;
  }
};
inline bool is_aligned(const MatrixParts& x) {
  return std::all_of(x.parts.begin(), x.parts.end(), [](const Tensor& part) { return is_aligned(part); });
}

struct TallMatrix {
  const float* x;
  std::int64_t rows;
  int columns, pitch;
  bool in_quads;  // rows consist of aligned quads: one load and one Philox call each
};

/// Columns k .. k + 3 of a row, 0 past the end.
__device__ __forceinline__ float4 load_quad(const TallMatrix& m, std::int64_t row, std::int64_t end, int k) {
  float4 out{0, 0, 0, 0};
  if (row >= end || k >= m.columns) return out;
  const float* at = m.x + row * m.pitch + k;
  if (m.in_quads) return *reinterpret_cast<const float4*>(at);
  out.x = at[0];
  if (k + 1 < m.columns) out.y = at[1];
  if (k + 2 < m.columns) out.z = at[2];
  if (k + 3 < m.columns) out.w = at[3];
  return out;
}

/// Which of elements 4 quad .. 4 quad + 3 are kept, as bits 0 to 3.
__device__ __forceinline__ std::uint32_t draw_quad(const TallDropout& d, std::uint64_t stream,
                                                   std::uint64_t quad) {
  const Philox4 random = philox(d.key.seed, stream, d.first_quad + quad);
  std::uint32_t bits = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) bits |= dropout_keeps(random.word[k], d.threshold) ? 1u << k : 0;
  return bits;
}

/// kept[i] for the four elements from index[i] on. `aligned`: every index is a multiple of 4. Without
/// branches between them, the Philox calls overlap.
template <int kCount>
__device__ __forceinline__ void draw_quads(const TallDropout& d, std::uint64_t stream, bool aligned,
                                           const std::int64_t (&index)[kCount],
                                           std::uint32_t (&kept)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) kept[i] = draw_quad(d, stream, static_cast<std::uint64_t>(index[i]) >> 2);
  if (aligned) return;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    if (const int shift = static_cast<int>(index[i] & 3); shift > 0) {
      const std::uint32_t next = draw_quad(d, stream, (static_cast<std::uint64_t>(index[i]) >> 2) + 1);
      kept[i] = (kept[i] | next << 4) >> shift & 15;
    }
}

__device__ __forceinline__ void keep(float4& v, std::uint32_t kept) {
  if (!(kept & 1)) v.x = 0;
  if (!(kept & 2)) v.y = 0;
  if (!(kept & 4)) v.z = 0;
  if (!(kept & 8)) v.w = 0;
}

struct Split {
  std::uint32_t high, low;
};

__device__ __forceinline__ Split split(float x) {
  // Rounds to nearest in integers. The tensor core truncates `low` to 11 bits, which loses the last bit of x.
  const std::uint32_t high = (__float_as_uint(x) + 0x1000) & 0xffffe000;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

/// The accumulators of a warp: kM x kN tiles of 16 x 8. Lane (g, t), g = lane / 4, t = lane % 4, has rows g
/// and g + 8 and columns 2t and 2t + 1 of the sums, and k = t and t + 4 of the operands.
template <int kM, int kN>
struct TallTiles {
  float sum[kM][kN][4] = {};

  /// sum += a b for one k8. left(m, half, k) is a[16m + 8 half + g, t + 4k], right(n, k) b[t + 4k, 8n + g].
  template <class Left, class Right>
  __device__ __forceinline__ void add(Left left, Right right) {
    std::uint32_t a_high[kM][4], a_low[kM][4], b_high[kN][2], b_low[kN][2];
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Split s = split(left(m, i % 2, i / 2));
        a_high[m][i] = s.high;
        a_low[m][i] = s.low;
      }
#pragma unroll
    for (int n = 0; n < kN; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const Split s = split(right(n, i));
        b_high[n][i] = s.high;
        b_low[n][i] = s.low;
      }
    // Small products first. Consecutive instructions write different sums, so that they overlap.
    const auto each = [&](auto& a, auto& b) {
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int n = 0; n < kN; ++n) mma_m16n8k8_tf32(sum[m][n], a[m], b[n]);
    };
    each(a_low, b_high);
    each(a_high, b_low);
    each(a_high, b_high);
  }
  __device__ __forceinline__ void add(const TallTiles& other) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int n = 0; n < kN; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum[m][n][i] += other.sum[m][n][i];
  }
};

/// Starts the copy of a kRows x kColumns tile to shared memory, with zeros past `rows` and `columns`.
/// `quads`: rows consist of aligned quads, copied 16 bytes at a time.
template <int kThreads, int kRows, int kColumns, int kPitch>
__device__ __forceinline__ void stage_tile(const float* from, int pitch, int rows, int columns, bool quads,
                                           float* to) {
  if (quads) {
#pragma unroll 2
    for (int place = threadIdx.x; place < kRows * kColumns / 4; place += kThreads) {
      const int column = place % (kColumns / 4) * 4, row = place / (kColumns / 4);
      const bool inside = row < rows && column < columns;
      async_copy_or_zero<16>(to + row * kPitch + column, inside ? from + row * pitch + column : from, inside);
    }
  } else {
#pragma unroll 2
    for (int place = threadIdx.x; place < kRows * kColumns; place += kThreads) {
      const int column = place % kColumns, row = place / kColumns;
      const bool inside = row < rows && column < columns;
      async_copy_or_zero<4>(to + row * kPitch + column, inside ? from + row * pitch + column : from, inside);
    }
  }
}

/// Pitches of tiles in shared memory without bank conflicts: of a tile with k along its columns, and with k
/// along its rows.
constexpr int kTallPitch = kTallDepth + 4;
__host__ __device__ constexpr int tall_pitch(int columns) {
  return (columns + 23) / 32 * 32 + 8;
}

inline bool in_quads(const Tensor& t, std::int64_t columns) {
  return columns % 4 == 0 && t.dim(1) % 4 == 0 && is_aligned(t);
}

inline TallMatrix matrix_of(const Tensor& x, std::int64_t columns) {
  return {device_data<float>(x), x.dim(0), static_cast<int>(columns), static_cast<int>(x.dim(1)),
          in_quads(x, columns)};
}

/// For a matrix with `columns` columns.
inline TallDropout dropout_of(const DropoutInput& x, std::int64_t columns) {
  return {.scale = device_data<float>(x.scale),
          .keep = static_cast<float>(1 / (1 - x.p)),
          .threshold = dropout_threshold(x.p),
          .key = x.key,
          .first_quad = kernels::first_quad(x.key, columns),
          .kept = static_cast<std::uint32_t*>(x.kept.raw())};
}

/// Allocates the partial sums of a product over rows, and sets their address and args.chunk. `tiles` blocks
/// compute one part.
template <class Args>
Tensor tall_partial(Args& args, std::int64_t rows, std::int64_t tiles, int blocks_per_multiprocessor,
                    Device device) {
  const RowParts split = split_rows(rows, tiles, blocks_per_multiprocessor, Context::of(device).properties());
  args.chunk = split.chunk;
  const std::int64_t size = (args.x.columns + args.with_sums) * std::int64_t{args.n};
  const Tensor partial = Tensor::empty({split.parts, size}, DType::kF32, device);
  args.partial = device_data<float>(partial);
  return partial;
}

/// Calls f.operator()<index>() with the index of `tile` in the table. nvcc takes no structs as template
/// arguments of kernels.
template <const auto& kTiles, int kIndex = 0, class F>
void with_tile(const GemmTile& tile, F&& f) {
  if constexpr (kIndex < static_cast<int>(std::size(kTiles))) {
    if (tile == kTiles[kIndex])
      f.template operator()<kIndex>();
    else
      with_tile<kTiles, kIndex + 1>(tile, f);
  }
}

/// dw, and db where defined: the sum of the rows of `partial`, in order.
void tall_sum(const Tensor& partial, const MatrixParts& dw, const MatrixParts& db);

template <class... Parameters>
void allow_shared(void (*kernel)(Parameters...), int bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "tall_matmul");
}

}  // namespace rodeo::kernels::cuda
