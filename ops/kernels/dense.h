/// Backend signatures: matrix products, elementwise operators and epilogues. See registry.h for what kernels
/// may assume.
#pragma once

#include "ops/epilogue_types.h"
#include "ops/kernels/registry.h"

namespace rodeo::kernels {

// dense.h
/// c [m, n] = op(a) op(b) with inner size k, which may be 0. A matrix may have more columns than its part in
/// the product: those of a and b are not read, those of c not written. Where a and b are 16-bit floats, c may
/// be f32.
struct MatmulSizes {
  std::int64_t m, n, k;
};
RODEO_KERNEL(matmul, void(const Tensor& a, const Tensor& b, bool ta, bool tb, const MatmulSizes& sizes,
                          const Tensor& c));
/// out[i, j] = x[i, j], or 0 from x's columns on; x f32 [m, n], out bf16 or f16 [m, columns].
RODEO_CUDA_KERNEL(cast_padded, void(const Tensor& x, const Tensor& out));
/// D(x)[i, j] = scale[i] dropout(x)[i, j]; scale undefined: 1.
struct DropoutInput {
  Tensor x;
  double p = 0;
  RandomKey key = {};
  Tensor scale = {};
  Tensor kept = {};  // i32 [m, ceil(k / 32)], a bit an element; undefined where p = 0 or nobody wants it
};
inline void add_operands(std::vector<Tensor>& all, const DropoutInput& x) {
  add_operands(all, x.x);
}
/// linear.h, in f32, for k and n that fit an int; fast for y of up to 64 columns. y [m, columns] = D(x) w +
/// bias, or with `transposed` D(x) w^T; bias may be undefined; zeros in y's columns from n on. Writes x.kept.
RODEO_CUDA_KERNEL(tall_matmul, void(const DropoutInput& x, const Tensor& w, bool transposed,
                                    const Tensor& bias, const Tensor& y));
/// dw [k, n] = D(x)^T dy, db [n] = sums of dy's columns, or undefined. dy may have columns from n on. What
/// was dropped is read from x.kept.
RODEO_CUDA_KERNEL(tall_matmul_transposed,
                  void(const DropoutInput& x, const Tensor& dy, const Tensor& dw, const Tensor& db));
/// The same on GPUs with wgmma, and with what follows: y = after dropout(f(D(x) w + bias)), f ReLU
/// or the identity; dropout for y of whole quads alone, n % 4 = 0. then.scale is not read: it is x's.
RODEO_CUDA_KERNEL(wgmma_matmul, void(const DropoutInput& x, const Tensor& w, bool transposed,
                                     const Tensor& bias, const EpilogueOptions& then, const Tensor& y));
/// Of y = after dropout(f(D(x) w + bias)): dw and db; y is undefined without ReLU, and there is no dropout
/// then.
RODEO_CUDA_KERNEL(wgmma_matmul_transposed,
                  void(const DropoutInput& x, const Tensor& y, const Tensor& dy, const EpilogueOptions& then,
                       const Tensor& dw, const Tensor& db));
RODEO_KERNEL(add_bias, void(const Tensor& x, const Tensor& b, const Tensor& y));
RODEO_KERNEL(sum_rows, void(const Tensor& x, const Tensor& out));  // x may have no rows
RODEO_KERNEL(relu, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(relu_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(leaky_relu, void(const Tensor& x, double slope, const Tensor& y));
RODEO_KERNEL(leaky_relu_backward, void(const Tensor& y, const Tensor& dy, double slope, const Tensor& dx));
RODEO_KERNEL(elu, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(elu_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(dropout, void(const Tensor& x, double p, RandomKey key, const Tensor& y));
RODEO_KERNEL(uniform, void(const Tensor& out, float lo, float hi, RandomKey key));

// epilogue.h; scale, bias and after may be undefined; x and dx [m, pitch], y and dy [m, n]
RODEO_KERNEL(epilogue,
             void(const Tensor& x, const Tensor& bias, const EpilogueOptions& options, const Tensor& y));
/// dx's columns from n on are zero. dx and db are undefined where nobody wants them, y where f is the
/// identity.
RODEO_KERNEL(epilogue_backward, void(const Tensor& y, const Tensor& dy, const EpilogueOptions& options,
                                     const Tensor& dx, const Tensor& db));

// gcn_norm.h
RODEO_KERNEL(scale_rows, void(const Tensor& x, const Tensor& s, const Tensor& y));
RODEO_KERNEL(normalize_rows, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(inverse_sqrt, void(const Tensor& x, const Tensor& y));  // 0 where x is not positive

// combine.h
/// out = (a + s) x + b y; s [1] and y may be undefined.
RODEO_KERNEL(scaled_sum,
             void(double a, const Tensor& s, const Tensor& x, double b, const Tensor& y, const Tensor& out));
RODEO_KERNEL(maximum, void(const Tensor& x, const Tensor& y, const Tensor& out));
RODEO_KERNEL(maximum_backward,
             void(const Tensor& x, const Tensor& y, const Tensor& dout, const Tensor& dx, const Tensor& dy));
/// Columns [begin, begin + count) of `from` to columns [at, at + count) of `to`.
RODEO_KERNEL(copy_columns, void(const Tensor& from, std::int64_t begin, std::int64_t count, const Tensor& to,
                                std::int64_t at));

}  // namespace rodeo::kernels
