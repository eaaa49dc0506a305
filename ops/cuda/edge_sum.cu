// y[i, :] = sum of x[e, :] over the edges of row i, by RoDe's decomposition. A group of lanes reads the row
// of x of an edge; the groups of a warp share a piece, edges in turn, and add their sums at the end; short
// rows have a group each. The pieces of a split row leave their sums in a workspace, which a second launch
// adds in order, so that a hub costs no more than its pieces and the result depends on no race.
#include "ops/cuda/gather.cuh"
#include "ops/cuda/rode_view.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kUnroll = 4;  // edges of a group in flight

template <class T, class Sum>
struct EdgeSumArgs {
  RodeView rode;
  const std::int64_t* row_ptr;
  const T* x;
  const std::int64_t* edge_ids;  // may be null
  std::int64_t k;
  T* y;
  Sum* partial;             // [slots, k]
  std::int32_t* split_row;  // [split rows]
};

/// kLanes lanes of kVec elements cover a column tile of a row.
template <class T_, int kVec_, int kLanes_>
struct EdgeSumTile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kVec = kVec_, kLanes = kLanes_, kGroups = kWarp / kLanes_, kWidth = kVec_ * kLanes_;
};

template <class Tile>
struct EdgeSum {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  static constexpr int kVec = Tile::kVec;
  using Row = Pack<T, kVec>;

  const EdgeSumArgs<T, Sum>& args;
  const int group = threadIdx.x % kWarp / Tile::kLanes;
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth + threadIdx.x % Tile::kLanes * kVec;
  const bool active = column < args.k;  // kVec divides k, so a lane has all of its columns or none
  Sum sum[kVec] = {};

  __device__ explicit EdgeSum(const EdgeSumArgs<T, Sum>& a) : args(a) {}

  /// Edges `at`, at + step, ... of a part of a row.
  __device__ void add_edges(const RodeView::Part& part, int at, int step) {
    if (!active) return;
    const auto [_, begin, length] = part;
    for (; at < length; at += kUnroll * step) {
      Row row[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        row[u] = Row{};
        if (at + u * step >= length) continue;
        const std::int64_t edge = begin + at + u * step;
        const std::int64_t from = args.edge_ids ? load_once(args.edge_ids + edge) : edge;
        row[u] = *reinterpret_cast<const Row*>(args.x + from * args.k + column);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
#pragma unroll
        for (int v = 0; v < kVec; ++v) sum[v] += widen(row[u].value[v]);
    }
  }
  __device__ void reduce_groups() {
#pragma unroll
    for (int offset = Tile::kLanes; offset < kWarp; offset *= 2)
#pragma unroll
      for (int v = 0; v < kVec; ++v) sum[v] += __shfl_xor_sync(kFullMask, sum[v], offset);
  }
  template <class Out>
  __device__ void write(Out* out, std::int64_t row) const {
    if (!active) return;
    Pack<Out, kVec> values;
#pragma unroll
    for (int v = 0; v < kVec; ++v) values.value[v] = static_cast<Out>(sum[v]);
    *reinterpret_cast<Pack<Out, kVec>*>(out + row * args.k + column) = values;
  }
};

// grid (warps / warps of a block, column tiles), block kThreads. Warps [0, pieces) take a piece each, the
// others a short row for every group.
template <class Tile>
__global__ void __launch_bounds__(kThreads)
    edge_sum_kernel(const EdgeSumArgs<typename Tile::T, typename Tile::Sum> args) {
  EdgeSum<Tile> work(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const RodeView& rode = args.rode;
  if (warp < rode.pieces) {
    const RodeView::Part piece = rode.piece(warp);
    const std::int32_t split = rode.piece_split[warp];
    work.add_edges(piece, work.group, Tile::kGroups);
    work.reduce_groups();
    if (work.group != 0) return;
    if (split < 0) {
      work.write(args.y, piece.row);
    } else {
      const std::int64_t index = rode.index_of(piece, args.row_ptr);
      if (index == 0 && blockIdx.y == 0 && threadIdx.x % kWarp == 0)
        args.split_row[split] = static_cast<std::int32_t>(piece.row);
      work.write(args.partial, rode.split_slot[split] + index);
    }
  } else {
    const std::int64_t at = (warp - rode.pieces) * Tile::kGroups + work.group;
    if (at >= rode.residuals) return;
    const RodeView::Part part = rode.residual(at);
    work.add_edges(part, 0, 1);
    work.write(args.y, part.row);
  }
}

// A thread per element of the split rows, grid-stride.
template <class T, class Sum>
__global__ void edge_combine_kernel(const EdgeSumArgs<T, Sum> args, std::int64_t splits) {
  RODEO_GRID_STRIDE(i, splits * args.k) {
    const std::int64_t split = i / args.k, column = i - split * args.k;
    Sum sum = 0;
#pragma unroll 8
    for (std::int64_t slot = args.rode.split_slot[split]; slot < args.rode.split_slot[split + 1]; ++slot)
      sum += args.partial[slot * args.k + column];
    args.y[args.split_row[split] * args.k + column] = static_cast<T>(sum);
  }
}

template <class Tile>
void run(const EdgeSumArgs<typename Tile::T, typename Tile::Sum>& args, Device device) {
  const std::int64_t warps = args.rode.pieces + ceil_div(args.rode.residuals, Tile::kGroups);
  const dim3 grid(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp)),
                  static_cast<unsigned>(ceil_div(args.k, Tile::kWidth)));
  launch("edge_sum", device, edge_sum_kernel<Tile>, grid, dim3(kThreads), 0, args);
}

}  // namespace

void edge_sum(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids, const Tensor& y) {
  const RodePlan& plan = rodeo::rode_plan(adj);
  dispatch_float(x.dtype(), "edge_sum", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    constexpr int kVec = 16 / sizeof(T);
    const std::int64_t k = x.dim(1), splits = plan.num_split_rows();
    Tensor partial, split_row;
    if (splits > 0) {
      partial = Tensor::empty({plan.num_slots, k}, dtype_of<Sum>(), y.device());
      split_row = Tensor::empty({splits}, DType::kI32, y.device());
    }
    EdgeSumArgs<T, Sum> args{.rode = RodeView(plan)};
    args.row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    args.x = static_cast<const T*>(x.raw());
    args.edge_ids = static_cast<const std::int64_t*>(edge_ids.raw());
    args.k = k;
    args.y = static_cast<T*>(y.raw());
    args.partial = static_cast<Sum*>(partial.raw());
    args.split_row = static_cast<std::int32_t*>(split_row.raw());

    if (k % kVec == 0 && is_aligned(x) && is_aligned(y)) {
      if (k <= 2 * kVec)
        run<EdgeSumTile<T, kVec, 2>>(args, y.device());
      else
        run<EdgeSumTile<T, kVec, 8>>(args, y.device());
    } else if (k <= 8) {
      run<EdgeSumTile<T, 1, 8>>(args, y.device());
    } else {
      run<EdgeSumTile<T, 1, 32>>(args, y.device());
    }
    launch("edge_sum", y.device(), edge_combine_kernel<T, Sum>, grid_for(splits * k, 256), dim3(256), 0, args,
           splits);
  });
}

}  // namespace rodeo::kernels::cuda
