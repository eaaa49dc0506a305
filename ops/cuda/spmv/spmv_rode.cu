// y = A x by RoDe's plan (ops/plan/rode_plan.h), in one launch: a warp per piece, and for a residual row as
// few lanes as hold its nonzeros in two loads each. The pieces of a split row write their sums to a
// workspace; the last warp to arrive adds them in order. Where x fits shared memory and is read often,
// resident blocks stage a copy of it each: shared memory serves the 32 addresses of a warp in a few cycles,
// the L1 one a cycle.
#include <algorithm>
#include <optional>

#include "core/cuda/warp.cuh"
#include "ops/cuda/device/architecture.cuh"
#include "ops/cuda/device/async_copy.cuh"
#include "ops/cuda/device/l2_prefetch.cuh"
#include "ops/cuda/device/last_block.cuh"
#include "ops/cuda/device/scratch.h"
#include "ops/cuda/device/tensor_data.cuh"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/spmv/spmv_terms.cuh"
#include "ops/kernels/sparse.h"
#include "ops/plan/residual_bins.h"
#include "ops/plan/spmv_plan.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kStagedThreads = kSpmvStagedThreads;
constexpr int kInFlight = 8;          // nonzeros of a lane of a piece
constexpr int kStagedInFlight = 4;    // of a lane with weights, where 2048 threads have 32 registers each
constexpr int kResidualInFlight = 2;  // of a residual row

constexpr int kStagedBlocks = kThreadsPerMultiprocessor / kStagedThreads;

template <class T, class Sum>
struct SpmvArgs {
  RodeView plan;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *weight, *x;  // weight may be null
  T* y;
  Sum* partial;  // [slots]
  int* arrived;  // [split rows], zero before and after the launch
};

/// The sum of the nonzeros [begin, begin + length) over `lanes` lanes, in each of them.
template <int kDepth, bool kInTurn, class T, class Sum, class X>
__device__ Sum sum_of(const SpmvArgs<T, Sum>& args, const X& x, std::int64_t begin, int length, int place,
                      int lanes) {
  const Sum sum = kInTurn ? sum_terms_in_turn<kDepth>(args.col, args.weight, x, begin, length, place, lanes)
                          : sum_terms<kDepth>(args.col, args.weight, x, begin, length, place, lanes);
  __syncwarp();  // the lengths of a warp's rows differ
  return sum_over(sum, lanes);
}

/// Writes the sum of piece `index` to the workspace. True for the last warp to arrive: `sum` is then that of
/// the row.
template <class T, class Sum>
__device__ bool combine_pieces(const SpmvArgs<T, Sum>& args, int split, std::int64_t index, int lane,
                               Sum& sum) {
  Sum* const slot = args.partial + args.plan.split_slot[split];
  const auto count = static_cast<int>(args.plan.split_slot[split + 1] - args.plan.split_slot[split]);
  if (lane == 0) slot[index] = sum;
  if (!is_last_warp(args.arrived + split, count)) return false;
  sum = 0;
  for (int i = lane; i < count; i += kWarp)
    sum += __ldcg(slot + i);  // from L2: other multiprocessors wrote it
  sum = sum_over(sum);
  return true;
}

/// Warps [0, pieces) take a piece each, the others a residual row per team. x(column) is an element of x.
template <int kDepth, bool kInTurn, class T, class Sum, class X>
__device__ void multiply(const SpmvArgs<T, Sum>& args, const ResidualBins& bins, std::int64_t warp,
                         const X& x) {
  const int lane = threadIdx.x % kWarp;
  const RodeView& plan = args.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    Sum sum = sum_of<kDepth, kInTurn>(args, x, piece.begin, piece.length, lane, kWarp);
    const bool complete =
        split < 0 || combine_pieces(args, split, plan.index_of(piece, args.row_ptr), lane, sum);
    if (complete && lane == 0) args.y[piece.row] = static_cast<T>(sum);
  } else {
    const ResidualBins::Teams teams = bins.of_warp(static_cast<std::uint32_t>(warp - plan.pieces));
    const std::uint32_t at = teams.first + static_cast<std::uint32_t>(lane / teams.lanes);
    const bool exists = at < teams.end;
    const RodeView::Part part = exists ? plan.residual(at) : RodeView::Part{};
    const int place = lane % teams.lanes;
    const Sum sum = sum_of<kResidualInFlight, false>(args, x, part.begin, part.length, place, teams.lanes);
    if (exists && place == 0) args.y[part.row] = static_cast<T>(sum);
  }
}

// grid warps / warps of a block, block kThreads.
template <bool kInTurn, class T, class Sum>
__global__ void __launch_bounds__(kThreads)
    spmv_rode_kernel(const SpmvArgs<T, Sum> args, const ResidualBins bins) {
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  multiply<kInFlight, kInTurn>(args, bins, warp, [&](std::int32_t column) { return __ldg(args.x + column); });
}

// grid at most the resident blocks, block kStagedThreads. The warps of a block take work from all over the
// plan, which begins with the longest pieces.
template <class T, class Sum>
__global__ void __launch_bounds__(kStagedThreads, kStagedBlocks)
    spmv_staged_kernel(const SpmvArgs<T, Sum> args, const ResidualBins bins, int cols, int warps) {
  extern __shared__ uint4 staged[];
  T* const x = reinterpret_cast<T*>(staged);
  constexpr int kVec = 16 / sizeof(T);
  for (int at = threadIdx.x; at < cols / kVec; at += kStagedThreads)
    async_copy<16>(staged + at, args.x + at * kVec);
  const int tail = cols / kVec * kVec + static_cast<int>(threadIdx.x);
  if (tail < cols) x[tail] = args.x[tail];

  int warp = static_cast<int>(threadIdx.x / kWarp * gridDim.x + blockIdx.x);
  if (warp < args.plan.pieces) {  // columns do not depend on the copy of x
    const RodeView::Part piece = args.plan.piece(warp);
    const int ahead = static_cast<int>(threadIdx.x) % kWarp * kWarp;
    if (ahead < piece.length) prefetch_l2(args.col + piece.begin + ahead);
  }
  async_copy_wait_all();
  __syncthreads();
  const auto element = [&](std::int32_t column) { return x[column]; };
  for (; warp < warps; warp += static_cast<int>(gridDim.x) * (kStagedThreads / kWarp))
    if (args.weight)
      multiply<kStagedInFlight, false>(args, bins, warp, element);
    else
      multiply<kInFlight, false>(args, bins, warp, element);
}

}  // namespace

void spmv_rode(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmv", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    SpmvArgs<T, Sum> args{.plan = RodeView(plan)};
    args.row_ptr = a.row_ptr.data<std::int64_t>();
    args.col = a.col.data<std::int32_t>();
    args.weight = device_data<T>(weight);
    args.x = device_data<T>(x);
    args.y = device_data<T>(y);
    std::optional<Scratch> partial;
    if (plan.num_split_rows() > 0) {
      partial.emplace(plan.num_slots * static_cast<std::int64_t>(sizeof(Sum)), y.device());
      args.partial = static_cast<Sum*>(partial->data());
      args.arrived = Context::of(y.device()).zeroed_counters(plan.num_split_rows());
    }
    const ResidualBins bins(plan, kWarp / kResidualInFlight);
    const std::int64_t warps = plan.num_pieces() + bins.warps;
    const DeviceProperties& gpu = Context::of(y.device()).properties();
    if (should_stage_x(a.cols, a.col.numel(), sizeof(T), gpu) && is_aligned(x)) {
      const auto kernel = spmv_staged_kernel<T, Sum>;
      const auto bytes = static_cast<int>(a.cols * static_cast<std::int64_t>(sizeof(T)));
      check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                 "spmv_rode");
      const std::int64_t blocks = std::min(std::int64_t{staged_blocks(gpu)} * gpu.num_multiprocessors,
                                           ceil_div(warps, kStagedThreads / kWarp));
      return launch("spmv_rode", y.device(), kernel, dim3(static_cast<unsigned>(blocks)),
                    dim3(kStagedThreads), static_cast<std::size_t>(bytes), args, bins,
                    static_cast<int>(a.cols), static_cast<int>(warps));
    }
    const auto kernel =
        reads_x_in_turn(a.col.numel()) ? spmv_rode_kernel<true, T, Sum> : spmv_rode_kernel<false, T, Sum>;
    launch("spmv_rode", y.device(), kernel, dim3(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp))),
           dim3(kThreads), 0, args, bins);
  });
}

}  // namespace rodeo::kernels::cuda
