#include "bench/rode_ablation.h"

#include "bench/rode_ablation_kernels.h"
#include "core/error.h"
#include "ops/kernels/sparse.h"
#include "ops/sparse/graph_plans.h"

namespace rodeo::bench {
namespace {

RodePlan plan_of_library(const Adjacency& adj, const RodeOptions& options) {
  return rode_plan(adj, options);
}

Tensor output_of(const Adjacency& adj, const Tensor& weight, const Tensor& x, std::int64_t unit = 32) {
  check(x.rank() == 2 && x.dtype() == DType::kF32 && x.dim(0) == adj.cols() && x.dim(1) % unit == 0,
        "[rode_ablation] x must be f32 [", adj.cols(), ", n] with n a multiple of ", unit, ", got ",
        x.dtype(), " ", x.shape());
  check(!weight.defined() || (weight.dtype() == DType::kF32 && weight.shape() == Shape{adj.num_edges()}),
        "[rode_ablation] weight must be f32 [", adj.num_edges(), "]");
  return Tensor::empty({adj.rows(), x.dim(1)}, DType::kF32, x.device());
}

Tensor run_on_cpu(const Adjacency& adj, const RodePlan& plan, const Tensor& weight, const Tensor& x) {
  const Tensor y = output_of(adj, weight, x);
  if (y.numel() > 0) kernels::spmm_rode.on(kCpu)(adj.csr(), plan, Accumulate::kOrdered, weight, x, y);
  return y;
}

#if RODEO_WITH_CUDA
RodePlan no_plan(const Adjacency&, const RodeOptions&) {
  return {};
}

template <RodeKernel kKernel>
Tensor run_on_cuda(const Adjacency& adj, const RodePlan& plan, const Tensor& weight, const Tensor& x) {
  const Tensor y = output_of(adj, weight, x);
  if (y.numel() > 0) run_rode_kernel(kKernel, adj.csr(), plan, weight, x, y);
  return y;
}

RodePlan plan_of_text(const Adjacency& adj, const RodeOptions&) {
  return published_rode_plan(adj, {.split = RodePlan::kSplit, .block = RodePlan::kBlock});
}

template <int kSubBlock>
Tensor run_text(const Adjacency& adj, const RodePlan& plan, const Tensor& weight, const Tensor& x) {
  const Tensor y = output_of(adj, weight, x, 1);
  if (y.numel() > 0) run_rode_text(kSubBlock, adj.csr(), plan, weight, x, y);
  return y;
}
#endif

}  // namespace

const std::vector<RodeForm>& rode_forms(Device device) {
  constexpr std::string_view kFull = "decomposition, order and pipeline of the library";
  static const std::vector<RodeForm> on_cpu{{"full", kFull, plan_of_library, run_on_cpu}};
#if RODEO_WITH_CUDA
  static const std::vector<RodeForm> on_cuda{
      {"full", kFull, plan_of_library, run_on_cuda<RodeKernel::kFull>},
      {"no pipeline", "a sub-block is loaded, added, then the next one is loaded", plan_of_library,
       run_on_cuda<RodeKernel::kNoPipeline>},
      {"no decomposition", "a warp a row, without a plan", no_plan,
       run_on_cuda<RodeKernel::kNoDecomposition>},
      {"residues apart", "residues apart, atomicAdd, rows in their order", published_rode_plan,
       run_on_cuda<RodeKernel::kResiduesApart>},
      {"published, 4", "two kernels, shared memory, sub-blocks of 4", plan_of_text, run_text<4>, true},
      {"published, 8", "two kernels, shared memory, sub-blocks of 8", plan_of_text, run_text<8>, true},
      {"published, 16", "two kernels, shared memory, sub-blocks of 16", plan_of_text, run_text<16>, true},
  };
  if (device.is_cuda()) return on_cuda;
#else
  check(!device.is_cuda(), "[rode_ablation] this build has no CUDA");
#endif
  return on_cpu;
}

RodePlan published_rode_plan(const Adjacency& adj, const RodeOptions& asked) {
  const RodeOptions options = RodePlan::resolve(asked, adj.num_edges());
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  struct Parts {
    std::vector<std::int32_t> row, length;
    std::vector<std::int64_t> begin;
    void add(std::int64_t r, std::int64_t first, std::int64_t nonzeros) {
      row.push_back(static_cast<std::int32_t>(r));
      begin.push_back(first);
      length.push_back(static_cast<std::int32_t>(nonzeros));
    }
  } blocks, residues;
  for (std::int64_t row = 0; row < adj.rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const std::int64_t end = row_ptr[at + 1], residue = (end - row_ptr[at]) % options.block;
    for (std::int64_t first = row_ptr[at]; first < end - residue; first += options.split)
      blocks.add(row, first, std::min(options.split, end - residue - first));
    if (residue > 0) residues.add(row, end - residue, residue);
  }
  const Device device = adj.device();
  const Tensor no_split = Tensor::from(std::vector<std::int32_t>(blocks.row.size(), -1), device);
  return {Tensor::from(blocks.row, device),
          Tensor::from(blocks.begin, device),
          Tensor::from(blocks.length, device),
          no_split,
          Tensor::from(residues.row, device),
          Tensor::from(residues.begin, device),
          Tensor::from(residues.length, device),
          Tensor::from(std::vector<std::int64_t>{0}, device),
          0,
          options.split,
          options.block,
          0,
          0};
}

}  // namespace rodeo::bench
