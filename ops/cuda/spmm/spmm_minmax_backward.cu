// The gradients of spmm_minmax: dy[i, j] goes to the edge that y[i, j] came from.
//   dx[c, j] = sum of w[e] dy[i, j] over the edges e = (i, c) with arg[i, j] = e's position in row i:
// a sum over the rows of A^T that loads dy only where a lane has a match.
//   dweight[e] = the dot of dy and x over the columns that came from e.
#include "core/cuda/warp.cuh"
#include "ops/cuda/rode/row_reduction.cuh"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

template <class T, class Sum>
struct MinmaxDxArgs {
  RodeView rode;                 // of A^T
  const std::int64_t* row_ptr;   // of A^T
  const std::int32_t* row_of;    // columns of A^T, rows of A
  const std::int64_t* edge_ids;  // the edge of A for each edge of A^T
  const std::int64_t* first;     // row pointers of A
  const T* weight;               // [edges, heads], or null
  const std::int32_t* arg;
  const T* dy;
  std::int64_t k, heads, per_head;
  T* y;                     // dx
  Sum* partial;             // [slots, k]
  std::int32_t* split_row;  // [split rows]
};

template <class Tile_>
struct MinmaxDxRow : RowSums<Tile_, MinmaxDxArgs<typename Tile_::T, typename Tile_::Sum>> {
  using Base = RowSums<Tile_, MinmaxDxArgs<typename Tile_::T, typename Tile_::Sum>>;
  using Base::active, Base::args, Base::column, Base::kVec, Base::sum;
  using Base::Base;
  using typename Base::Row, typename Base::Sum;

  const std::int64_t head = column / args.per_head;

  __device__ void visit(const RodeView::Part& part, int first, int step) {
    if (!active) return;
    for (int at = first; at < part.length; at += kEdgesInFlight * step) {
      std::int64_t edge[kEdgesInFlight], from[kEdgesInFlight];
      bool mine[kEdgesInFlight][kVec];
#pragma unroll
      for (int u = 0; u < kEdgesInFlight; ++u) {
#pragma unroll
        for (int v = 0; v < kVec; ++v) mine[u][v] = false;
        edge[u] = from[u] = 0;
        if (at + u * step >= part.length) continue;
        const std::int64_t t = part.begin + at + u * step, row = load_streaming(args.row_of + t);
        edge[u] = load_streaming(args.edge_ids + t);
        from[u] = row * args.k + column;
        const auto position = static_cast<std::int32_t>(edge[u] - args.first[row]);
        const auto origin = *reinterpret_cast<const Pack<std::int32_t, kVec>*>(args.arg + from[u]);
#pragma unroll
        for (int v = 0; v < kVec; ++v) mine[u][v] = origin.value[v] == position;
      }
#pragma unroll
      for (int u = 0; u < kEdgesInFlight; ++u) {
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
};

// grid (warps / warps of a block, column tiles), block kReductionThreads.
template <class Tile>
__global__ void __launch_bounds__(kReductionThreads)
    minmax_dx_kernel(const MinmaxDxArgs<typename Tile::T, typename Tile::Sum> args) {
  MinmaxDxRow<Tile> work(args);
  reduce_rows(work, args);
}

constexpr int kDotLanes = 8;

// grid-stride over (edge, head), kDotLanes lanes for each. All lanes of a warp make the same number of steps,
// so that they can shuffle.
template <class T>
__global__ void minmax_dweight_kernel(const std::int64_t* row_ptr, const std::int32_t* col,
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
    sum = sum_over(sum, kDotLanes);
    if (item < items && thread % kDotLanes == 0) dweight[item] = static_cast<T>(sum);
  }
}

}  // namespace

void spmm_minmax_dx(const Adjacency& adj, const Transposed& transposed, const Tensor& weight,
                    const Tensor& arg, const Tensor& dy, const Tensor& dx) {
  const RodePlan& plan = rodeo::rode_plan(transposed.adj);
  dispatch_float(dy.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    const std::int64_t k = dx.numel() / adj.cols();
    MinmaxDxArgs<T, Sum> args{.rode = RodeView(plan)};
    args.row_ptr = transposed.adj.csr().row_ptr.data<std::int64_t>();
    args.row_of = transposed.adj.csr().col.data<std::int32_t>();
    args.edge_ids = transposed.edge_ids.data<std::int64_t>();
    args.first = adj.csr().row_ptr.data<std::int64_t>();
    args.weight = device_data<T>(weight);
    args.arg = arg.data<std::int32_t>();
    args.dy = device_data<T>(dy);
    args.k = k;
    args.heads = heads_of(weight);
    args.per_head = k / args.heads;
    args.y = device_data<T>(dx);
    const SplitRows split(plan, dx.device(), args);
    dispatch_row_tile<T>(args.per_head, is_aligned(dy), [&]<class Tile>(Tile) {
      launch_reduction<Tile>("spmm_minmax_dx", dx.device(), minmax_dx_kernel<Tile>, args);
    });
    add_slots("spmm_minmax_dx", dx.device(), args, plan.num_split_rows());
  });
}

void spmm_minmax_dweight(const Adjacency& adj, const Tensor& rows, const Tensor& arg, const Tensor& x,
                         const Tensor& dy, const Tensor& dweight) {
  dispatch_float(dy.dtype(), "spmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    const std::int64_t heads = dweight.rank() == 2 ? dweight.dim(1) : 1, items = dweight.numel();
    launch("spmm_minmax_dweight", dweight.device(), minmax_dweight_kernel<T>,
           grid_for(items * kDotLanes, 256), dim3(256), 0, adj.csr().row_ptr.data<std::int64_t>(),
           adj.csr().col.data<std::int32_t>(), rows.data<std::int32_t>(), arg.data<std::int32_t>(),
           device_data<T>(x), device_data<T>(dy), device_data<T>(dweight), items, heads,
           x.numel() / adj.cols() / heads);
  });
}

}  // namespace rodeo::kernels::cuda
