// The gradients of spmm_extreme: dY goes to the edge that the output is from.
//   dx[c, j] = sum of w[e] dY[i, j] over the edges e = (i, c) with arg[i, j] = e's position in row i:
// a sum over the rows of A^T by RoDe's decomposition, which reads dY only where a lane has a match. Pieces of
// split rows meet in a workspace, added in order by a second launch. dweight is a dot at every edge.
#include "ops/cuda/gather.cuh"
#include "ops/cuda/rode_view.cuh"
#include "ops/cuda/row_tile.cuh"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kUnroll = 4;  // edges of a group in flight

template <class T, class Sum>
struct ExtremeDxArgs {
  RodeView rode;                 // of A^T
  const std::int64_t* col_ptr;   // where A^T's rows begin
  const std::int32_t* row_of;    // A^T's columns
  const std::int64_t* edge_ids;  // the edge of A
  const std::int64_t* row_ptr;   // of A
  const T* weight;               // [edges, heads], or null
  const std::int32_t* arg;
  const T* dy;
  std::int64_t k, heads, per_head;
  T* dx;
  Sum* partial;             // [slots, k]
  std::int32_t* split_row;  // [split rows]
};

template <class Tile>
struct ExtremeDx {
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  static constexpr int kVec = Tile::kVec;
  using Row = Pack<T, kVec>;

  const ExtremeDxArgs<T, Sum>& args;
  const int group = threadIdx.x % kWarp / Tile::kLanes;
  const std::int64_t column =
      static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth + threadIdx.x % Tile::kLanes * kVec;
  const bool active = column < args.k;  // kVec divides k, so a lane has all of its columns or none
  const std::int64_t head = column / args.per_head;
  Sum sum[kVec] = {};

  __device__ explicit ExtremeDx(const ExtremeDxArgs<T, Sum>& a) : args(a) {}

  /// Edges `first`, first + step, ... of a part of a row of A^T.
  __device__ void visit(const RodeView::Part& part, int first, int step) {
    if (!active) return;
    for (int at = first; at < part.length; at += kUnroll * step) {
      std::int64_t edge[kUnroll], from[kUnroll];
      bool mine[kUnroll][kVec];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int v = 0; v < kVec; ++v) mine[u][v] = false;
        edge[u] = from[u] = 0;
        if (at + u * step >= part.length) continue;
        const std::int64_t t = part.begin + at + u * step, row = load_once(args.row_of + t);
        edge[u] = load_once(args.edge_ids + t);
        from[u] = row * args.k + column;
        const auto position = static_cast<std::int32_t>(edge[u] - args.row_ptr[row]);
        const auto origin = *reinterpret_cast<const Pack<std::int32_t, kVec>*>(args.arg + from[u]);
#pragma unroll
        for (int v = 0; v < kVec; ++v) mine[u][v] = origin.value[v] == position;
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        bool any = false;
#pragma unroll
        for (int v = 0; v < kVec; ++v) any |= mine[u][v];
        if (!any) continue;
        const Sum factor = args.weight ? widen(args.weight[edge[u] * args.heads + head]) : Sum(1);
        const Row dy = *reinterpret_cast<const Row*>(args.dy + from[u]);
#pragma unroll
        for (int v = 0; v < kVec; ++v)
          if (mine[u][v]) sum[v] += factor * widen(dy.value[v]);
      }
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
    extreme_dx_kernel(const ExtremeDxArgs<typename Tile::T, typename Tile::Sum> args) {
  ExtremeDx<Tile> work(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const RodeView& rode = args.rode;
  if (warp < rode.pieces) {
    const RodeView::Part piece = rode.piece(warp);
    const std::int32_t split = rode.piece_split[warp];
    work.visit(piece, work.group, Tile::kGroups);
    work.reduce_groups();
    if (work.group != 0) return;
    if (split < 0) {
      work.write(args.dx, piece.row);
    } else {
      const std::int64_t index = rode.index_of(piece, args.col_ptr);
      if (index == 0 && blockIdx.y == 0 && threadIdx.x % kWarp == 0)
        args.split_row[split] = static_cast<std::int32_t>(piece.row);
      work.write(args.partial, rode.split_slot[split] + index);
    }
  } else {
    const std::int64_t at = (warp - rode.pieces) * Tile::kGroups + work.group;
    if (at >= rode.residuals) return;
    const RodeView::Part part = rode.residual(at);
    work.visit(part, 0, 1);
    work.write(args.dx, part.row);
  }
}

// A thread per element of the split rows, grid-stride.
template <class T, class Sum>
__global__ void extreme_dx_combine_kernel(const ExtremeDxArgs<T, Sum> args, std::int64_t splits) {
  RODEO_GRID_STRIDE(i, splits * args.k) {
    const std::int64_t split = i / args.k, column = i - split * args.k;
    Sum sum = 0;
#pragma unroll 8
    for (std::int64_t slot = args.rode.split_slot[split]; slot < args.rode.split_slot[split + 1]; ++slot)
      sum += args.partial[slot * args.k + column];
    args.dx[args.split_row[split] * args.k + column] = static_cast<T>(sum);
  }
}

constexpr int kDotLanes = 8;

// A group of kDotLanes lanes per (edge, head), by a stride of whole grids. All lanes of a warp make the same
// number of steps, so that they can shuffle.
template <class T>
__global__ void extreme_dweight_kernel(const std::int64_t* row_ptr, const std::int32_t* col,
                                       const std::int32_t* row_of, const std::int32_t* arg, const T* x,
                                       const T* dy, T* dweight, std::int64_t items, std::int64_t heads,
                                       std::int64_t per_head) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x / kDotLanes;
  const std::int64_t k = heads * per_head;
  for (std::int64_t item = thread / kDotLanes, first = thread / kWarp * kWarp / kDotLanes; first < items;
       item += stride, first += stride) {
    Accumulator<T> sum = 0;
    if (item < items) {
      const std::int64_t edge = item / heads, head = item - edge * heads, row = row_of[edge];
      const auto position = static_cast<std::int32_t>(edge - row_ptr[row]);
      const std::int64_t here = row * k + head * per_head, there = col[edge] * k + head * per_head;
      for (std::int64_t j = thread % kDotLanes; j < per_head; j += kDotLanes)
        if (arg[here + j] == position) sum += widen(dy[here + j]) * widen(x[there + j]);
    }
#pragma unroll
    for (int offset = kDotLanes / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(kFullMask, sum, offset);
    if (item < items && thread % kDotLanes == 0) dweight[item] = static_cast<T>(sum);
  }
}

}  // namespace

void spmm_extreme_dx(const Adjacency& adj, const Transposed& transposed, const Tensor& weight,
                     const Tensor& arg, const Tensor& dy, const Tensor& dx) {
  const RodePlan& plan = rodeo::rode_plan(transposed.adj);
  dispatch_float(dy.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    const std::int64_t k = dx.numel() / adj.cols(), splits = plan.num_split_rows();
    Tensor partial, split_row;
    if (splits > 0) {
      partial = Tensor::empty({plan.num_slots, k}, dtype_of<Sum>(), dx.device());
      split_row = Tensor::empty({splits}, DType::kI32, dx.device());
    }
    ExtremeDxArgs<T, Sum> args{.rode = RodeView(plan)};
    args.col_ptr = transposed.adj.csr().row_ptr.data<std::int64_t>();
    args.row_of = transposed.adj.csr().col.data<std::int32_t>();
    args.edge_ids = transposed.edge_ids.data<std::int64_t>();
    args.row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    args.weight = static_cast<const T*>(weight.raw());
    args.arg = arg.data<std::int32_t>();
    args.dy = static_cast<const T*>(dy.raw());
    args.k = k;
    args.heads = heads_of(weight);
    args.per_head = k / args.heads;
    args.dx = static_cast<T*>(dx.raw());
    args.partial = static_cast<Sum*>(partial.raw());
    args.split_row = static_cast<std::int32_t*>(split_row.raw());
    dispatch_row_tile<T>(args.per_head, is_aligned(dy), [&]<class Tile>(Tile) {
      const std::int64_t warps = plan.num_pieces() + ceil_div(plan.num_residual(), Tile::kGroups);
      const dim3 grid(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp)),
                      static_cast<unsigned>(ceil_div(k, Tile::kWidth)));
      launch("spmm_extreme_dx", dx.device(), extreme_dx_kernel<Tile>, grid, dim3(kThreads), 0, args);
    });
    launch("spmm_extreme_dx", dx.device(), extreme_dx_combine_kernel<T, Sum>, grid_for(splits * k, 256),
           dim3(256), 0, args, splits);
  });
}

void spmm_extreme_dweight(const Adjacency& adj, const Tensor& rows, const Tensor& arg, const Tensor& x,
                          const Tensor& dy, const Tensor& dweight) {
  dispatch_float(dy.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    const std::int64_t heads = dweight.rank() == 2 ? dweight.dim(1) : 1, items = dweight.numel();
    launch("spmm_extreme_dweight", dweight.device(), extreme_dweight_kernel<T>,
           grid_for(items * kDotLanes, 256), dim3(256), 0, adj.csr().row_ptr.data<std::int64_t>(),
           adj.csr().col.data<std::int32_t>(), rows.data<std::int32_t>(), arg.data<std::int32_t>(),
           static_cast<const T*>(x.raw()), static_cast<const T*>(dy.raw()), static_cast<T*>(dweight.raw()),
           items, heads, x.numel() / adj.cols() / heads);
  });
}

}  // namespace rodeo::kernels::cuda
