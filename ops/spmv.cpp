#include "ops/spmv.h"

#include <ostream>

#include "core/profile.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels/sparse.h"
#include "ops/plan/spmv_plan.h"
#include "ops/sddmm.h"
#include "ops/sparse/edge_rows.h"

namespace rodeo {
namespace {

constexpr std::pair<SpmvAlgorithm, std::string_view> kNames[] = {{SpmvAlgorithm::kAuto, "auto"},
                                                                 {SpmvAlgorithm::kVector, "vector"},
                                                                 {SpmvAlgorithm::kRode, "rode"},
                                                                 {SpmvAlgorithm::kSegmented, "segmented"}};

Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmvOptions& options) {
  check_vector("spmv", "x", x);
  check_on_device_of("spmv", adj, "x", x);
  check_shape("spmv", "x", x, {adj.cols()});
  if (weight.defined()) {
    check_alike("spmv", "x", x, "weight", weight);
    check_shape("spmv", "weight", weight, {adj.num_edges()});
  }
  const Tensor y = Tensor::empty({adj.rows()}, x.dtype(), x.device());
  if (adj.num_edges() == 0) {
    y.fill(0);
    return y;
  }
  const SpmvAlgorithm algorithm =
      options.algorithm == SpmvAlgorithm::kAuto ? choose_spmv_algorithm(adj) : options.algorithm;
  if (algorithm == SpmvAlgorithm::kSegmented) {
    const Tensor& row = kept_edge_rows(adj);
    const ProfileScope scope(Part::kSpmm);
    kernels::segment_sum.on(y.device())(row, adj.csr().col, weight, x, y);
  } else if (algorithm == SpmvAlgorithm::kRode) {
    const RodePlan& plan = rode_plan(adj);
    const ProfileScope scope(Part::kSpmm);
    kernels::spmv_rode.on(y.device())(adj.csr(), plan, weight, x, y);
  } else {
    const int threads = threads_per_vector(static_cast<double>(adj.num_edges()) / adj.rows());
    const ProfileScope scope(Part::kSpmm);
    kernels::spmv_vector.on(y.device())(adj.csr(), weight, x, threads, y);
  }
  return y;
}

Tensor transposed_product(const Adjacency& adj, const Tensor& weight, const Tensor& dy,
                          const SpmvOptions& options) {
  if (!weight.defined()) return run(transpose_pattern(adj), {}, dy, options);
  const Transposed t = transpose(adj);
  return run(t.adj, take(weight, t.edge_ids), dy, options);
}

}  // namespace

std::string_view name(SpmvAlgorithm algorithm) {
  for (const auto& [value, text] : kNames)
    if (value == algorithm) return text;
  return "?";
}

std::ostream& operator<<(std::ostream& out, SpmvAlgorithm algorithm) {
  return out << name(algorithm);
}

SpmvAlgorithm parse_spmv_algorithm(std::string_view text) {
  std::string choices;
  for (const auto& [value, known] : kNames) {
    if (known == text) return value;
    choices += (choices.empty() ? "" : ", ") + std::string(known);
  }
  fail("unknown spmv algorithm '", text, "': expected one of ", choices);
}

const RowLengths& row_lengths(const Adjacency& adj) {
  return adj.cached<RowLengths>([&] {
    const std::int64_t rows = adj.rows();
    if (rows == 0) return RowLengths{};
    return RowLengths{rows, kernels::longest_row.on(adj.device())(adj.csr()),
                      static_cast<double>(adj.num_edges()) / static_cast<double>(rows)};
  });
}

SpmvAlgorithm choose_spmv_algorithm(const Adjacency& adj) {
  if (!adj.device().is_cuda()) return SpmvAlgorithm::kVector;
  if (stages_x(adj.cols(), adj.num_edges(), sizeof(float))) return SpmvAlgorithm::kRode;
  return choose_spmv_algorithm(row_lengths(adj));
}

Tensor spmv(const Adjacency& adj, const Tensor& x, const SpmvOptions& options) {
  return run(adj, {}, x, options);
}

Tensor spmv(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmvOptions& options) {
  check(weight.defined(), "[spmv] weight is undefined: leave it out for an unweighted sum");
  return run(adj, weight, x, options);
}

Variable spmv(const Adjacency& adj, const Variable& x, const SpmvOptions& options) {
  return record("spmv", spmv(adj, x.value(), options), {x},
                [=](const Tensor& dy) { return std::vector{transposed_product(adj, {}, dy, options)}; });
}

Variable spmv(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmvOptions& options) {
  return record("spmv", spmv(adj, weight.value(), x.value(), options), {weight, x}, [=](const Tensor& dy) {
    Tensor dweight, dx;
    if (weight.requires_grad())
      dweight = sddmm(adj, dy.reshape({adj.rows(), 1}), x.value().reshape({adj.cols(), 1}));
    if (x.requires_grad()) dx = transposed_product(adj, weight.value(), dy, options);
    return std::vector{dweight, dx};
  });
}

}  // namespace rodeo
