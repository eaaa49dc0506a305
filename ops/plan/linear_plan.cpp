#include "ops/plan/linear_plan.h"

#include <ostream>

namespace rodeo {
namespace {

using Limits = LinearLimits;

bool is_supported(const LinearProblem& p, const DeviceProperties& gpu) {
  if (gpu.num_multiprocessors == 0 || p.dtype != DType::kF32 || p.allow_tf32) return false;
  if (p.rows < Limits::kFewestRows || p.k < 1 || p.k > Limits::kMostInner || p.n < 1 ||
      p.n > Limits::kMostColumns)
    return false;
  const bool is_narrow = p.n <= Limits::kTallColumns && (p.k <= Limits::kTallColumns || !p.x_requires_grad);
  return is_narrow || gpu.has_wgmma();
}

bool has_many_rows(const LinearProblem& p, const DeviceProperties& gpu) {
  return p.rows >= Limits::kRowsPerMultiprocessor * gpu.num_multiprocessors;
}

/// The kernel for a product [rows, ...] with `columns` columns.
LinearKernel product_kernel(const LinearProblem& p, std::int64_t columns, double dropout,
                            const DeviceProperties& gpu) {
  const bool wgmma = gpu.has_wgmma() && (columns > Limits::kTallColumns ||
                                         (has_many_rows(p, gpu) && (columns > 16 || dropout == 0)));
  return wgmma ? LinearKernel::kWgmma : LinearKernel::kTall;
}

/// The kernel for dw [k, n].
LinearKernel gradient_kernel(const LinearProblem& p, const DeviceProperties& gpu) {
  const bool wgmma =
      gpu.has_wgmma() && (p.n > Limits::kTallColumns || (has_many_rows(p, gpu) && p.k >= 32 && p.n <= 48));
  return wgmma ? LinearKernel::kWgmma : LinearKernel::kTall;
}

/// Whether the kernel can apply what follows the product, in forward and in dw.
bool can_fuse_epilogue(const LinearProblem& p, const DeviceProperties& gpu) {
  if (p.activation == Activation::kNone && p.dropout == 0 && !p.has_post_scale)
    return true;  // a bias at most
  if (!gpu.has_wgmma() || p.n <= Limits::kTallColumns || p.x_requires_grad || p.recompute) return false;
  if (p.dropout > 0 && p.n % 4 != 0) return false;
  return p.activation == Activation::kRelu || (p.activation == Activation::kNone && p.dropout == 0);
}

const char* name(LinearKernel kernel) {
  return kernel == LinearKernel::kMatmul ? "matmul" : kernel == LinearKernel::kTall ? "tall" : "wgmma";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const LinearPlan& plan) {
  return out << "forward " << name(plan.forward) << ", dx " << name(plan.dx) << ", dw " << name(plan.dw)
             << (plan.fuses_epilogue ? ", epilogue fused" : ", epilogue separate");
}

LinearPlan plan_linear(const LinearProblem& p, const DeviceProperties& gpu) {
  if (!is_supported(p, gpu)) return {};
  return {.forward = product_kernel(p, p.n, p.input_dropout, gpu),
          .dx = product_kernel(p, p.k, 0, gpu),
          .dw = gradient_kernel(p, gpu),
          .fuses_epilogue = can_fuse_epilogue(p, gpu)};
}

LinearPlan plan_linear_many(LinearProblem p, std::int64_t count, const DeviceProperties& gpu) {
  p.n *= count;
  const bool one_kernel = count > 1 && count <= Limits::kMostMatrices && p.n > Limits::kTallColumns;
  if (!one_kernel || !gpu.has_wgmma() || !is_supported(p, gpu)) return {};
  return {LinearKernel::kWgmma, LinearKernel::kWgmma, LinearKernel::kWgmma, true};
}

}  // namespace rodeo
