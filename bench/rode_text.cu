// RoDe SpMM as the text has it (docs/references.md), to be timed beside the library's form.
//
// Two kernels: block parts, in pieces of N_S = 512, then residues. A sub-warp of 8 lanes takes a part and a
// column tile. Sparse blocks are staged in shared memory, so that all lanes of the sub-warp reuse them. The
// dense rows depend on the staged columns: a barrier stands before their loads. Dense rows and sums are in
// registers. Sub-block pipeline: a sparse block has two sub-blocks; rows of the second are loaded while the
// first is multiplied, and the next sparse block while the second is. Parts of a row are added by atomicAdd.
//
// The text leaves open: the number of nonzeros of a sub-block (kSub, all are timed), whose barrier it is
// (here that of the sub-warp, the cheapest that is right), and who zeroes Y (here a memset, within the time).
#include "bench/rode_ablation_kernels.h"
#include "core/error.h"
#include "ops/cuda/device/loads.cuh"
#include "ops/cuda/device/pack.cuh"
#include "ops/cuda/device/tensor_data.cuh"

namespace rodeo::bench {
namespace {

using namespace rodeo::kernels::cuda;

constexpr int kThreads = 128, kLanes = 8, kTeams = kThreads / kLanes;
constexpr int kBlock = 32;         // N_B
constexpr int kResidueUnroll = 4;  // rows of X of a residue in flight

struct TextArgs {
  const std::int64_t *row_ptr, *part_begin;
  const std::int32_t *part_row, *part_length, *col;
  const float *weight, *x;  // weight may be null
  float* y;
  std::int64_t parts, n;
};

/// A sub-warp: its lanes, its columns, its share of shared memory.
template <int kVec, int kStaged>
struct Team {
  using Row = Pack<float, kVec>;
  struct Memory {
    std::int32_t col[kTeams][kStaged];
    float weight[kTeams][kStaged];
  };

  const TextArgs& args;
  Memory& memory;
  const int lane = threadIdx.x % kLanes, team = threadIdx.x / kLanes;
  const unsigned mask = ((1u << kLanes) - 1) << (threadIdx.x % kWarp / kLanes * kLanes);
  const std::int64_t part = static_cast<std::int64_t>(blockIdx.x) * kTeams + team;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.y) * kLanes + lane) * kVec;
  const bool active = column < args.n;  // else a lane that only stages
  float sum[kVec] = {};

  __device__ void sync() const { __syncwarp(mask); }
  __device__ Row load_row(int at) const {
    return *reinterpret_cast<const Row*>(args.x + memory.col[team][at] * args.n + column);
  }
  __device__ void add(const Row& row, int at) {
#pragma unroll
    for (int v = 0; v < kVec; ++v) sum[v] += memory.weight[team][at] * row.value[v];
  }
  __device__ void finish(bool alone) const {
    if (!active) return;
    float* const y = args.y + args.part_row[part] * args.n + column;
#pragma unroll
    for (int v = 0; v < kVec; ++v)
      if (alone)
        y[v] = sum[v];
      else
        atomicAdd(y + v, sum[v]);
  }
};

// grid (parts / parts of a thread block, column tiles), block kThreads.
template <int kVec, int kSub>
__global__ void __launch_bounds__(kThreads) block_kernel(const TextArgs args) {
  constexpr int kSparse = 2 * kSub,
                kMine = (kSparse + kLanes - 1) / kLanes;  // a sparse block, its lane's share
  static_assert(kBlock % kSparse == 0 && kSparse % kLanes == 0, "a part is a whole number of sparse blocks");
  using TeamOf = Team<kVec, 2 * kSparse>;
  __shared__ typename TeamOf::Memory memory;
  TeamOf work{args, memory};
  if (work.part >= args.parts) return;  // the whole sub-warp
  const std::int64_t begin = args.part_begin[work.part];
  const int blocks = args.part_length[work.part] / kSparse;
  std::int32_t next_col[kMine];
  float next_weight[kMine];
  const auto load_sparse = [&](int block) {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      const std::int64_t e = begin + block * kSparse + i * kLanes + work.lane;
      next_col[i] = load_streaming(args.col + e);
      next_weight[i] = args.weight ? load_streaming(args.weight + e) : 1.f;
    }
  };
  const auto stage = [&](int half) {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      memory.col[work.team][half * kSparse + i * kLanes + work.lane] = next_col[i];
      memory.weight[work.team][half * kSparse + i * kLanes + work.lane] = next_weight[i];
    }
  };
  typename TeamOf::Row dense[2][kSub];
  const auto load_dense = [&](int sub, int at) {
#pragma unroll
    for (int k = 0; k < kSub; ++k)
      if (work.active) dense[sub][k] = work.load_row(at + k);
  };
  const auto multiply = [&](int sub, int at) {
#pragma unroll
    for (int k = 0; k < kSub; ++k)
      if (work.active) work.add(dense[sub][k], at + k);
  };
  load_sparse(0);
  stage(0);
  work.sync();
  load_dense(0, 0);
#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    const int at = block % 2 * kSparse;
    const bool more = block + 1 < blocks;
    load_dense(1, at + kSub);
    multiply(0, at);
    if (more) load_sparse(block + 1);
    multiply(1, at + kSub);
    if (more) stage((block + 1) % 2);
    work.sync();
    if (more) load_dense(0, (block + 1) % 2 * kSparse);
  }
  work.finish(false);
}

// The residues, with the grid and block of the kernel above.
template <int kVec>
__global__ void __launch_bounds__(kThreads) residue_kernel(const TextArgs args) {
  using TeamOf = Team<kVec, kBlock>;
  __shared__ typename TeamOf::Memory memory;
  TeamOf work{args, memory};
  if (work.part >= args.parts) return;
  const std::int64_t begin = args.part_begin[work.part];
  const int length = args.part_length[work.part];
  for (int i = work.lane; i < length; i += kLanes) {
    memory.col[work.team][i] = load_streaming(args.col + begin + i);
    memory.weight[work.team][i] = args.weight ? load_streaming(args.weight + begin + i) : 1.f;
  }
  work.sync();
  for (int at = 0; work.active && at < length; at += kResidueUnroll) {
    typename TeamOf::Row dense[kResidueUnroll];
#pragma unroll
    for (int k = 0; k < kResidueUnroll; ++k)
      if (at + k < length) dense[k] = work.load_row(at + k);
#pragma unroll
    for (int k = 0; k < kResidueUnroll; ++k)
      if (at + k < length) work.add(dense[k], at + k);
  }
  // Atomics only where the row has a block part.
  const std::int64_t row = args.part_row[work.part];
  work.finish(args.row_ptr[row + 1] - args.row_ptr[row] == length);
}

template <int kVec, int kSub>
void run(TextArgs args, const RodePlan& plan, Device device) {
  const auto go = [&](auto* kernel, const Tensor& row, const Tensor& begin, const Tensor& length) {
    args.part_row = row.data<std::int32_t>();
    args.part_begin = begin.data<std::int64_t>();
    args.part_length = length.data<std::int32_t>();
    args.parts = row.numel();
    launch("rode_text", device, kernel,
           dim3(static_cast<unsigned>(ceil_div(args.parts, kTeams)),
                static_cast<unsigned>(ceil_div(args.n, kLanes * kVec))),
           dim3(kThreads), 0, args);
  };
  go(block_kernel<kVec, kSub>, plan.piece_row, plan.piece_begin, plan.piece_length);
  go(residue_kernel<kVec>, plan.residual_row, plan.residual_begin, plan.residual_length);
}

}  // namespace

void run_rode_text(int sub_block, const Csr& a, const RodePlan& plan, const Tensor& weight, const Tensor& x,
                   const Tensor& y) {
  TextArgs args{.row_ptr = a.row_ptr.data<std::int64_t>()};
  args.col = a.col.data<std::int32_t>();
  args.weight = device_data<float>(weight);
  args.x = device_data<float>(x);
  args.y = device_data<float>(y);
  args.n = x.dim(1);
  y.fill(0);
  const bool aligned = args.n % 4 == 0 && is_aligned(x) && is_aligned(y);
  const auto with = [&]<int kSub>() {
    aligned ? run<4, kSub>(args, plan, y.device()) : run<1, kSub>(args, plan, y.device());
  };
  if (sub_block == 4) return with.operator()<4>();
  if (sub_block == 8) return with.operator()<8>();
  check(sub_block == 16, "[rode_text] sub-blocks have 4, 8 or 16 nonzeros, got ", sub_block);
  with.operator()<16>();
}

}  // namespace rodeo::bench
