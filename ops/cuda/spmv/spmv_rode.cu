// y = A x by RoDe's decomposition (ops/plan/rode_plan.h), in one launch: a lane takes a nonzero at a time, a
// warp a piece, and a short row as few lanes as hold its nonzeros in two turns. The pieces of a split row
// leave their sums in a workspace; the warp that finishes last adds them in order. Where x fits the shared
// memory of a block and is read often, blocks that stay have a copy of it each: its banks take a warp's 32
// addresses in a few cycles, the L1 takes a cycle for each.
#include <algorithm>
#include <optional>

#include "core/cuda/warp.cuh"
#include "ops/cuda/device/scratch.h"
#include "ops/cuda/rode/residual_bins.cuh"
#include "ops/cuda/rode/rode_view.cuh"
#include "ops/cuda/spmm/padded_rows.h"
#include "ops/cuda/spmv/spmv_terms.cuh"
#include "ops/kernels/sparse.h"
#include "ops/plan/spmv_plan.h"

namespace rodeo::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kStagedThreads = 1024, kStagedBlocks = 2;  // of a multiprocessor
constexpr int kInFlight = 8;                             // nonzeros of a lane of a piece
constexpr int kShortInFlight = 2;                        // of a short row

template <class T, class Sum>
struct SpmvArgs {
  RodeView plan;
  const std::int64_t* row_ptr;
  const std::int32_t* col;
  const T *weight, *x;  // weight may be null
  T* y;
  Sum* partial;  // [slots]
  int* arrived;  // [split rows], zero, and left so
};

/// The sum of the nonzeros [begin, begin + length), lanes in turn, in each of `lanes` lanes.
template <int kDepth, class T, class Sum, class X>
__device__ Sum sum_of(const SpmvArgs<T, Sum>& args, const X& x, std::int64_t begin, int length, int place,
                      int lanes) {
  const Sum sum = sum_terms<kDepth>(args.col, args.weight, x, begin, length, place, lanes);
  __syncwarp();  // rows of a warp differ in length; from here on its lanes work together
  return sum_over(sum, lanes);
}

/// Leaves a piece's sum; true for the warp that finds all others done, which then has the row's.
template <class T, class Sum>
__device__ bool combine(const SpmvArgs<T, Sum>& args, int split, std::int64_t index, int lane, Sum& sum) {
  Sum* const slot = args.partial + args.plan.split_slot[split];
  const auto count = static_cast<int>(args.plan.split_slot[split + 1] - args.plan.split_slot[split]);
  int before = 0;
  if (lane == 0) {
    slot[index] = sum;
    __threadfence();
    before = atomicAdd(args.arrived + split, 1);
    if (before == count - 1) args.arrived[split] = 0;  // for the next launch
  }
  if (__shfl_sync(kFullMask, before, 0) != count - 1) return false;
  __threadfence();
  sum = 0;
  for (int i = lane; i < count; i += kWarp) sum += __ldcg(slot + i);  // from L2: other SMs wrote it
  sum = sum_over(sum);
  return true;
}

/// Warps [0, pieces) take a piece each, the others short rows. x(column) is an element of x.
template <class T, class Sum, class X>
__device__ void multiply(const SpmvArgs<T, Sum>& args, const ResidualBins& rows, std::int64_t warp,
                         const X& x) {
  const int lane = threadIdx.x % kWarp;
  const RodeView& plan = args.plan;
  if (warp < plan.pieces) {
    const RodeView::Part piece = plan.piece(warp);
    const std::int32_t split = plan.piece_split[warp];
    Sum sum = sum_of<kInFlight>(args, x, piece.begin, piece.length, lane, kWarp);
    const bool complete = split < 0 || combine(args, split, plan.index_of(piece, args.row_ptr), lane, sum);
    if (complete && lane == 0) args.y[piece.row] = static_cast<T>(sum);
  } else {
    const ResidualBins::Teams teams = rows.of_warp(static_cast<std::uint32_t>(warp - plan.pieces));
    const std::uint32_t at = teams.first + static_cast<std::uint32_t>(lane / teams.lanes);
    const bool exists = at < teams.end;
    const RodeView::Part part = exists ? plan.residual(at) : RodeView::Part{};
    const int place = lane % teams.lanes;
    const Sum sum = sum_of<kShortInFlight>(args, x, part.begin, part.length, place, teams.lanes);
    if (exists && place == 0) args.y[part.row] = static_cast<T>(sum);
  }
}

// grid warps / warps of a block, block kThreads.
template <class T, class Sum>
__global__ void __launch_bounds__(kThreads)
    spmv_rode_kernel(const SpmvArgs<T, Sum> args, const ResidualBins rows) {
  const std::int64_t warp = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kWarp;
  multiply(args, rows, warp, [&](std::int32_t column) { return __ldg(args.x + column); });
}

// grid at most as many blocks as the GPU holds, block kStagedThreads. The warps of a block take work from all
// over the plan, which begins with the longest pieces.
template <class T, class Sum>
__global__ void __launch_bounds__(kStagedThreads, kStagedBlocks)
    spmv_staged_kernel(const SpmvArgs<T, Sum> args, const ResidualBins rows, int cols, int warps) {
  extern __shared__ uint4 staged[];
  const auto shared = static_cast<std::uint32_t>(__cvta_generic_to_shared(staged));
  constexpr int kVec = 16 / sizeof(T);
  for (int at = threadIdx.x; at < cols / kVec; at += kStagedThreads)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + at * 16), "l"(args.x + at * kVec)
                 : "memory");
  T* const x = reinterpret_cast<T*>(staged);
  const int tail = cols / kVec * kVec + static_cast<int>(threadIdx.x);
  if (tail < cols) x[tail] = args.x[tail];

  int warp = static_cast<int>(threadIdx.x / kWarp * gridDim.x + blockIdx.x);
  if (warp < args.plan.pieces) {  // columns need not wait for x
    const RodeView::Part piece = args.plan.piece(warp);
    const int ahead = static_cast<int>(threadIdx.x) % kWarp * kWarp;
    if (ahead < piece.length) asm volatile("prefetch.global.L2 [%0];" ::"l"(args.col + piece.begin + ahead));
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (; warp < warps; warp += static_cast<int>(gridDim.x) * (kStagedThreads / kWarp))
    multiply(args, rows, warp, [&](std::int32_t column) { return x[column]; });
}

}  // namespace

void spmv_rode(const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x, const Tensor& y) {
  dispatch_float(x.dtype(), "spmv", [&]<class Host>(Host) {
    using T = device_t<Host>;
    using Sum = Accumulator<T>;
    SpmvArgs<T, Sum> args{.plan = RodeView(plan)};
    args.row_ptr = a.row_ptr.data<std::int64_t>();
    args.col = a.col.data<std::int32_t>();
    args.weight = static_cast<const T*>(weight.raw());
    args.x = static_cast<const T*>(x.raw());
    args.y = static_cast<T*>(y.raw());
    std::optional<Scratch> partial;
    if (plan.num_split_rows() > 0) {
      partial.emplace(plan.num_slots * static_cast<std::int64_t>(sizeof(Sum)), y.device());
      args.partial = static_cast<Sum*>(partial->data());
      args.arrived = Context::of(y.device()).zeroed_counters(plan.num_split_rows());
    }
    const ResidualBins rows(plan, kWarp / kShortInFlight);
    const std::int64_t warps = plan.num_pieces() + rows.warps;
    if (stages_x(a.cols, a.col.numel(), sizeof(T)) && is_aligned(x)) {
      const auto kernel = spmv_staged_kernel<T, Sum>;
      const auto bytes = static_cast<int>(a.cols * static_cast<std::int64_t>(sizeof(T)));
      check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                 "spmv_rode");
      const std::int64_t most = kStagedBlocks * Context::of(y.device()).num_multiprocessors();
      const std::int64_t blocks = std::min(most, ceil_div(warps, kStagedThreads / kWarp));
      return launch("spmv_rode", y.device(), kernel, dim3(static_cast<unsigned>(blocks)),
                    dim3(kStagedThreads), static_cast<std::size_t>(bytes), args, rows,
                    static_cast<int>(a.cols), static_cast<int>(warps));
    }
    launch("spmv_rode", y.device(), spmv_rode_kernel<T, Sum>,
           dim3(static_cast<unsigned>(ceil_div(warps, kThreads / kWarp))), dim3(kThreads), 0, args, rows);
  });
}

}  // namespace rodeo::kernels::cuda
