/// Dense building blocks. Floating dtypes: f64, f32, bf16, f16; 16-bit types are accumulated in f32. Mixed
/// precision: with a 16-bit matrix, the other factor of a product and a bias may be f32; their gradients are
/// then f32. So parameters stay f32 where activations are bf16.
/// Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree, naming the op, the requirement
/// and the argument.
#pragma once

#include "core/random.h"
#include "core/variable.h"

namespace rodeo {

enum class Transpose { kNo, kYes };

/// C = op(A) op(B), where op is the identity or the transpose.   [m, k] x [k, n] -> [m, n].
/// f32 products are f32 unless set_allow_tf32(true). cuBLASLt on CUDA, OpenBLAS on the CPU.
/// One factor may be f32 where the other is bf16 or f16: it is rounded to that type, which is also C's.
/// Gradients: dA = dC B^T, dB = A^T dC, transposed to match, each in its factor's dtype. The gradient of an
/// f32 factor is not rounded to 16 bits.
Tensor matmul(const Tensor& a, const Tensor& b, Transpose ta = Transpose::kNo, Transpose tb = Transpose::kNo);
Variable matmul(const Variable& a, const Variable& b, Transpose ta = Transpose::kNo,
                Transpose tb = Transpose::kNo);

/// Matrix product with rows padded to `columns` >= n elements, [m, k] x [k, n] -> [m, columns], for an
/// operator that needs aligned rows (see padded_columns). The padding is zero. Gradients and mixed dtypes as
/// above; dC is not read in the padding.
Tensor matmul_padded(const Tensor& a, const Tensor& b, std::int64_t columns);
Variable matmul_padded(const Variable& a, const Variable& b, std::int64_t columns);
/// The smallest number of columns >= n with which sparse products read a matrix without a padded copy.
std::int64_t padded_columns(std::int64_t n, DType dtype, Device device);

/// y = a + b, same shape.   Gradients: da = db = dy.
Tensor add(const Tensor& a, const Tensor& b);
Variable add(const Variable& a, const Variable& b);

/// x rounded to another floating dtype, as by Tensor::to.   Gradient: dy in the dtype of x.
Variable cast(const Variable& x, DType dtype);

/// x in another shape, as by Tensor::reshape.   Gradient: dy in the shape of x.
inline Tensor reshape(const Tensor& x, const Shape& shape) {
  return x.reshape(shape);
}
Variable reshape(const Variable& x, const Shape& shape);

/// y[i, j] = x[i, j] + b[j].   x [m, n], b [n] of x's dtype, or f32 with 16-bit x.
/// Gradients: dx = dy, db = sum over rows of dy, in b's dtype.
Tensor add_bias(const Tensor& x, const Tensor& b);
Variable add_bias(const Variable& x, const Variable& b);

/// out[j] = sum over i of x[i, j].   [m, n] -> [n].   Fixed summation order.
Tensor sum_rows(const Tensor& x);
Variable sum_rows(const Variable& x);

/// y = max(x, 0); NaN stays NaN.   Gradient: dx = dy where x > 0, else 0.
Tensor relu(const Tensor& x);
Variable relu(const Variable& x);

/// y = x where x > 0, else slope x; NaN stays NaN. Any shape; slope >= 0.   Gradient: dx = dy where x > 0,
/// else slope dy.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
Variable leaky_relu(const Variable& x, double slope = 0.01);

/// y = x where x > 0, else exp(x) - 1; NaN stays NaN. Any shape. Clevert et al., ELU, ICLR 2016.
/// Gradient: dx = dy where x > 0, else (y + 1) dy.
Tensor elu(const Tensor& x);
Variable elu(const Variable& x);

/// Sets each element to zero with probability p in [0, 1) and scales the others by 1 / (1 - p). The mask is a
/// function of (key, element): it is the same on every device, and backward recomputes it.
/// Gradient: the same mask and scale applied to dy.
Tensor dropout(const Tensor& x, double p, RandomKey key);
Variable dropout(const Variable& x, double p, RandomKey key);

/// Uniform in [lo, hi), equal to the bit on every device. f32 or f64 (f64 holds the f32 value).
Tensor uniform(const Shape& shape, double lo, double hi, RandomKey key, DType dtype = DType::kF32,
               Device device = kCpu);
/// Uniform in +-sqrt(6 / (fan_in + fan_out)): Glorot & Bengio, AISTATS 2010.   [fan_in, fan_out]
Tensor glorot_uniform(std::int64_t fan_in, std::int64_t fan_out, RandomKey key, DType dtype = DType::kF32,
                      Device device = kCpu);

}  // namespace rodeo
