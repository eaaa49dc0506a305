#include "ops/spmm.h"

#include <limits>
#include <memory>
#include <ostream>

#include "core/profile.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels.h"
#include "ops/sddmm.h"
#include "ops/spmm_store.h"

namespace rodeo {
namespace {

struct Operands {
  const Adjacency& adj;
  const Tensor &weight, &x, &y;
};

void run_csr(const Operands& in) {
  const ProfileScope scope(Part::kSpmm);
  kernels::spmm_csr.on(in.y.device())(in.adj.csr(), in.weight, in.x, in.y);
}

void run_rode(const Operands& in) {
  const RodePlan& plan = rode_plan(in.adj);  // made outside the timed scope, once
  const ProfileScope scope(Part::kSpmm);
  kernels::spmm_rode.on(in.y.device())(in.adj.csr(), plan, in.weight, in.x, in.y);
}

struct Cusparse {
  mutable std::shared_ptr<kernels::CusparseGraph> graph;
};

std::shared_ptr<kernels::CusparseGraph>& cusparse_on(const Adjacency& adj) {
  return adj.cached<Cusparse>([] { return Cusparse(); }).graph;
}

void run_cusparse(const Operands& in) {
  const ProfileScope scope(Part::kSpmm);
  kernels::spmm_cusparse.on(in.y.device())(in.adj.csr(), cusparse_on(in.adj), in.weight, in.x, in.y);
}

void check_cusparse_takes(const Adjacency& adj) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  check(adj.device().is_cuda(), "[spmm] cusparse runs on CUDA only, and the graph is on ", adj.device(),
        ": choose auto, csr or rode");
  check(adj.num_edges() <= kMax, "[spmm] cusparse takes at most 2^31 - 1 edges, got ", adj.num_edges(),
        ": choose rode");
}

constexpr struct {
  SpmmAlgorithm value;
  std::string_view name;
  void (*run)(const Operands&);
} kAlgorithms[] = {{SpmmAlgorithm::kAuto, "auto", nullptr},
                   {SpmmAlgorithm::kCsr, "csr", run_csr},
                   {SpmmAlgorithm::kRode, "rode", run_rode},
                   {SpmmAlgorithm::kCusparse, "cusparse", run_cusparse}};

void run_with(SpmmAlgorithm algorithm, const Operands& in) {
  for (const auto& known : kAlgorithms)
    if (known.value == algorithm) return known.run(in);
  fail("[spmm] no such algorithm: ", static_cast<int>(algorithm));
}

SpmmAlgorithm choose(const Operands& in) {
  auto& cusparse = cusparse_on(in.adj);
  const bool in_use = cusparse != nullptr;
  const SpmmProblem problem{in.x.dim(1), in.x.dtype(), in.weight.defined()};
  const SpmmAlgorithm chosen = choose_spmm(
      in.adj, problem, [&](SpmmAlgorithm algorithm) { run_with(algorithm, in); }, SpmmStore::of_process());
  // Having been timed is no reason to hold an array of ones as long as the edges.
  if (!in_use && chosen != SpmmAlgorithm::kCusparse) cusparse.reset();
  return chosen;
}

Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check_matrix("spmm", "x", x);
  check_on_device_of("spmm", adj, "x", x);
  check(x.dim(0) == adj.cols(), "[spmm] x must be [", adj.cols(), ", n], got ", x.shape());
  if (weight.defined()) {
    check_alike("spmm", "x", x, "weight", weight);
    check_shape("spmm", "weight", weight, {adj.num_edges()});
  }
  if (options.algorithm == SpmmAlgorithm::kCusparse) check_cusparse_takes(adj);
  const Tensor y = Tensor::empty({adj.rows(), x.dim(1)}, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const Operands operands{adj, weight, x, y};
  const bool chosen = options.algorithm == SpmmAlgorithm::kAuto;
  run_with(chosen ? choose(operands) : options.algorithm, operands);
  return y;
}

Tensor transposed_product(const Adjacency& adj, const Tensor& weight, const Tensor& dy,
                          const SpmmOptions& options) {
  if (!weight.defined()) return run(transpose_pattern(adj), {}, dy, options);
  const Transposed t = transpose(adj);
  return run(t.adj, take(weight, t.edge_ids), dy, options);
}

}  // namespace

std::string_view name(SpmmAlgorithm algorithm) {
  for (const auto& known : kAlgorithms)
    if (known.value == algorithm) return known.name;
  return "?";
}

std::ostream& operator<<(std::ostream& out, SpmmAlgorithm algorithm) {
  return out << name(algorithm);
}

SpmmAlgorithm parse_spmm_algorithm(std::string_view text) {
  std::string choices;
  for (const auto& known : kAlgorithms) {
    if (known.name == text) return known.value;
    choices += (choices.empty() ? "" : ", ") + std::string(known.name);
  }
  fail("unknown spmm algorithm '", text, "': expected one of ", choices);
}

Tensor spmm(const Adjacency& adj, const Tensor& x, const SpmmOptions& options) {
  return run(adj, {}, x, options);
}

Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check(weight.defined(), "[spmm] weight is undefined: leave it out for an unweighted sum");
  return run(adj, weight, x, options);
}

Variable spmm(const Adjacency& adj, const Variable& x, const SpmmOptions& options) {
  return record("spmm", spmm(adj, x.value(), options), {x},
                [=](const Tensor& dy) { return std::vector{transposed_product(adj, {}, dy, options)}; });
}

Variable spmm(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmmOptions& options) {
  return record("spmm", spmm(adj, weight.value(), x.value(), options), {weight, x}, [=](const Tensor& dy) {
    return std::vector{weight.requires_grad() ? sddmm(adj, dy, x.value()) : Tensor(),
                       x.requires_grad() ? transposed_product(adj, weight.value(), dy, options) : Tensor()};
  });
}

}  // namespace rodeo
