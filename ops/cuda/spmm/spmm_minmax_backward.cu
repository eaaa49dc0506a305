// The gradients of spmm_minmax: dy[i, j] goes to the edge that y[i, j] came from, the winner of column j.
//   dx[c, j] = sum of w[e] dy[i, j] over the edges e = (i, c) with arg[i, j] = e's position in row i.
// A sum over the rows of A^T reads for each edge the bytes of arg, and dy only where they are those of the
// edge. Where rows have more edges than columns most edges win nothing: a first kernel sets a bit for each
// edge that does, and all others are skipped.
//   dweight[e] = the dot of dy and x over the columns that e won.
#include "core/cuda/warp.cuh"
#include "ops/cuda/rode/row_reduction.cuh"
#include "ops/cuda/spmm/row_positions.cuh"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

template <class T, class Sum>
struct MinmaxDxArgs {
  RodeView rode;                  // of A^T
  const std::int64_t* row_ptr;    // of A^T
  const std::int32_t* row_of;     // columns of A^T, rows of A
  const std::int64_t* edge_ids;   // the edge of A for each edge of A^T
  const std::int64_t* a_row_ptr;  // of A
  const T* weight;                // [edges, heads], or null
  RowPositions arg;               // of [rows of A, k]
  std::uint32_t* winners;         // a bit for each edge of A, whether a column came from it; or null
  const T* dy;
  std::int64_t k, heads, per_head;
  T* y;                     // dx
  Sum* partial;             // [slots, k]
  std::int32_t* split_row;  // [split rows]
};

/// A lane has kWords pieces of kPiece columns each; the pieces of a group's lanes lie side by side.
template <class T_, int kWords_, int kPiece_, int kLanes_>
struct PieceTile {
  using T = T_;
  using Sum = Accumulator<T>;
  static constexpr int kWords = kWords_, kPiece = kPiece_, kLanes = kLanes_, kGroups = kWarp / kLanes,
                       kStride = kPiece * kLanes, kWidth = kWords * kStride;
};

/// An edge of A.
struct WinningEdge {
  std::int32_t row;        // ~row where the row has more planes than plane 0
  std::uint32_t position;  // in the row; with kAllPlanes where the row has all
  static constexpr std::uint32_t kAllPlanes = 1u << 31;
};

/// The edges that the lanes of a warp have read and that the groups then add.
struct WarpEdges {
  WinningEdge edge[kWarp];
  std::int64_t id[kWarp];  // where there are weights
};

template <class Tile_, bool kWeighted>
struct MinmaxDxRow {
  using Tile = Tile_;
  using T = typename Tile::T;
  using Sum = typename Tile::Sum;
  static constexpr int kLanes = Tile::kLanes, kWords = Tile::kWords, kPiece = Tile::kPiece,
                       kGroups = Tile::kGroups;
  static constexpr std::uint32_t kAllPlanes = WinningEdge::kAllPlanes;
  using Piece = Pack<T, kPiece>;

  const MinmaxDxArgs<T, Sum>& args;
  WarpEdges& shared;
  const int lane = threadIdx.x % kWarp, member = lane % kLanes, group = lane / kLanes;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * Tile::kWidth + member * kPiece;
  const std::uint8_t* const planes = args.arg.planes + column;
  const T* const dy = args.dy + column;
  Sum sum[kWords][kPiece] = {};

  __device__ MinmaxDxRow(const MinmaxDxArgs<T, Sum>& a, WarpEdges& s) : args(a), shared(s) {}

  __device__ bool has_piece(int w) const { return column + w * Tile::kStride < args.k; }
  struct Entry {
    bool wins = false;
    std::int64_t id = 0;
    WinningEdge edge{};
  };
  __device__ Entry load_entry(const RodeView::Part& part, int at) const {
    Entry entry;
    if (at >= part.length) return entry;
    entry.id = load_streaming(args.edge_ids + part.begin + at);
    const std::int32_t row = load_streaming(args.row_of + part.begin + at);
    entry.wins = !args.winners || args.winners[entry.id >> 5] >> (entry.id & 31) & 1;
    if (!entry.wins) return entry;
    const std::int64_t begin = args.a_row_ptr[row];
    const int planes = RowPositions::planes_of(args.a_row_ptr[row + 1] - begin);
    entry.edge = {planes > 1 ? ~row : row,
                  static_cast<std::uint32_t>(entry.id - begin) | (planes > 2 ? kAllPlanes : 0)};
    return entry;
  }
  /// The lanes of a warp read an edge each. Those that a column may have come from are added: by the group
  /// that has the row, or by all groups in turn if they have one row.
  __device__ void visit(const RodeView::Part& part, int first, int step) {
    const int last = __reduce_max_sync(kFullMask, part.length - first);
    Entry next = load_entry(part, first + member * step);
    for (int at = 0; at < last; at += kLanes * step) {
      const Entry entry = next;
      next = load_entry(part, first + at + (kLanes + member) * step);
      const unsigned all = __ballot_sync(kFullMask, entry.wins);
      const unsigned mine = step == 1 ? all & group_lanes() : all;
      const int slot = (step == 1 ? group * kLanes : 0) + __popc(mine & ((1u << lane) - 1));
      if (entry.wins) {
        shared.edge[slot] = entry.edge;
        if constexpr (kWeighted) shared.id[slot] = entry.id;
      }
      __syncwarp();
      if (step == 1)
        add_edges(group * kLanes, group * kLanes + __popc(mine), 1);
      else
        add_edges(group, __popc(mine), kGroups);
      __syncwarp();
    }
  }
  __device__ unsigned group_lanes() const {
    return kLanes == kWarp ? kFullMask : ((1u << kLanes % kWarp) - 1) << group * kLanes;
  }
  /// The bytes of planes 0 and 1 of an edge's row; 0 for a plane that it does not have.
  struct Bytes {
    std::uint32_t low[kWords] = {}, high[kWords] = {};
  };
  __device__ Bytes load_bytes(const WinningEdge& edge) const {
    Bytes bytes;
    const std::uint8_t* const from = planes + offset_of(edge);
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      if (has_piece(w)) bytes.low[w] = load_word(from + w * Tile::kStride);
    if (edge.row < 0)
#pragma unroll
      for (int w = 0; w < kWords; ++w)
        if (has_piece(w)) bytes.high[w] = load_word(from + args.arg.elements + w * Tile::kStride);
    return bytes;
  }
  __device__ static std::uint32_t load_word(const std::uint8_t* from) {
    if constexpr (kPiece == 4)
      return *reinterpret_cast<const std::uint32_t*>(from);
    else
      return *from;
  }
  __device__ std::uint64_t offset_of(const WinningEdge& edge) const {
    return wide_product(edge.row < 0 ? ~edge.row : edge.row, static_cast<std::uint32_t>(args.k));
  }
  /// Adds the edges begin, begin + step, ... of `shared`, as far as they are before end.
  __device__ void add_edges(int begin, int end, int step) {
    Bytes next;
    if (begin < end) next = load_bytes(shared.edge[begin]);
    for (int i = begin; i < end; i += step) {
      const WinningEdge edge = shared.edge[i];
      const Bytes bytes = next;
      if (i + step < end) next = load_bytes(shared.edge[i + step]);
      std::uint32_t marks[kWords], any = 0;
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        marks[w] = has_piece(w) ? mark_equal<kPiece>(bytes.low[w], bytes.high[w], edge.position) : 0;
        any |= marks[w];
      }
      if (any == 0) continue;
      const std::uint64_t from = offset_of(edge);
      if (edge.position & kAllPlanes) confirm(marks, planes + from, (edge.position & ~kAllPlanes) >> 16);
      add(marks, dy + from, i);
    }
  }
  /// Keeps the marks of edges whose bytes in planes 2 and 3 are equal, too.
  __device__ void confirm(std::uint32_t (&marks)[kWords], const std::uint8_t* from,
                          std::uint32_t position) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      if (!marks[w]) continue;
      const std::uint8_t* const third = from + 2 * args.arg.elements + w * Tile::kStride;
      marks[w] &= mark_equal<kPiece>(load_word(third), load_word(third + args.arg.elements), position);
    }
  }
  __device__ void add(const std::uint32_t (&marks)[kWords], const T* from, int slot) {
    Piece piece[kWords];
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      if (marks[w]) piece[w] = *reinterpret_cast<const Piece*>(from + w * Tile::kStride);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      Sum factor = 1;
      if constexpr (kWeighted)
        if (marks[w]) factor = weight_of(shared.id[slot], w);
#pragma unroll
      for (int v = 0; v < kPiece; ++v)
        if (marks[w] & 0x80u << 8 * v) sum[w][v] += factor * widen(piece[w].value[v]);
    }
  }
  __device__ Sum weight_of(std::int64_t edge, int w) const {
    const auto at = static_cast<std::uint32_t>(column + w * Tile::kStride);
    return widen(args.weight[edge * args.heads + at / static_cast<std::uint32_t>(args.per_head)]);
  }
  __device__ void reduce_groups() {
#pragma unroll
    for (int offset = kLanes; offset < kWarp; offset *= 2)
#pragma unroll
      for (int w = 0; w < kWords; ++w)
#pragma unroll
        for (int v = 0; v < kPiece; ++v) sum[w][v] += __shfl_xor_sync(kFullMask, sum[w][v], offset);
  }
  __device__ void write(std::int64_t row) const {
    write_to(args.y, row);
  }
  __device__ void write_partial(std::int64_t slot) const {
    write_to(args.partial, slot);
  }
  template <class Out>
  __device__ void write_to(Out* out, std::int64_t row) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      if (!has_piece(w)) continue;
      Pack<Out, kPiece> values;
#pragma unroll
      for (int v = 0; v < kPiece; ++v) values.value[v] = static_cast<Out>(sum[w][v]);
      *reinterpret_cast<Pack<Out, kPiece>*>(out + row * args.k + column + w * Tile::kStride) = values;
    }
  }
};

// grid (warps / warps of a block, column tiles), block kReductionThreads.
template <class Tile, bool kWeighted>
__global__ void __launch_bounds__(kReductionThreads)
    minmax_dx_kernel(const MinmaxDxArgs<typename Tile::T, typename Tile::Sum> args) {
  __shared__ WarpEdges edges[kReductionThreads / kWarp];
  MinmaxDxRow<Tile, kWeighted> work(args, edges[threadIdx.x / kWarp]);
  reduce_rows(work, args);
}

// grid-stride over the elements of arg. Sets bits of a bitmap of zeros.
__global__ void mark_winners_kernel(const std::int64_t* row_ptr, const RowPositions arg, std::int64_t k,
                                    std::uint32_t* winners) {
  RODEO_GRID_STRIDE(i, arg.elements) {
    const std::int64_t row = quotient(i, k), begin = row_ptr[row], length = row_ptr[row + 1] - begin;
    if (length == 0) continue;
    const std::int64_t edge = begin + arg.load(i, length);
    atomicOr(winners + edge / 32, 1u << edge % 32);
  }
}

/// Whether a bit an edge saves more than it costs: a column of a row has one winner, and rows have more edges
/// than columns.
constexpr bool most_edges_win_nothing(std::int64_t edges, std::int64_t rows, std::int64_t k) {
  return edges / std::max<std::int64_t>(1, rows) >= k;
}

/// Calls f(PieceTile{}).
template <class T, class F>
void dispatch_piece_tile(std::int64_t k, std::int64_t per_head, bool aligned, F&& f) {
  if (sizeof(T) == 8 || !aligned || per_head % 4 != 0) return f(PieceTile<T, 1, 1, 32>{});
  if constexpr (sizeof(T) < 8) {
    if (k <= 32) return f(PieceTile<T, 1, 4, 8>{});
    k <= 64 ? f(PieceTile<T, 2, 4, 8>{}) : f(PieceTile<T, 4, 4, 8>{});
  }
}

constexpr int kDotLanes = 8;

// grid-stride over (edge, head), kDotLanes lanes for each. All lanes of a warp make the same number of steps,
// so that they can shuffle.
template <class T>
__global__ void minmax_dweight_kernel(const std::int64_t* row_ptr, const std::int32_t* col,
                                      const std::int32_t* row_of, const RowPositions arg, const T* x,
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
      const std::int64_t begin = row_ptr[row], length = row_ptr[row + 1] - begin;
      const std::int64_t here = row * k + head * per_head, there = col[edge] * k + head * per_head;
      for (std::int64_t j = thread % kDotLanes; j < per_head; j += kDotLanes)
        if (begin + arg.load(here + j, length) == edge) sum += widen(dy[here + j]) * widen(x[there + j]);
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
    MinmaxDxArgs<T, Sum> args{.rode = RodeView(plan)};
    args.row_ptr = transposed.adj.csr().row_ptr.data<std::int64_t>();
    args.row_of = transposed.adj.csr().col.data<std::int32_t>();
    args.edge_ids = transposed.edge_ids.data<std::int64_t>();
    args.a_row_ptr = adj.csr().row_ptr.data<std::int64_t>();
    args.weight = device_data<T>(weight);
    args.arg = RowPositions(arg);
    args.dy = device_data<T>(dy);
    args.k = dx.numel() / adj.cols();
    args.heads = heads_of(weight);
    args.per_head = args.k / args.heads;
    args.y = device_data<T>(dx);
    const SplitRows split(plan, dx.device(), args);
    Tensor winners;
    if (most_edges_win_nothing(adj.num_edges(), adj.rows(), args.k)) {
      winners = Tensor::zeros({ceil_div(adj.num_edges(), std::int64_t{32})}, DType::kI32, dx.device());
      args.winners = static_cast<std::uint32_t*>(winners.raw());
      launch("spmm_minmax_dx", dx.device(), mark_winners_kernel, grid_for(args.arg.elements, 256), dim3(256),
             0, args.a_row_ptr, args.arg, args.k, args.winners);
    }
    dispatch_piece_tile<T>(args.k, args.per_head, is_aligned(dy), [&]<class Tile>(Tile) {
      launch_reduction<Tile>("spmm_minmax_dx", dx.device(),
                             args.weight ? minmax_dx_kernel<Tile, true> : minmax_dx_kernel<Tile, false>,
                             args);
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
           adj.csr().col.data<std::int32_t>(), rows.data<std::int32_t>(), RowPositions(arg),
           device_data<T>(x), device_data<T>(dy), device_data<T>(dweight), items, heads,
           x.numel() / adj.cols() / heads);
  });
}

}  // namespace rodeo::kernels::cuda
