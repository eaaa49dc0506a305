#include "ops/spmm.h"

#include <ostream>

#include "core/profile.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels.h"
#include "ops/sddmm.h"

namespace rodeo {
namespace {

constexpr std::pair<SpmmAlgorithm, std::string_view> kNames[] = {{SpmmAlgorithm::kAuto, "auto"},
                                                                 {SpmmAlgorithm::kCsr, "csr"},
                                                                 {SpmmAlgorithm::kRode, "rode"},
                                                                 {SpmmAlgorithm::kTca, "tca"}};

Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check_matrix("spmm", "x", x);
  check_on_device_of("spmm", adj, "x", x);
  check(x.dim(0) == adj.cols(), "[spmm] x must be [", adj.cols(), ", n], got ", x.shape());
  if (weight.defined()) {
    check_alike("spmm", "x", x, "weight", weight);
    check_shape("spmm", "weight", weight, {adj.num_edges()});
  }
  check(options.algorithm != SpmmAlgorithm::kTca || x.dtype() != DType::kF64,
        "[spmm] tca takes f32 (as TF32), bf16 and f16, got ", x.dtype());
  const Tensor y = Tensor::empty({adj.rows(), x.dim(1)}, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const SpmmAlgorithm algorithm =
      options.algorithm == SpmmAlgorithm::kAuto ? choose_spmm_algorithm(adj) : options.algorithm;
  // Plans are made outside the timed scope, once.
  const RodePlan* rode = algorithm == SpmmAlgorithm::kRode ? &rode_plan(adj) : nullptr;
  const TcaPlan* tca = algorithm == SpmmAlgorithm::kTca ? &tca_plan(adj) : nullptr;
  const ProfileScope scope(Part::kSpmm);
  if (rode)
    kernels::spmm_rode.on(y.device())(adj.csr(), *rode, weight, x, y);
  else if (tca)
    kernels::spmm_tca.on(y.device())(adj.csr(), *tca, weight, x, y);
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
