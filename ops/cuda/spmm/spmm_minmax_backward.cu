// The gradients of spmm_minmax: dy[i, j] goes to the edge that y[i, j] came from.
//   dx[c, j] = sum of w[e] dy[i, j] over the edges e = (i, c) with arg[i, j] = e's position in row i.
// A first kernel marks at each edge the columns that came from it: a bit a column, 128 columns at a time.
// A sum over the rows of A^T reads the marks of an edge, and dy only where one is set. So most edges of a
// long row cost 16 bytes, not a row of arg.
//   dweight[e] = the dot of dy and x over the columns that came from e.
#include "core/cuda/warp.cuh"
#include "ops/cuda/rode/row_reduction.cuh"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

/// Marks of an edge in a column tile: bit j % 32 of word j / 32 is set where column j came from the
/// edge.
template <class Tile>
struct Marks {
  static constexpr int kWords = ceil_div(Tile::kWidth, 32);
  Pack<std::uint32_t, kWords> words;
  __device__ bool any() const {
    std::uint32_t all = 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) all |= words.value[w];
    return all != 0;
  }
};

// A warp per row, grid-stride. The marks of longer rows than kWarp edges were set to 0.
template <class Tile>
__global__ void mark_kernel(const std::int64_t* row_ptr, const std::int32_t* arg, Marks<Tile>* marks,
                            std::int64_t rows, std::int64_t k, std::int64_t tile) {
  constexpr int kWords = Marks<Tile>::kWords;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t first = tile * Tile::kWidth,
                     warps = static_cast<std::int64_t>(gridDim.x) * blockDim.x / kWarp;
  for (std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kWarp;
       row < rows; row += warps) {
    std::int32_t at[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::int64_t column = first + w * kWarp + lane;
      at[w] = w * kWarp + lane < Tile::kWidth && column < k ? arg[row * k + column] : -1;
    }
    const std::int64_t begin = row_ptr[row], length = row_ptr[row + 1] - begin;
    if (length <= kWarp) {  // a lane has the marks of an edge
      Marks<Tile> mine{};
      for (int e = 0; e < length; ++e)
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
          const unsigned here = __ballot_sync(kFullMask, at[w] == e);
          if (lane == e) mine.words.value[w] = here;
        }
      if (lane < length) marks[begin + lane] = mine;
    } else {  // the columns that came from one edge have one writer
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        const unsigned same = __match_any_sync(kFullMask, at[w]);
        if (at[w] >= 0 && lane == __ffs(static_cast<int>(same)) - 1)
          marks[begin + at[w]].words.value[w] = same;
      }
    }
  }
}

template <class Tile, class T, class Sum>
struct MinmaxDxArgs {
  RodeView rode;                 // of A^T
  const std::int64_t* row_ptr;   // of A^T
  const std::int32_t* row_of;    // columns of A^T, rows of A
  const std::int64_t* edge_ids;  // the edge of A for each edge of A^T
  const T* weight;               // [edges, heads], or null
  const Marks<Tile>* marks;
  const T* dy;
  std::int64_t k, heads, per_head, tile;
  T* y;                     // dx
  Sum* partial;             // [slots, k]
  std::int32_t* split_row;  // [split rows]
};

template <class Tile_>
struct MinmaxDxRow : RowSums<Tile_, MinmaxDxArgs<Tile_, typename Tile_::T, typename Tile_::Sum>> {
  using Base = RowSums<Tile_, MinmaxDxArgs<Tile_, typename Tile_::T, typename Tile_::Sum>>;
  using Base::active, Base::args, Base::column, Base::kVec, Base::sum;
  using Base::Base;
  using Tile = Tile_;
  using typename Base::Row, typename Base::Sum;

  static constexpr int kLanes = Tile::kLanes, kWords = Marks<Tile>::kWords;
  const int lane = threadIdx.x % kWarp, member = lane % kLanes;
  const unsigned group_lanes = kLanes == kWarp ? kFullMask : ((1u << kLanes % kWarp) - 1) << (lane - member);
  const int word = member * kVec / 32, bit = member * kVec % 32;  // of this lane's columns
  const std::int64_t head = active ? column / args.per_head : 0;

  /// What a lane has read of an edge.
  struct Entry {
    Marks<Tile> marks{};
    std::int64_t edge = 0;
    std::int32_t row = 0;
  };
  __device__ Entry load_entry(const RodeView::Part& part, int at) const {
    Entry entry;
    if (at >= part.length) return entry;
    entry.edge = load_streaming(args.edge_ids + part.begin + at);
    entry.row = load_streaming(args.row_of + part.begin + at);
    entry.marks = args.marks[entry.edge];
    return entry;
  }
  /// Lanes of a group read the marks of kLanes edges, and then add the marked ones in order, together.
  __device__ void visit(const RodeView::Part& part, int first, int step) {
    Entry next = load_entry(part, first + member * step);
    for (int at = first; at < part.length; at += kLanes * step) {
      const auto [marks, edge, row] = next;
      next = load_entry(part, at + (kLanes + member) * step);
      unsigned marked = __ballot_sync(group_lanes, marks.any());
      while (marked) {
        Row dy[kMarkedInFlight];
        std::uint32_t mark[kMarkedInFlight];
        Sum factor[kMarkedInFlight];
#pragma unroll
        for (int u = 0; u < kMarkedInFlight; ++u) {
          const bool exists = marked != 0;
          const int source = exists ? __ffs(static_cast<int>(marked)) - 1 : lane;
          marked &= marked - 1;
          mark[u] = 0;
#pragma unroll
          for (int w = 0; w < kWords; ++w) {
            const std::uint32_t bits = __shfl_sync(group_lanes, marks.words.value[w], source);
            if (w == word) mark[u] = bits;
          }
          mark[u] = exists && active ? mark[u] >> bit & ((1u << kVec) - 1) : 0;
          const std::int64_t from = __shfl_sync(group_lanes, row, source);
          factor[u] = 1;
          if (args.weight) {
            const std::int64_t from_edge = __shfl_sync(group_lanes, edge, source);
            if (mark[u]) factor[u] = widen(args.weight[from_edge * args.heads + head]);
          }
          if (mark[u]) dy[u] = *reinterpret_cast<const Row*>(args.dy + from * args.k + column);
        }
#pragma unroll
        for (int u = 0; u < kMarkedInFlight; ++u)
#pragma unroll
          for (int v = 0; v < kVec; ++v)
            if (mark[u] >> v & 1) sum[v] += factor[u] * widen(dy[u].value[v]);
      }
    }
  }
  static constexpr int kMarkedInFlight = 2;
};

// grid (warps / warps of a block), block kReductionThreads.
template <class Tile>
__global__ void __launch_bounds__(kReductionThreads)
    minmax_dx_kernel(const MinmaxDxArgs<Tile, typename Tile::T, typename Tile::Sum> args) {
  MinmaxDxRow<Tile> work(args, args.tile);
  reduce_rows(work, args);
}

/// Calls f(RowTile{}): up to 128 columns, so that the marks of an edge are read once.
template <class T, class F>
void dispatch_marked_tile(std::int64_t k, std::int64_t per_head, bool aligned, F&& f) {
  constexpr int kVec = 16 / sizeof(T);
  if constexpr (sizeof(T) == 8)
    f(RowTile<T, 1, 32>{});
  else if (aligned && per_head % kVec == 0 && k > 8 * kVec)
    k > 16 * kVec ? f(RowTile<T, kVec, 128 / kVec>{}) : f(RowTile<T, kVec, 16>{});
  else
    dispatch_row_tile<T>(per_head, aligned, f);
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
    const std::int64_t k = dx.numel() / adj.cols(), per_head = k / heads_of(weight);
    dispatch_marked_tile<T>(k, per_head, is_aligned(dy), [&]<class Tile>(Tile) {
      const Tensor marks = Tensor::empty({adj.num_edges(), Marks<Tile>::kWords}, DType::kI32, dx.device());
      MinmaxDxArgs<Tile, T, Sum> args{.rode = RodeView(plan)};
      args.row_ptr = transposed.adj.csr().row_ptr.data<std::int64_t>();
      args.row_of = transposed.adj.csr().col.data<std::int32_t>();
      args.edge_ids = transposed.edge_ids.data<std::int64_t>();
      args.weight = device_data<T>(weight);
      args.marks = static_cast<const Marks<Tile>*>(marks.raw());
      args.dy = device_data<T>(dy);
      args.k = k;
      args.heads = heads_of(weight);
      args.per_head = per_head;
      args.y = device_data<T>(dx);
      const SplitRows split(plan, dx.device(), args);
      for (args.tile = 0; args.tile < ceil_div(k, Tile::kWidth); ++args.tile) {
        marks.fill(0);
        launch("spmm_minmax_dx", dx.device(), mark_kernel<Tile>, grid_for(adj.rows() * kWarp, 256), dim3(256),
               0, adj.csr().row_ptr.data<std::int64_t>(), arg.data<std::int32_t>(),
               static_cast<Marks<Tile>*>(marks.raw()), adj.rows(), k, args.tile);
        launch_reduction<Tile>("spmm_minmax_dx", dx.device(), minmax_dx_kernel<Tile>, args, 1);
      }
      add_slots("spmm_minmax_dx", dx.device(), args, plan.num_split_rows());
    });
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
