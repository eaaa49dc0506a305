// s[e, :] = weight[e] (b1[row(e), :] + or * b2[col(e), :]) over the pieces and residual rows of RoDe's plan.
// The output is most of the traffic, so lanes write it in memory order: a lane computes an item (the elements
// of an edge that one load has), then the item as many further as its team has lanes. Lanes exchange nothing.
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/rode/tile.cuh"
#include "ops/sparse/graph_plans.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kUnroll = 4;         // items of a lane in flight
constexpr int kEdgesInFlight = 4;  // of a residual row
constexpr int kMinTeamLanes = 4;

template <class T>
struct ElementwiseArgs {
  RodeView rode;
  const std::int32_t* col;
  const T *b1, *b2, *weight;  // weight may be null
  T* out;
  int items;        // of an edge
  int team_lanes;   // of a residual row, a power of two; a piece has the whole warp
  bool is_product;  // else a sum
};

// grid warps / warps of a block, block kThreads. Warps [0, pieces) take a piece each, the others a residual
// row per team.
template <class T, int kVec>
__global__ void __launch_bounds__(kThreads) sddmm_elementwise_kernel(const ElementwiseArgs<T> args) {
  using Sum = Accumulator<T>;
  using Item = Pack<T, kVec>;
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;

  const bool whole_warp = warp < args.rode.pieces;
  const int lanes = whole_warp ? kWarp : args.team_lanes;
  const auto [row, begin, length] =
      whole_warp ? args.rode.piece(warp)
                 : args.rode.residual((warp - args.rode.pieces) * (kWarp / lanes) + lane / lanes);

  const auto* own = reinterpret_cast<const Item*>(args.b1) + row * args.items;
  const auto* others = reinterpret_cast<const Item*>(args.b2);
  auto* out = reinterpret_cast<Item*>(args.out) + begin * args.items;
  const int member = lane % lanes, edges_on = lanes / args.items, items_on = lanes % args.items;
  int edge = member / args.items, item = member % args.items;
  while (edge < length) {
    Item left[kUnroll], right[kUnroll];
    Sum weight[kUnroll];
    std::int64_t to[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int at = edge < length ? edge : length - 1;  // past the end: loaded, not stored
      left[u] = own[item];
      right[u] = others[static_cast<std::int64_t>(args.col[begin + at]) * args.items + item];
      weight[u] = args.weight ? widen(args.weight[begin + at]) : Sum(1);
      to[u] = edge < length ? static_cast<std::int64_t>(edge) * args.items + item : -1;
      edge += edges_on;
      item += items_on;
      if (item >= args.items) {
        item -= args.items;
        ++edge;
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      Item result;
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        const Sum a = widen(left[u].value[v]), b = widen(right[u].value[v]);
        result.value[v] = static_cast<T>(weight[u] * (args.is_product ? a * b : a + b));
      }
      if (to[u] >= 0) out[to[u]] = result;
    }
  }
}

template <class T, int kVec>
void run(ElementwiseArgs<T> args, std::int64_t k, Device device) {
  args.items = static_cast<int>(k / kVec);
  args.team_lanes = kMinTeamLanes;
  while (args.team_lanes < kWarp && args.team_lanes < kEdgesInFlight * args.items) args.team_lanes *= 2;
  const std::int64_t warps = args.rode.pieces + ceil_div(args.rode.residuals, kWarp / args.team_lanes);
  launch("sddmm", device, sddmm_elementwise_kernel<T, kVec>,
         dim3(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp))), dim3(kThreads), 0, args);
}

}  // namespace

void sddmm_elementwise(const Adjacency& adj, const Tensor& weight, const Tensor& b1, const Tensor& b2,
                       SddmmOp op, const Tensor& out) {
  const RodePlan& plan = rodeo::rode_plan(adj);
  dispatch_float(b1.dtype(), "sddmm", [&]<class Host>(Host) {
    using T = device_t<Host>;
    constexpr int kVec = 16 / sizeof(T);
    const std::int64_t k = b1.dim(1);
    ElementwiseArgs<T> args{.rode = RodeView(plan)};
    args.col = adj.csr().col.data<std::int32_t>();
    args.b1 = device_data<T>(b1);
    args.b2 = device_data<T>(b2);
    args.weight = device_data<T>(weight);
    args.out = device_data<T>(out);
    args.is_product = op == SddmmOp::kMul;
    if (k % kVec == 0 && is_aligned(b1) && is_aligned(b2) && is_aligned(out))
      run<T, kVec>(args, k, out.device());
    else
      run<T, 1>(args, k, out.device());
  });
}

}  // namespace rodeo::kernels::cuda
