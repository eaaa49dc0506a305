// s[e, h] = weight[e] <b1[row(e), h], b2[col(e), h]>, in one of two orders (a batch of edges: sddmm.cuh).
//
// By rows: over the pieces and short rows of RoDe's decomposition, cluster by cluster where there are any,
// with the row of b1 in registers.
// Across rows, where they are short: a warp takes edges side by side, whatever their rows, and reads b1 as it
// reads b2, though mostly from the L1. Nothing is begun anew for a row, no lane waits for a longer one, all
// warps have equal work, and before the rows there is one load, not two.
//
// Where b2 is larger than the L2, but a slice of its columns is not, the slices are launched one after the
// other and the dots are carried in memory.
#include <algorithm>

#include "ops/cuda/device/l2_prefetch.cuh"
#include "ops/cuda/sddmm/sddmm.cuh"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kLongestSlice = 128;  // chunks: what the largest configuration covers
constexpr int kMostBatches = 8;     // of a warp across rows
template <class Tile>               // warps hide latency better than registers do
constexpr int kBlocksOfMultiprocessor = Tile::kAcross || Tile::kChunks == 4 ? 5
                                        : Tile::kChunks == 1                ? 8
                                                                            : 7;

// grid (warps / warps of a block, heads / heads of a warp), block kThreads. Warps [0, pieces) take a piece
// each, all teams of a warp together; the others take a short row for every team.
template <class Tile>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor<Tile>)
    sddmm_rows_kernel(const DotArgs<typename Tile::T, typename Tile::Sum> args, const RodeView rode) {
  Dot<Tile> dot(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  if (warp < rode.pieces) {
    dot.take_row(rode.piece(warp));
    dot.run(dot.team * Tile::kUnit, dot.teams * Tile::kUnit);
  } else {
    dot.take_row(rode.residual((warp - rode.pieces) * dot.teams + dot.team));
    dot.run(0, Tile::kUnit);
  }
}

// grid (warps / warps of a block, heads / heads of a warp), block kThreads. A warp takes edges_of_warp edges.
template <class Tile>
__global__ void __launch_bounds__(kThreads, kBlocksOfMultiprocessor<Tile>)
    sddmm_across_kernel(const DotArgs<typename Tile::T, typename Tile::Sum> args, std::int64_t edges,
                        int edges_of_warp, const L2Prefetch ask_ahead) {
  ask_ahead(kThreads);
  Dot<Tile> dot(args);
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const std::int64_t first = warp * edges_of_warp;
  dot.take_edges(first, static_cast<int>(min(edges - first, static_cast<std::int64_t>(edges_of_warp))));
  dot.run(dot.team * Tile::kUnit, dot.teams * Tile::kUnit);
}

/// Across rows where they are short on average, and none may be kept for the order of clusters.
bool goes_across(const Adjacency& adj, bool wide_b1) {
  return wide_b1 && adj.num_edges() < RodePlan::kBlock * adj.rows() &&
         !RowClusters::should_use(adj.rows(), adj.cols(), adj.num_edges());
}

/// Chunks of a slice: the whole head where the L2 holds b2, or where it would not even hold the narrowest
/// slice: a random access to DRAM is the cheaper the longer it is. Heads are slices already.
std::int64_t slice_chunks(const Tensor& b2, std::int64_t cols, std::int64_t heads, std::int64_t chunks) {
  const auto l2 = static_cast<std::int64_t>(Context::of(b2.device()).l2_bytes());
  if (heads == 1 && b2.nbytes() > l2)
    for (const std::int64_t width : {16, 8})
      if (cols * width * kChunkBytes <= l2) return std::min(width, chunks);
  return ceil_div(chunks, ceil_div(chunks, kLongestSlice));
}

template <class Tile>
void launch_tile(DotArgs<typename Tile::T, typename Tile::Sum> args, const Adjacency& adj, Device device) {
  const std::int64_t head_blocks = ceil_div(args.heads, Tile::kGroups);
  args.warp_heads = static_cast<int>(ceil_div(args.heads, head_blocks));
  const int teams = Tile::kGroups / args.warp_heads;
  const auto grid = [&](std::int64_t warps) {
    return dim3(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp)), static_cast<unsigned>(head_blocks));
  };
  if constexpr (Tile::kAcross) {
    const std::int64_t edges = adj.num_edges();
    const int batch = Tile::kEdges * teams,
              share = batch * rounds_for(edges * head_blocks / batch, kMostBatches, device);
    const dim3 blocks = grid(ceil_div(edges, share));
    const L2Prefetch ask_ahead(args.b1, adj.rows() * args.row_of_b1, args.b2, adj.cols() * args.row_of_b2,
                               std::int64_t{blocks.x} * blocks.y * kThreads);
    launch("sddmm", device, sddmm_across_kernel<Tile>, blocks, dim3(kThreads), 0, args, edges, share,
           ask_ahead);
  } else {
    const RodeView rode(rode_plan(adj));
    launch("sddmm", device, sddmm_rows_kernel<Tile>, grid(rode.pieces + ceil_div(rode.residuals, teams)),
           dim3(kThreads), 0, args, rode);
  }
}

template <class T, bool kAcross, class Sum>
void launch_slice(const DotArgs<T, Sum>& args, const Adjacency& adj, Device device) {
  const auto with = [&]<int kLanes, int kChunks>() {
    launch_tile<DotTile<T, kLanes, kChunks, kAcross>>(args, adj, device);
  };
  if (args.chunks <= 2)
    with.template operator()<2, 1>();
  else if (args.chunks <= 4)
    with.template operator()<4, 1>();
  else if (args.chunks <= 8)
    with.template operator()<8, 1>();
  else if (args.chunks <= 16)
    with.template operator()<8, 2>();
  else if (args.chunks <= 32)
    with.template operator()<32, 1>();
  else if (args.chunks <= 64)
    with.template operator()<32, 2>();
  else
    with.template operator()<32, 4>();
}

}  // namespace

void sddmm_dot(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
               const Tensor& out) {
  dispatch_float(b1.dtype(), "sddmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    constexpr std::int64_t kVec = kChunkBytes / sizeof(T);
    const std::int64_t heads = b1.dim(1), k = b1.dim(2), chunks = ceil_div(k, kVec);
    const PaddedRows padded(b2, heads, k);
    const bool wide_b1 = k % kVec == 0 && is_aligned(b1), across = goes_across(adj, wide_b1);
    const std::int64_t width = slice_chunks(padded.x, adj.cols(), heads, chunks);
    Tensor partial;  // 16-bit types carry the dots between slices in f32
    if (width < chunks)
      partial =
          out.dtype() == dtype_of<Sum>() ? out : Tensor::empty(out.shape(), dtype_of<Sum>(), out.device());
    for (std::int64_t first = 0; first < chunks; first += width) {
      DotArgs<T, Sum> args{};
      args.col = adj.csr().col.data<std::int32_t>();
      if (across) args.row = cached_edge_rows(adj).data<std::int32_t>();
      args.b1 = static_cast<const T*>(b1.raw());
      args.b2 = static_cast<const T*>(padded.x.raw());
      args.weight = static_cast<const T*>(weight.raw());
      args.k = k;
      args.head_of_b2 = padded.pitch;
      args.row_of_b1 = static_cast<std::uint32_t>(heads * k * sizeof(T));
      args.row_of_b2 = static_cast<std::uint32_t>(heads * padded.pitch * sizeof(T));
      args.first = first * kVec;
      args.chunks = static_cast<int>(std::min(width, chunks - first));
      args.heads = static_cast<int>(heads);
      args.wide_b1 = wide_b1;
      args.before = first > 0 ? static_cast<const Sum*>(partial.raw()) : nullptr;
      args.partial = first + width < chunks ? static_cast<Sum*>(partial.raw()) : nullptr;
      args.out = static_cast<T*>(out.raw());
      if (across)
        launch_slice<T, true>(args, adj, out.device());
      else
        launch_slice<T, false>(args, adj, out.device());
    }
  });
}

}  // namespace rodeo::kernels::cuda
