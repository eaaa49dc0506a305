/// Products of a matrix with many rows, dropped out on the way, by the tensor cores: what they share.
///
/// f32 is kept by splitting: x = high + low, each with the 11 bits of TF32, so that three products of halves
/// (low * high, high * low, high * high) miss no more than 2^-22 of |x w|. A tensor core cuts off what it
/// adds up, so it adds 32 terms at most; their sums are added by the f32 units.
#pragma once

#include <algorithm>

#include "core/random.h"
#include "ops/cuda/device/async_copy.cuh"
#include "ops/cuda/device/mma.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/kernels/dense.h"
#include "ops/kernels/dropout.h"

namespace rodeo::kernels::cuda {

constexpr int kTallDepth = 32;  // terms of a sum that are staged at once

/// D(x)[i, j] = x[i, j] scale[i] keep where kept, else 0.
struct TallDropout {
  const float* scale;       // [m], or null: 1
  float keep;               // 1 / (1 - p)
  std::uint32_t threshold;  // dropout_keeps(); 0: no dropout
  RandomKey key;
  std::uint32_t* kept;  // [m, tall_words(columns)]: bit j % 32 of word j / 32, or null
};

__host__ __device__ constexpr int tall_words(int columns) {
  return (columns + 31) / 32;
}

struct TallMatrix {
  const float* x;
  std::int64_t rows;
  int columns, pitch;
  bool in_quads;  // its rows are whole aligned quads: each is one load and one draw
};

/// Columns k .. k + 3 of a row, 0 where there is none.
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

/// Of four neighbours, the first of which is element 4 quad, those that are kept, in the low bits.
__device__ __forceinline__ std::uint32_t draw_quad(const TallDropout& d, std::uint64_t stream,
                                                   std::uint64_t quad) {
  const Philox4 random = philox(d.key.seed, stream, quad);
  std::uint32_t bits = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) bits |= dropout_keeps(random.word[k], d.threshold) ? 1u << k : 0;
  return bits;
}

/// kept[i] for the four neighbours the first of which is element index[i]. Where all are whole quads no
/// branch stands between the draws, and they are computed side by side.
template <int kCount>
__device__ __forceinline__ void draw_quads(const TallDropout& d, std::uint64_t stream, bool are_whole,
                                           const std::int64_t (&index)[kCount],
                                           std::uint32_t (&kept)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) kept[i] = draw_quad(d, stream, static_cast<std::uint64_t>(index[i]) >> 2);
  if (are_whole) return;
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
  // To nearest by integers. The tensor core cuts off what `low` has below its 11 bits, the last bit of x.
  const std::uint32_t high = (__float_as_uint(x) + 0x1000) & 0xffffe000;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

/// What a warp has of kM x kN tiles, 16 x 8 each: lane (g, t), g = lane / 4, t = lane % 4, has rows g and g +
/// 8, columns 2t and 2t + 1 of the sums, and k = t and t + 4 of the operands.
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
    // Neighbouring products are independent: each waits for the one before it on its sum. Small ones first.
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

/// Elements [first_row ..) x [first_column ..) of a matrix to a tile of kRows x kColumns, zeros where there
/// is none. In quads where `quads` says that they are aligned and whole.
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

/// Pitches at which the lanes of a warp meet in no bank: of a tile whose columns are k, and one whose rows
/// are.
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

inline TallDropout dropout_of(const DropoutInput& x) {
  return {.scale = device_data<float>(x.scale),
          .keep = static_cast<float>(1 / (1 - x.p)),
          .threshold = dropout_threshold(x.p),
          .key = x.key,
          .kept = static_cast<std::uint32_t*>(x.kept.raw())};
}

/// Where a product over rows leaves its parts: as many of them as `per_multiprocessor` blocks of each
/// multiprocessor, at `blocks` a part, have; sets what is theirs in args.
template <class Args>
Tensor tall_partial(Args& args, std::int64_t rows, std::int64_t blocks, int per_multiprocessor,
                    Device device) {
  const std::int64_t held = Context::of(device).num_multiprocessors() * per_multiprocessor;
  const std::int64_t wanted = std::max<std::int64_t>(1, held / blocks);
  args.chunk = ceil_div(ceil_div(rows, wanted), kTallDepth) * kTallDepth;
  const Tensor partial =
      Tensor::empty({ceil_div(rows, args.chunk), (args.x.columns + args.with_sums) * std::int64_t{args.n}},
                    DType::kF32, device);
  args.partial = device_data<float>(partial);
  return partial;
}

/// dw, and db if it is defined: partial's rows added up in order.
void tall_sum(const Tensor& partial, const Tensor& dw, const Tensor& db);

template <class... Parameters>
void allow_shared(void (*kernel)(Parameters...), int bytes) {
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "tall_matmul");
}

}  // namespace rodeo::kernels::cuda
