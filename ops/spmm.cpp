#include "ops/spmm.h"

#include <limits>
#include <memory>
#include <ostream>

#include "core/profile.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels/sparse.h"
#include "ops/sddmm.h"
#include "ops/sparse/spmm_reduce.h"
#include "ops/sparse/spmm_tuning_cache.h"
#include "ops/spmv.h"

namespace rodeo {
namespace {

struct Operands {
  const Adjacency& adj;
  const Tensor &weight, &x, &y;
  Accumulate accumulate;
  bool has_heads() const { return weight.defined() && weight.rank() == 2; }
};

void run_csr(const Operands& in) {
  const ProfileScope scope(Part::kSpmm);
  kernels::spmm_csr.on(in.y.device())(in.adj.csr(), in.weight, in.x, in.y);
}

void run_rode(const Operands& in) {
  const RodePlan& plan = rode_plan(in.adj);  // plans are made outside the timed scope, once
  const ProfileScope scope(Part::kSpmm);
  kernels::spmm_rode.on(in.y.device())(in.adj.csr(), plan, in.accumulate, in.weight, in.x, in.y);
}

void run_tca(const Operands& in) {
  const RodePlan& plan = rode_plan(in.adj);
  const ProfileScope scope(Part::kSpmm);
  kernels::spmm_tca.on(in.y.device())(in.adj.csr(), plan, in.weight, in.x, in.y);
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

constexpr struct {
  SpmmAlgorithm value;
  std::string_view name;
  void (*run)(const Operands&);
} kAlgorithms[] = {{SpmmAlgorithm::kAuto, "auto", nullptr},
                   {SpmmAlgorithm::kCsr, "csr", run_csr},
                   {SpmmAlgorithm::kRode, "rode", run_rode},
                   {SpmmAlgorithm::kTca, "tca", run_tca},
                   {SpmmAlgorithm::kCusparse, "cusparse", run_cusparse}};

void run_with(SpmmAlgorithm algorithm, const Operands& in) {
  for (const auto& known : kAlgorithms)
    if (known.value == algorithm) return known.run(in);
  fail("[spmm] no such algorithm: ", static_cast<int>(algorithm));
}

SpmmAlgorithm choose(const Operands& in) {
  if (in.has_heads()) return spmm_rule(in.adj);  // the other candidates have no heads
  auto& cusparse = cusparse_on(in.adj);
  const bool in_use = cusparse != nullptr;
  const SpmmProblem problem{in.x.dim(1), in.x.dtype(), in.weight.defined(),
                            in.accumulate == Accumulate::kAtomic};
  const SpmmAlgorithm chosen = choose_spmm(
      in.adj, problem, [&](SpmmAlgorithm algorithm) { run_with(algorithm, in); },
      SpmmTuningCache::of_process());
  // Having been timed is no reason to hold an array of ones as long as the edges.
  if (!in_use && chosen != SpmmAlgorithm::kCusparse) cusparse.reset();
  return chosen;
}

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

/// What the algorithm asked for by name cannot take.
void check_takes(SpmmAlgorithm algorithm, Accumulate accumulate, const Adjacency& adj, const Tensor& weight,
                 const Tensor& x) {
  constexpr std::int64_t kMaxEdges = std::numeric_limits<std::int32_t>::max();
  const Device device = adj.device();
  if (algorithm == SpmmAlgorithm::kTca || algorithm == SpmmAlgorithm::kCusparse) {
    check(device.is_cuda(), "[spmm] ", algorithm, " runs on CUDA only, and the graph is on ", device,
          ": choose auto, csr or rode");
    check(!weight.defined() || weight.rank() == 1, "[spmm] ", algorithm,
          " takes one weight an edge, not one for each head: choose auto, csr or rode");
  }
  if (algorithm == SpmmAlgorithm::kTca)
    check(x.dtype() != DType::kF64, "[spmm] tca takes f32 (as TF32), bf16 and f16, got ", x.dtype());
  if (algorithm == SpmmAlgorithm::kCusparse) {
    check(adj.num_edges() <= kMaxEdges, "[spmm] cusparse takes at most 2^31 - 1 edges, got ", adj.num_edges(),
          ": choose rode");
    check(adj.num_edges() <= adj.rows() * adj.cols(),
          "[spmm] cusparse takes no more edges than rows x cols, got ", adj.num_edges(), " on ", adj.rows(),
          " x ", adj.cols(), ": choose rode");
  }
  if (accumulate == Accumulate::kAtomic)
    check(device.is_cuda() && size_of(x.dtype()) >= 4 &&
              (algorithm == SpmmAlgorithm::kRode || algorithm == SpmmAlgorithm::kAuto),
          "[spmm] atomic accumulation is for rode and auto on CUDA in f32 or f64, got ", algorithm, " on ",
          device, " in ", x.dtype());
}

Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check_operands(adj, weight, x);
  check_takes(options.algorithm, options.accumulate, adj, weight, x);
  const bool chosen = options.algorithm == SpmmAlgorithm::kAuto;
  if (chosen && x.rank() == 2 && x.dim(1) == 1) {  // SpMV chooses for itself
    const ProfileScope scope(Part::kSpmm);
    const Tensor v = x.reshape({adj.cols()});
    return (weight.defined() ? spmv(adj, weight, v) : spmv(adj, v)).reshape({adj.rows(), 1});
  }
  const Shape shape = x.rank() == 3 ? Shape{adj.rows(), x.dim(1), x.dim(2)} : Shape{adj.rows(), x.dim(1)};
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const Operands operands{adj, weight, x, y, options.accumulate};
  run_with(chosen ? choose(operands) : options.algorithm, operands);
  return y;
}

Tensor transposed_product(const Adjacency& adj, const Tensor& weight, const Tensor& dy,
                          const SpmmOptions& options) {
  if (!weight.defined()) return run(transpose_pattern(adj), {}, dy, options);
  const Transposed t = transpose(adj);
  return run(t.adj, take(weight, t.edge_ids), dy, options);
}

constexpr struct {
  Reduce value;
  std::string_view name;
} kReductions[] = {
    {Reduce::kSum, "sum"}, {Reduce::kMean, "mean"}, {Reduce::kMax, "max"}, {Reduce::kMin, "min"}};

Variable reduce(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmmOptions& options) {
  check_operands(adj, weight.defined() ? weight.value() : Tensor(), x.value());
  return options.reduce == Reduce::kMean ? spmm_mean(adj, weight, x, options)
                                         : spmm_minmax(adj, weight, x, options);
}

}  // namespace

std::string_view name(Reduce reduce) {
  for (const auto& known : kReductions)
    if (known.value == reduce) return known.name;
  return "?";
}

std::ostream& operator<<(std::ostream& out, Reduce reduce) {
  return out << name(reduce);
}

Reduce parse_reduce(std::string_view text) {
  for (const auto& known : kReductions)
    if (known.name == text) return known.value;
  fail("unknown reduction '", text, "': expected one of sum, mean, max, min");
}

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
  if (options.reduce != Reduce::kSum) return reduce(adj, {}, Variable(x), options).value();
  return run(adj, {}, x, options);
}

Tensor spmm(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  check(weight.defined(), "[spmm] weight is undefined: leave it out for an unweighted sum");
  if (options.reduce != Reduce::kSum) return reduce(adj, Variable(weight), Variable(x), options).value();
  return run(adj, weight, x, options);
}

Variable spmm(const Adjacency& adj, const Variable& x, const SpmmOptions& options) {
  if (options.reduce != Reduce::kSum) return reduce(adj, {}, x, options);
  return record("spmm", spmm(adj, x.value(), options), {x},
                [=](const Tensor& dy) { return std::vector{transposed_product(adj, {}, dy, options)}; });
}

Variable spmm(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmmOptions& options) {
  if (options.reduce != Reduce::kSum) return reduce(adj, weight, x, options);
  return record("spmm", spmm(adj, weight.value(), x.value(), options), {weight, x}, [=](const Tensor& dy) {
    return std::vector{weight.requires_grad() ? sddmm(adj, dy, x.value()) : Tensor(),
                       x.requires_grad() ? transposed_product(adj, weight.value(), dy, options) : Tensor()};
  });
}

}  // namespace rodeo
