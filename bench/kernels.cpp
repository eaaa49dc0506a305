#include "bench/kernels.h"

#include <algorithm>
#include <set>

#include "bench/peers.h"
#include "core/text.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/pairs.h"
#include "ops/plan/rode_plan.h"
#include "ops/sddmm.h"
#include "ops/sparse/dense_block_plans.h"
#include "ops/sparse/graph_plans.h"
#include "ops/spmm.h"
#include "ops/spmv.h"

namespace rodeo::bench {
namespace {

using DTypes = std::vector<DType>;
const DTypes kEveryFloat{DType::kF64, DType::kF32, DType::kF16, DType::kBF16};

// `compute` is a callable on a Problem.
template <class F>
Kernel ours(const std::string& name, Op op, F compute, const DTypes& dtypes = kEveryFloat) {
  return {name, op, [=](const Problem& p) -> Run {
            if (std::find(dtypes.begin(), dtypes.end(), p.dtype) == dtypes.end()) return {};
            return [=] { return compute(p); };
          }};
}

Kernel on_cuda_only(Kernel kernel) {
  kernel.prepare = [prepare = kernel.prepare](const Problem& p) {
    return p.adj.device().is_cuda() ? prepare(p) : Run();
  };
  return kernel;
}

// Without split rows, kAtomic launches the same kernel as kDeterministic.
Kernel where_rows_are_split(Kernel kernel) {
  kernel.prepare = [prepare = kernel.prepare](const Problem& p) {
    return rode_plan(p.adj).num_split_rows() > 0 ? prepare(p) : Run();
  };
  return kernel;
}

Kernel rounds_to_tf32(Kernel kernel) {
  kernel.tf32 = true;
  return kernel;
}

// SpMM with one algorithm.
auto by(const SpmmOptions& options) {
  return [=](const Problem& p) {
    return p.weight.defined() ? spmm(p.adj, p.weight, p.x, options) : spmm(p.adj, p.x, options);
  };
}

auto by_spmv(const SpmvOptions& options) {
  return [=](const Problem& p) {
    const Tensor x = p.x.reshape({p.x.numel()});
    return p.weight.defined() ? spmv(p.adj, p.weight, x, options) : spmv(p.adj, x, options);
  };
}

auto by_sddmm(const SddmmOptions& options) {
  return [=](const Problem& p) { return sddmm(p.adj, p.b1, p.x, SddmmOp::kDot, p.weight, options); };
}

/// SDDMM on a list of pairs, as link prediction scores the pairs it draws. Without edge weights.
Kernel by_pairs() {
  Kernel kernel{"pairs", Op::kSddmm, [](const Problem& p) -> Run {
                  if (p.weight.defined()) return {};
                  const Tensor row = edge_rows(p.adj).to(DType::kI64), col = p.adj.csr().col.to(DType::kI64);
                  return [=] { return pair_dot(p.b1, p.x, row, col); };
                }};
  kernel.only_named = true;
  return kernel;
}

bool is_kernel(Op op, const std::string& name) {
  return std::any_of(all_kernels().begin(), all_kernels().end(),
                     [&](const Kernel& kernel) { return kernel.op == op && kernel.name == name; });
}

}  // namespace

std::string_view name(Op op) {
  return op == Op::kSpmm ? "spmm" : op == Op::kSddmm ? "sddmm" : "spmv";
}

const std::vector<Kernel>& all_kernels() {
  static const std::vector<Kernel> kernels = [] {
    std::vector<Kernel> all{
        ours("csr", Op::kSpmm, by({SpmmAlgorithm::kCsr})),
        ours("rode", Op::kSpmm, by({SpmmAlgorithm::kRode})),
        on_cuda_only(where_rows_are_split(ours("rode-atomic", Op::kSpmm,
                                               by({SpmmAlgorithm::kRode, Accumulate::kAtomic}),
                                               {DType::kF64, DType::kF32}))),
        rounds_to_tf32(on_cuda_only(ours("rode-tc", Op::kSpmm, by({SpmmAlgorithm::kRodeTc}),
                                         {DType::kF32, DType::kF16, DType::kBF16}))),
        rounds_to_tf32(on_cuda_only(
            ours("tca", Op::kSpmm, by({SpmmAlgorithm::kTca}), {DType::kF32, DType::kF16, DType::kBF16}))),
        ours("auto", Op::kSpmm, by({})),
        ours("rows", Op::kSddmm, by_sddmm({SddmmAlgorithm::kRows})),
        ours("edges", Op::kSddmm, by_sddmm({SddmmAlgorithm::kEdges})),
        ours("auto", Op::kSddmm, by_sddmm({})),
        by_pairs(),
    };
    for (const char* spmv : {"auto", "vector", "stream", "rode", "segmented", "vector-2", "vector-4",
                             "vector-8", "vector-16", "vector-32"}) {
      all.push_back(ours(spmv, Op::kSpmv, by_spmv(parse_spmv_options(spmv))));
      all.back().only_named = std::string_view(spmv).starts_with("vector-");
      if (std::string_view(spmv) == "stream")
        all.back() = on_cuda_only(all.back());  // on the CPU it is vector
    }
#if RODEO_WITH_CUDA
    for (const auto& peers : {cusparse_spmm(), cusparse_sddmm(), cusparse_spmv()})
      all.insert(all.end(), peers.begin(), peers.end());
#endif
    return all;
  }();
  return kernels;
}

const std::vector<Plan>& all_plans() {
  static const std::vector<Plan> plans = [] {
    std::vector<Plan> all{{"rode", [](const Adjacency& adj) { rode_plan(adj); }}};
    if (cuda_device_count() > 0)
      all.push_back({"dense blocks", [](const Adjacency& adj) { dense_blocks(adj); }});
    return all;
  }();
  return plans;
}

Tensor draw_operand(const Shape& shape, std::uint64_t stream, DType dtype, Device device) {
  const DType drawn = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return uniform(shape, -1, 1, {1, stream}, drawn, device).to(dtype);
}

Problem make_problem(Op op, const Adjacency& adj, DType dtype, std::int64_t n, const Tensor& weight) {
  Problem p{op, adj, dtype, n, weight, draw_operand({adj.cols(), n}, 1, dtype, adj.device()), {}};
  if (op == Op::kSddmm) p.b1 = draw_operand({adj.rows(), n}, 2, dtype, adj.device());
  return p;
}

std::vector<Kernel> select_kernels(Op op, const std::vector<std::string>& filter) {
  std::vector<Kernel> chosen;
  for (const Kernel& kernel : all_kernels()) {
    const bool wanted = std::any_of(filter.begin(), filter.end(), [&](const std::string& part) {
      return kernel.name == part || (!is_kernel(op, part) && kernel.name.starts_with(part + "-"));
    });
    if (kernel.op == op && (filter.empty() ? !kernel.only_named : wanted)) chosen.push_back(kernel);
  }
  return chosen;
}

void check_filter(const std::vector<std::string>& filter, const std::vector<Op>& ops) {
  for (const std::string& part : filter) {
    bool known = false;
    std::set<std::string> names;
    for (const Op op : ops) {
      known = known || !select_kernels(op, {part}).empty();
      for (const Kernel& kernel : all_kernels())
        if (kernel.op == op) names.insert(kernel.name);
    }
    check(known, "unknown kernel '", part, "': expected any of ", join(names));
  }
}

}  // namespace rodeo::bench
