// y[i, :] = sum of x[e, :] over the edges of row i. A group of lanes reads the row of x of an edge.
#include "core/cuda/index_fault.cuh"
#include "ops/cuda/rode/row_reduction.cuh"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

template <class T, class Sum>
struct EdgeSumArgs {
  RodeView rode;
  const std::int64_t* row_ptr;
  const T* x;
  const std::int64_t* edge_ids;  // may be null
  std::int64_t edges;
  IndexCheck check;  // of edge_ids
  std::int64_t k;
  T* y;
  Sum* partial;             // [slots, k]
  std::int32_t* split_row;  // [split rows]
};

template <class Tile_>
struct EdgeSum : RowSums<Tile_, EdgeSumArgs<typename Tile_::T, typename Tile_::Sum>> {
  using Base = RowSums<Tile_, EdgeSumArgs<typename Tile_::T, typename Tile_::Sum>>;
  using Base::active, Base::args, Base::column, Base::kVec, Base::sum;
  using Base::Base;
  using typename Base::Row;

  __device__ void visit(const RodeView::Part& part, int at, int step) {
    if (!active) return;
    const auto [_, begin, length] = part;
    for (; at < length; at += kEdgesInFlight * step) {
      Row row[kEdgesInFlight];
#pragma unroll
      for (int u = 0; u < kEdgesInFlight; ++u) {
        row[u] = Row{};
        if (at + u * step >= length) continue;
        const std::int64_t edge = begin + at + u * step;
        const std::int64_t from = args.edge_ids ? load_streaming(args.edge_ids + edge) : edge;
        if (args.edge_ids && !is_index(from, args.edges, edge, args.check)) continue;
        row[u] = *reinterpret_cast<const Row*>(args.x + from * args.k + column);
      }
#pragma unroll
      for (int u = 0; u < kEdgesInFlight; ++u)
#pragma unroll
        for (int v = 0; v < kVec; ++v) sum[v] += widen(row[u].value[v]);
    }
  }
};

// grid (warps / warps of a block, column tiles), block kReductionThreads.
template <class Tile>
__global__ void __launch_bounds__(kReductionThreads)
    edge_sum_kernel(const EdgeSumArgs<typename Tile::T, typename Tile::Sum> args) {
  EdgeSum<Tile> work(args);
  reduce_rows(work, args);
}

}  // namespace

void edge_sum(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids, const Tensor& y) {
  const RodePlan& plan = rodeo::rode_plan(adj);
  dispatch_float(x.dtype(), "edge_sum", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    constexpr int kVec = 16 / sizeof(T);
    const std::int64_t k = x.dim(1);
    EdgeSumArgs<T, Sum> args{.rode = RodeView(plan)};
    args.row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    args.x = device_data<T>(x);
    args.edge_ids = static_cast<const std::int64_t*>(edge_ids.raw());
    args.edges = adj.num_edges();
    if (edge_ids.defined()) args.check = index_check(x.device(), "edge_sum", "edge_ids");
    args.k = k;
    args.y = device_data<T>(y);
    const SplitRows split(plan, y.device(), args);
    const auto run = [&]<class Tile>(Tile) {
      launch_reduction<Tile>("edge_sum", y.device(), edge_sum_kernel<Tile>, args);
    };
    const bool aligned = is_aligned(x) && is_aligned(y);
    constexpr bool kHasNarrowTile = sizeof(T) <= 4;  // the heads of attention
    if (kHasNarrowTile && aligned && k % kVec == 0 && k <= 2 * kVec) {
      if constexpr (kHasNarrowTile) run(RowTile<T, kVec, 2>{});
    } else {
      dispatch_row_tile<T>(k, aligned, run);
    }
    add_slots("edge_sum", y.device(), args, plan.num_split_rows());
  });
}

}  // namespace rodeo::kernels::cuda
