/// Fused attention over the residual rows of RoDe's plan, where the columns are whole tiles of 512 bytes.
///
/// A row of a few edges is a chain of loads that depend on each other: where it begins, its columns, their
/// scores, their rows of X. Here a warp has several rows, and each link of the chain is loaded once for all
/// of them: lanes take the edges of all rows side by side, then (row, head) pairs, and leave a number for
/// each edge and head in shared memory. Then all lanes add the rows of X, edge after edge, with the next ones
/// under way across the ends of rows.
#pragma once

#include "ops/cuda/attention/attention.cuh"

namespace rodeo::kernels::cuda {

constexpr int kShortRowThreads = 128;
/// Added to the column of an item that is the row's own vector, which a pass may read before its edges.
constexpr std::uint32_t kOwnItem = 1u << 31;

/// What a pass leaves for each item; those of the rows of a warp follow each other.
struct ShortRowItems {
  std::uint32_t *col, *kept;  // [items]; kept: a bit for each head of the tile
  float* number[2];           // [items, heads of the tile]; the second one where Pass::kNumbers is 2
};
constexpr int short_row_bytes(int numbers, const ShortRowsConfig& config) {  // of a warp
  return config.rows * kWarp * (8 + 4 * numbers * config.heads);
}

/// One warp's work. Pass has:
///   T, kLoads (16-byte loads of a lane), kTransposed, kOwnRow (whether an own item comes first), kNumbers
///   Args, and a constructor from (work)
///   weigh(item, row, col, kept)     a lane's edge: leaves its numbers
///   close(row, first, end, head)    a lane's (row, head): the items [first, end) are those of the row
///   add(item, row)                  all lanes, item after item: of x, or of the row itself
///   finish(row, first)              all lanes, after its last item; first: its first one, -1 without any
template <class Pass>
struct ShortRows {
  using T = typename Pass::T;
  static constexpr int kLoads = Pass::kLoads, kVec = 16 / sizeof(T), kDepth = 4;
  static constexpr int kTileWidth = kWarp * kVec * kLoads;
  struct Row {
    Pack<T, kVec> part[kLoads];
  };

  const AttentionArgs<T>& args;
  const typename Pass::Args& own;
  const ShortRowsConfig config;
  const int lane = threadIdx.x % kWarp;
  const int tile = static_cast<int>(blockIdx.y) * kTileWidth, first_head = tile / args.pitch;
  const int heads = min(config.heads, args.heads - first_head);
  ShortRowItems items;
  int column[kLoads], head[kLoads];  // head: of the tile

  __device__ ShortRows(const AttentionArgs<T>& a, const typename Pass::Args& o, const ShortRowsConfig& c,
                       char* shared)
      : args(a), own(o), config(c) {
    const int count = config.rows * kWarp;
    items.col = reinterpret_cast<std::uint32_t*>(shared);
    items.kept = items.col + count;
#pragma unroll
    for (int n = 0; n < Pass::kNumbers; ++n)
      items.number[n] = reinterpret_cast<float*>(items.kept + count) + n * count * config.heads;
#pragma unroll
    for (int p = 0; p < kLoads; ++p) {
      column[p] = tile + (p * kWarp + lane) * kVec;
      head[p] = column[p] / args.pitch - first_head;
    }
  }

  __device__ std::uint32_t draw(std::uint32_t row, std::uint32_t col) const {
    if (args.threshold == 0) return ~0u;
    return kept_heads(args.key, args.threshold, Pass::kTransposed ? col : row, Pass::kTransposed ? row : col,
                      args.first_head + first_head, heads);
  }
  /// What the pass leaves for a head of an item.
  __device__ float& number(int n, int item, int h) const {
    return items.number[n][item * config.heads + h];
  }
  __device__ Row load(int item) const {
    const std::uint32_t col = items.col[item];
    const T* table = args.x;
    if constexpr (Pass::kOwnRow)
      if (col & kOwnItem) table = own.x;
    const T* const row =
        table + static_cast<std::uint64_t>(col & ~kOwnItem) * static_cast<std::uint32_t>(args.stride);
    Row out;
#pragma unroll
    for (int p = 0; p < kLoads; ++p) out.part[p] = *reinterpret_cast<const Pack<T, kVec>*>(row + column[p]);
    return out;
  }
  __device__ void store(T* to, std::int64_t row, const float (&sum)[kLoads][kVec], float factor) const {
#pragma unroll
    for (int p = 0; p < kLoads; ++p) {
      Pack<T, kVec> out;
#pragma unroll
      for (int v = 0; v < kVec; ++v) out.value[v] = static_cast<T>(sum[p][v] * factor);
      *reinterpret_cast<Pack<T, kVec>*>(to + row * args.stride + column[p]) = out;
    }
  }

  /// The residual rows from `at` on.
  __device__ void run(std::int64_t at) {
    const RodeView& plan = args.plan;
    RodeView::Part part{0, 0, 0};
    const bool exists = lane < config.rows && at + lane < plan.residuals;
    if (exists) part = plan.residual(at + lane);
    const int length = part.length + (Pass::kOwnRow && part.length > 0);
    int end = length;  // of the lane's row, among the items of the warp
#pragma unroll
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const int before = __shfl_up_sync(kFullMask, end, offset);
      if (lane >= offset) end += before;
    }
    const int count = __shfl_sync(kFullMask, end, kWarp - 1);
    const auto row_id = static_cast<std::uint32_t>(part.row);
    // Both need all lanes.
    const auto of = [&](auto value, int r) { return __shfl_sync(kFullMask, value, r); };
    const auto place_of = [&](int item) {
      int r = 0;
      for (int i = 0; i < config.rows; ++i) r += item >= of(end, i);
      return r;
    };

    for (int base = 0; base < count; base += kWarp) {
      const int item = base + lane, r = place_of(item) & (kWarp - 1);
      const int index = item - of(end - length, r) - Pass::kOwnRow;
      const std::int64_t begin = of(part.begin, r);
      const std::uint32_t row = of(row_id, r);
      if (item < count)
        items.col[item] =
            index < 0 ? row | kOwnItem : static_cast<std::uint32_t>(load_streaming(args.col + begin + index));
    }
    __syncwarp();
    Row next[kDepth];
#pragma unroll
    for (int d = 0; d < kDepth; ++d)
      if (d < count) next[d] = load(d);

    Pass pass(*this);
    for (int base = 0; base < count; base += kWarp) {
      const int item = base + lane;
      const std::uint32_t row = of(row_id, place_of(item) & (kWarp - 1));
      const std::uint32_t col = item < count ? items.col[item] : kOwnItem;
      if (!(col & kOwnItem)) pass.weigh(item, row, col, draw(row, col));
    }
    __syncwarp();
    for (int base = 0; base < config.rows * config.heads; base += kWarp) {
      const int r = (base + lane) / config.heads, h = (base + lane) % config.heads;
      const bool row_exists = of(exists ? 1 : 0, r & (kWarp - 1));
      const int last = of(end, r & (kWarp - 1)), first = of(end - length, r & (kWarp - 1));
      const std::uint32_t row = of(row_id, r & (kWarp - 1));
      if (row_exists && r < config.rows && h < heads) pass.close(row, first, last, h);
    }
    __syncwarp();

    int r = 0;
    const auto skip_empty = [&] {
      for (; r < config.rows && of(length, r) == 0; ++r)
        if (of(exists ? 1 : 0, r)) pass.finish(of(row_id, r), -1);
    };
    skip_empty();
    int first = 0, row_end = of(end, r & (kWarp - 1));
    for (int base = 0; base < count; base += kDepth) {
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        const int item = base + d;
        if (item >= count) break;
        pass.add(item, next[d]);
        if (item + kDepth < count) next[d] = load(item + kDepth);
        if (item + 1 < row_end) continue;
        pass.finish(of(row_id, r), first);
        ++r;
        skip_empty();
        first = item + 1, row_end = of(end, r & (kWarp - 1));
      }
    }
  }
};

// Grid (warps / warps of a block, column tiles). Shared memory: the items of each warp.
template <class Pass>
__global__ void __launch_bounds__(kShortRowThreads, Pass::kBlocks)
    short_rows_kernel(const AttentionArgs<typename Pass::T> args, const typename Pass::Args own,
                      const ShortRowsConfig config) {
  extern __shared__ __align__(16) char shared[];
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  ShortRows<Pass> work(args, own, config, shared + warp * short_row_bytes(Pass::kNumbers, config));
  work.run((static_cast<std::int64_t>(blockIdx.x) * (kShortRowThreads / kWarp) + warp) * config.rows);
}

/// Launches Pass<T, loads> over the residual rows and leaves `args` without them, where the columns are whole
/// tiles of a plan's rows, and are written 16 bytes at a time.
template <template <class, int> class Pass, class T>
void launch_short_rows(const char* name, const RodePlan* plan, AttentionArgs<T>& args,
                       const typename Pass<T, 1>::Args& own, Device device) {
  if (!plan || plan->block > RodePlan::kBlock || !args.whole_vectors) return;
  const ShortRowsConfig config = choose_short_rows(args.heads, args.k, sizeof(T));
  const auto run = [&]<class P>(P*) {
    const std::int64_t warps = ceil_div(args.plan.residuals, config.rows);
    const dim3 grid(static_cast<unsigned>(ceil_div(warps, kShortRowThreads / kWarp)),
                    static_cast<unsigned>(config.tiles));
    const int shared = kShortRowThreads / kWarp * short_row_bytes(P::kNumbers, config);
    launch(name, device, short_rows_kernel<P>, grid, dim3(kShortRowThreads), static_cast<std::size_t>(shared),
           args, own, config);
    args.plan.residuals = 0;
  };
  if (config.loads == 2) run(static_cast<Pass<T, 2>*>(nullptr));
  if (config.loads == 1) run(static_cast<Pass<T, 1>*>(nullptr));
}

}  // namespace rodeo::kernels::cuda
