/// Kernels of matrix products, elementwise operators and epilogues. registry.h states what kernels may
/// assume.
#pragma once

#include "ops/epilogue_types.h"
#include "ops/grouped_linear_types.h"
#include "ops/kernels/registry.h"

namespace rodeo::kernels {

// dense.h
/// c [m, n] = op(a) op(b) with inner size k, which may be 0. Matrices may have padding columns: those of a
/// and b are not read, those of c not written. With 16-bit a and b, c may be f32.
struct MatmulSizes {
  std::int64_t m, n, k;
};
RODEO_KERNEL_IN(kGemm, matmul,
                void(const Tensor& a, const Tensor& b, bool ta, bool tb, const MatmulSizes& sizes,
                     const Tensor& c));
// grouped_linear.h: w [matrices, blocks, k, n], of x's dtype; x [m, blocks k]; y [rows, blocks n]
/// A segment whose rows of y may hold the sums of segments before it.
struct GroupedRows {
  RowSegment rows;  // may be empty
  bool adds;        // to y's rows; false: it overwrites them
};
/// Rows of x from `begin` on, `fold` of them side by side: [rows, fold columns of x]. A view.
inline Tensor side_by_side(const Tensor& x, std::int64_t begin, std::int64_t rows, std::int64_t fold = 1) {
  return x.slice(begin, begin + rows * fold).reshape({rows, fold * x.dim(1)});
}
/// `fold` rows of x from `begin` on as a vector, a view; undefined where x is.
inline Tensor joined_rows(const Tensor& x, std::int64_t begin, std::int64_t fold = 1) {
  return x.defined() ? x.slice(begin, begin + fold).reshape({fold * x.dim(1)}) : x;
}
/// For each segment and block  y = x w_s + bias_s, where a row of y sums `fold` rows of x. `transposed`: x
/// w_s^T with w [matrices, blocks, n, k], and a row of x gives `fold` rows of y. bias [segments, blocks n],
/// or [matrices, blocks n] where `transposed`, of the dtype of sums, may be undefined. Rows of y in no
/// segment keep their values.
RODEO_KERNEL_IN(kGemm, grouped_matmul,
                void(const Tensor& x, const Tensor& w, bool transposed,
                     const std::vector<GroupedRows>& segments, const Tensor& bias, const Tensor& y));
/// dw_s = x^T dy over the rows of each segment, by blocks, and db_s the sum of dy's rows; 0 for an empty one.
/// With 16-bit x, dw may be f32. db [segments, blocks n], of the dtype of sums, may be undefined.
RODEO_KERNEL_IN(kGemm, grouped_matmul_transposed,
                void(const Tensor& x, const Tensor& dy, const std::vector<RowSegment>& segments,
                     const Tensor& dw, const Tensor& db));
/// x f32 [m, n], out bf16 or f16 [m, columns], columns >= n: x rounded, zero in the padding.
RODEO_CUDA_KERNEL(cast_padded, void(const Tensor& x, const Tensor& out));
/// Matrices of one shape side by side, or vectors behind one another: kernels take them as one. A Tensor is
/// one of them.
struct MatrixParts {
  static constexpr std::size_t kMost = 4;
  std::vector<Tensor> parts;

  MatrixParts() = default;
  MatrixParts(const Tensor& x) : parts{x} {}
  MatrixParts(std::vector<Tensor> all) : parts(std::move(all)) {}
  bool defined() const { return !parts.empty() && parts.front().defined(); }
  /// The size of each part.
  std::int64_t dim(int i) const { return parts.front().dim(i); }
  /// Columns of all parts together.
  std::int64_t columns() const {
    return static_cast<std::int64_t>(parts.size()) * dim(parts.front().rank() - 1);
  }
};
inline void add_operands(std::vector<Tensor>& all, const MatrixParts& x) {
  add_operands(all, x.parts);
}
/// A matrix with a dropout that the product applies as it reads: D(x)[i, j] = scale[i] dropout(x)[i, j].
struct DropoutInput {
  Tensor x;  // [m, k]
  double p = 0;
  RandomKey key = {};
  Tensor scale = {};  // [m]; undefined: 1
  Tensor kept = {};   // i32 [m, ceil(k / 32)], the mask as bits; undefined where p = 0 or not needed
  std::vector<Tensor> beside = {};  // more columns, only of wgmma_matmul
};
inline void add_operands(std::vector<Tensor>& all, const DropoutInput& x) {
  add_operands(all, x.x);
  add_operands(all, x.beside);
}
// linear.h, f32 (ops/plan/linear_plan.h chooses)
/// y [m, columns] = D(x) w + bias with w [k, n], or D(x) w^T with w [n, k] where `transposed`; bias [n] may
/// be undefined. Zero in y's columns from n on. Writes x.kept. k and n fit an int.
RODEO_CUDA_KERNEL_IN(kGemm, tall_matmul,
                     void(const DropoutInput& x, const Tensor& w, bool transposed, const Tensor& bias,
                          const Tensor& y));
/// dw [k, n] = D(x)^T dy, db [n] = column sums of dy; db may be undefined. dy [m, columns], columns >= n. The
/// mask is read from x.kept.
RODEO_CUDA_KERNEL_IN(kGemm, tall_matmul_transposed,
                     void(const DropoutInput& x, const Tensor& dy, const Tensor& dw, const Tensor& db));
/// Product with wgmma and a fused epilogue; operands as for tall_matmul. y = post_scale dropout(f(D(x) w +
/// bias)), f ReLU or the identity; dropout needs n % 4 = 0. then.pre_scale is not read: the caller puts it
/// into x.scale. w, bias and y of several parts, without padding and epilogue, are products of one x.
/// `transposed` with w of several parts: x and `beside`, of x's shape, are the parts of the left matrix.
RODEO_CUDA_KERNEL_IN(kGemm, wgmma_matmul,
                     void(const DropoutInput& x, const MatrixParts& w, bool transposed,
                          const MatrixParts& bias, const EpilogueOptions& then, const MatrixParts& y));
/// dw and db of y = post_scale dropout(f(D(x) w + bias)). y is undefined without ReLU; there is no dropout
/// then. dy, dw and db may have several parts.
RODEO_CUDA_KERNEL_IN(kGemm, wgmma_matmul_transposed,
                     void(const DropoutInput& x, const Tensor& y, const MatrixParts& dy,
                          const EpilogueOptions& then, const MatrixParts& dw, const MatrixParts& db));
// dense.h: y = f(x); dx = f'(x) dy, computed from y. x, y, dy, dx of one shape; b [n]
RODEO_KERNEL(add_bias, void(const Tensor& x, const Tensor& b, const Tensor& y));
RODEO_KERNEL(sum_rows, void(const Tensor& x, const Tensor& out));  // [m, n] -> [n]; m may be 0
RODEO_KERNEL(relu, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(relu_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(leaky_relu, void(const Tensor& x, double slope, const Tensor& y));
RODEO_KERNEL(leaky_relu_backward, void(const Tensor& y, const Tensor& dy, double slope, const Tensor& dx));
RODEO_KERNEL(elu, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(elu_backward, void(const Tensor& y, const Tensor& dy, const Tensor& dx));
RODEO_KERNEL(gelu, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(gelu_backward, void(const Tensor& x, const Tensor& dy, const Tensor& dx));
// pointwise.h: arrays of one shape; dx = f'(x) dy, computed from y
inline constexpr double kLeastVariance = 1e-5;
enum class SmoothFunction { kSigmoid, kTanh, kExp, kLog, kDeviation };
RODEO_KERNEL(mul, void(const Tensor& x, const Tensor& y, const Tensor& out));
RODEO_KERNEL(smooth, void(SmoothFunction f, const Tensor& x, const Tensor& y));
RODEO_KERNEL(smooth_backward, void(SmoothFunction f, const Tensor& y, const Tensor& dy, const Tensor& dx));
// dense.h
RODEO_KERNEL(dropout, void(const Tensor& x, double p, RandomKey key, const Tensor& y));
RODEO_KERNEL(uniform, void(const Tensor& out, float lo, float hi, RandomKey key));

// epilogue.h: x, dx [m, pitch], y, dy [m, n], bias, db [n]; bias and the scales [m] may be undefined
/// y may have the memory of x where x has no padding. signs, u8 [ceil(m n / 4)] or undefined: bit e % 4 of
/// byte e / 4 says whether element e of y is positive.
RODEO_KERNEL(epilogue, void(const Tensor& x, const Tensor& bias, const EpilogueOptions& options,
                            const Tensor& y, const Tensor& signs));
/// dx is zero in the padding. dx and db are undefined where not needed. ReLU needs y or signs, ELU y, and the
/// identity neither: what is not needed is undefined.
RODEO_KERNEL(epilogue_backward, void(const Tensor& y, const Tensor& signs, const Tensor& dy,
                                     const EpilogueOptions& options, const Tensor& dx, const Tensor& db));

// scale_rows.h, gcn_norm.h: x, y [m, n], s [m]
RODEO_KERNEL(scale_rows, void(const Tensor& x, const Tensor& s, const Tensor& y));
RODEO_KERNEL(normalize_rows, void(const Tensor& x, const Tensor& y));
RODEO_KERNEL(inverse_sqrt, void(const Tensor& x, const Tensor& y));  // [m]; 0 where x <= 0

// combine.h: x [m, a, b], y [m, b, a]
RODEO_KERNEL(transpose_last, void(const Tensor& x, const Tensor& y));
// combine.h: arrays of one shape
/// out = (a + s) x + b y; s [1] and y may be undefined: 0.
RODEO_KERNEL(scaled_sum,
             void(double a, const Tensor& s, const Tensor& x, double b, const Tensor& y, const Tensor& out));
RODEO_KERNEL(maximum, void(const Tensor& x, const Tensor& y, const Tensor& out));
RODEO_KERNEL(maximum_backward,
             void(const Tensor& x, const Tensor& y, const Tensor& dout, const Tensor& dx, const Tensor& dy));
/// Copies columns [begin, begin + count) of `from` to columns [at, at + count) of `to`; others keep their
/// values.
RODEO_KERNEL(copy_columns, void(const Tensor& from, std::int64_t begin, std::int64_t count, const Tensor& to,
                                std::int64_t at));

// sage_concat.h: scale [m] may be undefined: 1
/// y = [scale a | the first m rows of x].   a [m, n], x [nodes, k], y [m, n + k]
RODEO_KERNEL(join_columns_scaled,
             void(const Tensor& a, const Tensor& scale, const Tensor& x, const Tensor& y));
/// y = scale (the first n columns of x).   x [m, n + k], y [m, n]
RODEO_KERNEL(left_columns_scaled, void(const Tensor& x, const Tensor& scale, const Tensor& y));
/// y[i] += the last n columns of x[i], i < m.   x [m, k + n], y [nodes, n]
RODEO_KERNEL(add_right_columns, void(const Tensor& x, const Tensor& y));

}  // namespace rodeo::kernels
