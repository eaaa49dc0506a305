/// Which kernels compute linear() (ops/linear.h): a pure function of sizes, dtype and GPU properties.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "core/device_properties.h"
#include "core/dtype.h"
#include "ops/epilogue_types.h"

namespace rodeo {

enum class LinearKernel {
  kMatmul,  // matmul (cuBLASLt, OpenBLAS) with passes over memory before and after it
  kTall,    // tall_matmul: mma.sync on split TF32, any GPU since 8.0
  kWgmma,   // wgmma_matmul: warpgroup instructions on split TF32, compute capability 9.0
};

/// One call of linear(): x [rows, k], w [k, n].
struct LinearProblem {
  std::int64_t rows = 0, k = 0, n = 0;
  DType dtype = DType::kF32;
  bool allow_tf32 = false;  // single TF32 products are allowed: cuBLASLt has them
  bool x_requires_grad = false;
  double input_dropout = 0;  // p of the dropout that is applied to x as it is read
  // What follows the product. A row scale before the bias needs no kernel support and is left out.
  Activation activation = Activation::kNone;
  double dropout = 0;
  bool has_post_scale = false;
  bool recompute = false;  // EpilogueOptions::recompute
};

struct LinearPlan {
  LinearKernel forward = LinearKernel::kMatmul;  // y = x w; kMatmul: dx and dw are matmul's gradients
  LinearKernel dx = LinearKernel::kMatmul;       // dx = dy w^T
  LinearKernel dw = LinearKernel::kMatmul;       // dw = x^T dy, db
  bool fuses_epilogue = false;                   // bias, activation, dropout and post_scale run in the kernel
  bool operator==(const LinearPlan&) const = default;
};
/// "forward wgmma, dx tall, dw wgmma, epilogue fused"
std::ostream& operator<<(std::ostream& out, const LinearPlan& plan);

/// Thresholds, measured on an H200 against cuBLASLt with separate passes (docs/kernels/linear.md).
struct LinearLimits {
  static constexpr std::int64_t kFewestRows = 1024;  // below: a launch of matmul is as fast
  static constexpr std::int64_t kMostInner = 1024;   // k; above: matmul's larger tiles win
  static constexpr std::int64_t kMostColumns = 512;  // n
  static constexpr std::int64_t kMostMatrices = 4;   // of one kernel
  static constexpr std::int64_t kTallColumns = 64;   // columns of y up to which mma.sync keeps up with wgmma
  // From this many rows on each multiprocessor gets enough row tiles that wgmma wins for narrow y too.
  static constexpr std::int64_t kRowsPerMultiprocessor = 992;
};

/// A `gpu` without multiprocessors means the CPU.
LinearPlan plan_linear(const LinearProblem& problem, const DeviceProperties& gpu);
/// Products of one x with `count` matrices [k, n] as one: wgmma in all three, or kMatmul: one after another.
LinearPlan plan_linear_many(LinearProblem problem, std::int64_t count, const DeviceProperties& gpu);

}  // namespace rodeo
