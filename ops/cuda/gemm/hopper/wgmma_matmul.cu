// y[i] = post_scale[i] dropout(relu(D(x) w + bias))[i], with optional ReLU, dropout and row scale
// (wgmma_matmul.cuh).
#include <algorithm>

#include "ops/cuda/gemm/hopper/wgmma_matmul.cuh"

namespace rodeo::kernels::cuda {
namespace {

struct WgmmaArgs {
  WgmmaOperand x;
  std::int64_t rows;
  ColumnParts w;  // [k, n], or with kTransposed [n, k]
  int n;
  ColumnParts bias;  // [n], or null
  ColumnParts y;
  int columns;    // of y, at least n; those from n on become 0
  bool in_quads;  // rows of y consist of aligned quads
  TallDropout dropout;
  bool relu;
  TallDropout then;  // dropout of y; its scale is post_scale
};

template <int kN>
struct WgmmaShape {
  static constexpr WgmmaShared kShared{kN};
  static constexpr int kWarpgroups = kShared.warpgroups(), kThreads = kWarpgroups * kWarpgroup;
  static constexpr int kWarps = kThreads / kWarp;
  static constexpr int kTile = kShared.x_stage();
  static constexpr int kSides = kShared.sides(), kOutN = kN / kSides, kPitch = kShared.y_pitch();
  static constexpr int kOut = kShared.y_stage();
  static_assert(kShared.chunk_bytes() == WgmmaFactor<kN, kThreads>::kSize * sizeof(float));
};

/// Grid and block of WgmmaConfig: (row blocks, column tiles), Shape::kThreads. Warpgroups process tiles of 64
/// rows, grid-stride. Every warp copies its own 16 rows of x, kWgmmaSlots - 1 chunks ahead. kResident: shared
/// memory holds all of w; else the current chunk and the next one. kMany: matrices may have several parts.
template <int kN, bool kTransposed, bool kResident, bool kMany>
__global__ void __launch_bounds__(WgmmaShape<kN>::kThreads, 1) wgmma_matmul_kernel(const WgmmaArgs args) {
  using Shape = WgmmaShape<kN>;
  using Factor = WgmmaFactor<kN, Shape::kThreads>;
  const Factor factor{};
  extern __shared__ float4 shared[];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  float* const bias = reinterpret_cast<float*>(shared);
  float* const out = bias + kN + warp * Shape::kOut;
  float* const xs = bias + kN + Shape::kWarps * Shape::kOut + warp * kWgmmaSlots * Shape::kTile;
  float* const ws = bias + kN + Shape::kWarps * (Shape::kOut + kWgmmaSlots * Shape::kTile);
  const int depth = args.x.columns, chunks = (depth + kTallDepth - 1) / kTallDepth;
  const int first_n = static_cast<int>(blockIdx.y) * kN;
  // Tiles go first to warpgroup 0 of all blocks, then to warpgroup 1, and so on: the last round is balanced.
  const std::int64_t tiles = ceil_div(args.rows, 64), stride = std::int64_t{gridDim.x} * Shape::kWarpgroups;
  const std::int64_t before = warp / 4 * std::int64_t{gridDim.x}, first_tile = before + blockIdx.x;
  const bool drops = args.dropout.threshold > 0, then_drops = args.then.threshold > 0;
  const std::uint64_t stream = drops ? args.dropout.key.stream_now() : 0;
  const std::uint64_t then_stream = then_drops ? args.then.key.stream_now() : 0;

  // Threads read x in quads. The order of terms in a sum is free: lane t of four has terms 4t .. 4t + 3 of 16
  // and uses them in two products, as terms t and t + 4 of each.
  float w_next[Factor::kItems][4];
  const auto load_w = [&](int chunk) {
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item) {
      const int n = first_n + factor.column(item);
      const bool inside = factor.takes_part(item) && n < args.n;
      const float* const column = kTransposed ? nullptr : args.w.at<kMany>(0, n);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int k = chunk * kTallDepth + factor.four / 4 * 16 + factor.four % 4 + i * 4;
        const float* const from = kTransposed ? args.w.at<kMany>(n, k) : column + k * args.w.width;
        w_next[item][i] = inside && k < depth ? *from : 0;
      }
    }
  };
  const auto put_w = [&](int slot) {
#pragma unroll
    for (int item = 0; item < Factor::kItems; ++item)
      if (factor.takes_part(item)) factor.put(ws + slot * Factor::kSize, item, w_next[item]);
  };

  // The halves of odd rows are swapped, so that lanes reading two rows have no bank conflicts.
  const auto quad_of = [](int row, int quad) { return row * kTallDepth + (quad ^ row % 2 * 4) * 4; };
  const auto first_row = [&](std::int64_t tile) { return tile * 64 + warp % 4 * 16; };
  std::int64_t copied_tile = first_tile;
  int copied_chunk = 0, copied_slot = 0;
  const auto copy_x = [&] {
    with_vec(args.x.vec, [&]<int kVec>() {
      constexpr int kParts = kTallDepth / kVec, kRows = kVec * kWarp / kTallDepth;  // of a lane, at a time
      const int row0 = lane / kParts, column = lane % kParts * kVec;
      const int k = copied_chunk * kTallDepth + column;
      const std::int64_t first = first_row(copied_tile) + row0;
      const auto rows = static_cast<int>(k < depth ? min(args.rows - first, std::int64_t{16}) : 0);
      const float* from = args.x.x.at<kMany>(first, k);
      float* const to = xs + copied_slot * Shape::kTile + column % 4;
#pragma unroll
      for (int i = 0; i < 16 / kRows; ++i, from += kRows * args.x.x.width)
        async_copy_or_zero<4 * kVec>(to + quad_of(row0 + i * kRows, column / 4), from, i * kRows < rows);
    });
    async_copy_commit();
    copied_slot = copied_slot + 1 == kWgmmaSlots ? 0 : copied_slot + 1;
    if (++copied_chunk == chunks) copied_chunk = 0, copied_tile += stride;
  };

  // Moves the oldest slot, which holds (tile, chunk), to registers.
  int slot = 0;
  float next[4][4];  // by products and their registers
  const auto take_x = [&](std::int64_t tile, int chunk) {
    async_copy_wait<kWgmmaSlots - 2>();
    __syncwarp();
    const float* const x = xs + slot * Shape::kTile;
    slot = slot + 1 == kWgmmaSlots ? 0 : slot + 1;
    float4 v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      v[i] = *reinterpret_cast<const float4*>(x + quad_of(i / 2 * 8 + g, i % 2 * 4 + t));
    if (drops) {
      std::int64_t index[4];
      std::uint32_t kept[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        index[i] = (first_row(tile) + i / 2 * 8 + g) * depth + chunk * kTallDepth + i % 2 * 16 + t * 4;
      draw_quads(args.dropout, stream, depth % 4 == 0, index, kept);
#pragma unroll
      for (int i = 0; i < 4; ++i) keep(v[i], kept[i]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t word = kept[half * 2] << t * 4 | kept[half * 2 + 1] << (16 + t * 4);
        word |= __shfl_xor_sync(kFullMask, word, 1);
        word |= __shfl_xor_sync(kFullMask, word, 2);
        const std::int64_t row = first_row(tile) + half * 8 + g;
        if (args.dropout.kept && t == 0 && blockIdx.y == 0 && row < args.rows)
          args.dropout.kept[row * tall_words(depth) + chunk] = word;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i / 2, step = i % 2 * 2;
      next[step][half] = v[i].x;
      next[step][half + 2] = v[i].y;
      next[step + 1][half] = v[i].z;
      next[step + 1][half + 2] = v[i].w;
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) hold(next[i / 4][i % 4]);  // drawn while wgmma runs
  };

  for (int i = 0; i + 1 < kWgmmaSlots; ++i) copy_x();
  if (threadIdx.x < kN) {
    const int n = first_n + static_cast<int>(threadIdx.x);
    bias[threadIdx.x] = args.bias.width > 0 && n < args.n ? *args.bias.at<kMany>(0, n) : 0;
  }
  for (int chunk = 0; chunk < (kResident ? chunks : 1); ++chunk) {
    load_w(chunk);
    put_w(chunk);
  }
  publish_to_wgmma();
  __syncthreads();
  int turn = 0;
  WgmmaLeft left;
  take_x(first_tile, 0);
  copy_x();
  left.set(next);
  // All warpgroups of a block that shares chunks of w do the same number of rounds.
  for (std::int64_t tile = first_tile; tile - (kResident ? 0 : before) < tiles; tile += stride) {
    float scale[2], post_scale[2];  // of rows g and g + 8
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::int64_t row = first_row(tile) + half * 8 + g;
      const auto of = [&](const TallDropout& d) {
        return d.scale && row < args.rows ? d.keep * d.scale[row] : d.keep;
      };
      scale[half] = of(args.dropout);
      post_scale[half] = of(args.then);
    }
    float total[kN / 2] = {};
    for (int chunk = 0; chunk < chunks; ++chunk) {
      float part[kN / 2] = {};
      wgmma_product<kN>(part, left, ws + (kResident ? chunk : turn) * Factor::kSize);
      const bool ends = chunk + 1 == chunks;
      if constexpr (!kResident) load_w(ends ? 0 : chunk + 1);
      take_x(ends ? tile + stride : tile, ends ? 0 : chunk + 1);
      if constexpr (!kResident) {
        turn ^= 1;
        put_w(turn);
        publish_to_wgmma();
      }
      __syncwarp();
      copy_x();  // after publish_to_wgmma(), which would wait for the copy
      wgmma_wait();
#pragma unroll
      for (int i = 0; i < kN / 2; ++i) total[i] += part[i];
      left.set(next);
      if constexpr (!kResident) __syncthreads();
    }

    // Through shared memory every lane gets quads of a row: one store and one Philox call each.
#pragma unroll
    for (int side = 0; side < Shape::kSides; ++side) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Shape::kOutN / 8; ++i) {
        const float2 b = *reinterpret_cast<const float2*>(bias + side * Shape::kOutN + i * 8 + t * 2);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto finish = [&](float value, float add) {
            value = value * scale[half] + add;
            return (args.relu && value <= 0 ? 0 : value) * post_scale[half];  // NaN is not <= 0
          };
          const int at = (side * Shape::kOutN / 8 + i) * 4 + half * 2;
          *reinterpret_cast<float2*>(out + (half * 8 + g) * Shape::kPitch + i * 8 + t * 2) = {
              finish(total[at], b.x), finish(total[at + 1], b.y)};
        }
      }
      __syncwarp();
      constexpr int kQuads = Shape::kOutN / 4, kMine = 16 * kQuads / kWarp;  // of a row, of a lane
      const auto row_at = [&](int i) { return (i * kWarp + lane) / kQuads; };
      const auto column_at = [&](int i) { return (i * kWarp + lane) % kQuads * 4; };
      const int first_column = first_n + side * Shape::kOutN;
      std::uint32_t kept[kMine];
      if (then_drops) {
        std::int64_t index[kMine];
#pragma unroll
        for (int i = 0; i < kMine; ++i)
          index[i] = (first_row(tile) + row_at(i)) * args.n + first_column + column_at(i);
        draw_quads(args.then, then_stream, true, index, kept);
      }
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const std::int64_t row = first_row(tile) + row_at(i);
        const int column = first_column + column_at(i);
        float4 v = *reinterpret_cast<const float4*>(out + row_at(i) * Shape::kPitch + column_at(i));
        if (then_drops) keep(v, kept[i]);
        if (row >= args.rows || column >= args.columns) continue;
        if (args.in_quads) {
          *reinterpret_cast<float4*>(args.y.at<kMany>(row, column)) = v;
        } else {
          const float value[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
          for (int j = 0; j < 4; ++j)
            if (column + j < args.columns) *args.y.at<kMany>(row, column + j) = value[j];
        }
      }
    }
  }
}

template <int kN, bool kTransposed, bool kMany>
void multiply(const WgmmaArgs& args, const WgmmaConfig& config, Device device) {
  const auto kernel = config.resident ? wgmma_matmul_kernel<kN, kTransposed, true, kMany>
                                      : wgmma_matmul_kernel<kN, kTransposed, false, kMany>;
  allow_shared(kernel, config.shared_bytes);
  const dim3 grid(static_cast<unsigned>(config.blocks), static_cast<unsigned>(config.column_tiles));
  launch("wgmma_matmul", device, kernel, grid, WgmmaShape<kN>::kThreads, config.shared_bytes, args);
}

}  // namespace

void wgmma_matmul(const DropoutInput& x, const MatrixParts& w, bool transposed, const MatrixParts& bias,
                  const EpilogueOptions& then, const MatrixParts& y) {
  MatrixParts left(x.x);
  left.parts.insert(left.parts.end(), x.beside.begin(), x.beside.end());
  const WgmmaArgs args{
      .x = wgmma_operand(left, transposed ? w.columns() : w.dim(0)),
      .rows = y.dim(0),
      .w = ColumnParts(w),
      .n = static_cast<int>(transposed ? w.dim(0) : w.columns()),
      .bias = ColumnParts(bias),
      .y = ColumnParts(y),
      .columns = static_cast<int>(y.columns()),
      .in_quads = y.dim(1) % 4 == 0 && is_aligned(y),
      .dropout = dropout_of(x, x.x.dim(1)),
      .relu = then.activation == Activation::kRelu,
      .then = dropout_of({.p = then.dropout, .key = then.key, .scale = then.post_scale}, y.dim(1))};
  const Device device = x.x.device();
  const bool many = w.parts.size() > 1;
  const WgmmaConfig config =
      choose_wgmma(args.rows, args.x.columns, args.columns, Context::of(device).properties(), many);
  if (many && !transposed) return multiply<128, false, true>(args, config, device);
  if (many)
    return with_width<kWgmmaWidthsOfParts>(config.width,
                                           [&]<int kN>() { multiply<kN, true, true>(args, config, device); });
  with_width<kWgmmaWidths>(config.width, [&]<int kN>() {
    transposed ? multiply<kN, true, false>(args, config, device)
               : multiply<kN, false, false>(args, config, device);
  });
}

}  // namespace rodeo::kernels::cuda
