#include "ops/spmm.h"

#include <ostream>

#include "core/profile.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels.h"
#include "ops/sddmm.h"
#include "ops/spmv.h"

namespace rodeo {
namespace {

constexpr std::pair<SpmmAlgorithm, std::string_view> kNames[] = {
    {SpmmAlgorithm::kAuto, "auto"}, {SpmmAlgorithm::kCsr, "csr"}, {SpmmAlgorithm::kRode, "rode"}};

void check_operands(const Adjacency& adj, const Tensor& weight, const Tensor& x) {
  const bool heads = weight.defined() && weight.rank() == 2;
  if (!heads) check_matrix("spmm", "x", x);
  check(x.defined() && is_float(x.dtype()), "[spmm] x must be floating point");
  check_on_device_of("spmm", adj, "x", x);
  if (heads)
    check(x.rank() == 3 && x.dim(0) == adj.cols() && x.dim(1) == weight.dim(1), "[spmm] x must be [",
          adj.cols(), ", ", weight.dim(1), ", n] as weight has ", weight.dim(1), " heads, got ", x.shape());
  else
    check(x.dim(0) == adj.cols(), "[spmm] x must be [", adj.cols(), ", n], got ", x.shape());
  if (!weight.defined()) return;
  check_alike("spmm", "x", x, "weight", weight);
  if (heads)
    check_shape("spmm", "weight", weight, {adj.num_edges(), weight.dim(1)});
  else
    check_shape("spmm", "weight", weight, {adj.num_edges()});
}

void check_atomic(const Tensor& x, SpmmAlgorithm algorithm) {
  check(x.device().is_cuda() && size_of(x.dtype()) >= 4 && algorithm == SpmmAlgorithm::kRode,
        "[spmm] atomic accumulation is for rode on CUDA in f32 or f64, got ", algorithm, " on ", x.device(),
        " in ", x.dtype());
}

Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check_operands(adj, weight, x);
  const SpmmAlgorithm algorithm =
      options.algorithm == SpmmAlgorithm::kAuto ? choose_spmm_algorithm(adj) : options.algorithm;
  if (options.accumulate == Accumulate::kAtomic) check_atomic(x, algorithm);
  if (options.algorithm == SpmmAlgorithm::kAuto && x.rank() == 2 &&
      x.dim(1) == 1) {  // SpMV chooses for itself
    const ProfileScope scope(Part::kSpmm);
    const Tensor v = x.reshape({adj.cols()});
    return (weight.defined() ? spmv(adj, weight, v) : spmv(adj, v)).reshape({adj.rows(), 1});
  }
  const Shape shape = x.rank() == 3 ? Shape{adj.rows(), x.dim(1), x.dim(2)} : Shape{adj.rows(), x.dim(1)};
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const RodePlan* plan =  // made outside the timed scope, once
      algorithm == SpmmAlgorithm::kRode ? &rode_plan(adj) : nullptr;
  const ProfileScope scope(Part::kSpmm);
  if (plan)
    kernels::spmm_rode.on(y.device())(adj.csr(), *plan, options.accumulate, weight, x, y);
  else
    kernels::spmm_csr.on(y.device())(adj.csr(), weight, x, y);
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
  for (const auto& [value, text] : kNames)
    if (value == algorithm) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, SpmmAlgorithm algorithm) {
  return out << name(algorithm);
}

SpmmAlgorithm parse_spmm_algorithm(std::string_view text) {
  std::string choices;
  for (const auto& [value, known] : kNames) {
    if (known == text) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  fail("unknown spmm algorithm '", text, "': expected one of ", choices);
}

SpmmAlgorithm choose_spmm_algorithm(const Adjacency& adj) {
  return adj.device().is_cuda() ? SpmmAlgorithm::kRode : SpmmAlgorithm::kCsr;
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
