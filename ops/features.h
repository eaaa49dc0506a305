/// What the first layer of a network reads: node features as a dense matrix, or as a constant sparse one.
#pragma once

#include <memory>

#include "core/adjacency.h"
#include "core/random.h"
#include "core/variable.h"

namespace rodeo {

struct LinearOptions;

/// Of inputs of layers: from here on a second pass to compute them again costs less than the memory.
constexpr std::int64_t kRecomputeBytes = std::int64_t{1} << 28;

/// A cheap shared handle. A Variable is taken wherever features are; layers that begin with a product x W
/// take sparse ones too, whose zeros are never stored, read or multiplied.
class Features {
 public:
  Features() = default;                                  // undefined
  Features(Variable x) : dense_(std::move(x)) {}         // NOLINT: implicit on purpose
  explicit Features(Tensor x) : dense_(std::move(x)) {}  // a constant

  bool defined() const { return is_sparse() || dense_.defined(); }
  bool is_sparse() const { return pattern_ != nullptr; }
  /// Throws Error where the features are sparse. Of those that dropout() returned the first call computes it.
  const Variable& dense() const;
  bool requires_grad() const { return dense_.requires_grad(); }  // sparse ones are constants

  Shape shape() const;
  std::int64_t dim(int i) const { return shape()[i]; }
  DType dtype() const { return is_sparse() ? value_.dtype() : dense_.dtype(); }
  Device device() const { return is_sparse() ? value_.device() : dense_.device(); }

  /// The same values rounded to another floating dtype (themselves where they have it). Throws Error where
  /// they require a gradient.
  Features to(DType dtype) const;

  /// Of sparse ones: the entries, rows sorted by column, each place once; and their values [entries].
  const Adjacency& entries() const;
  const Tensor& values() const { return value_; }

 private:
  friend Features sparse_features(const Adjacency& adj, const Tensor& value);
  friend Features dropout(const Features& x, double p, RandomKey key, const Tensor& scale);
  friend Features normalize_rows(const Features& x);
  friend Variable matmul(const Features& x, const Variable& w);
  friend Variable linear(const Features& x, const Variable& w, const Variable& bias,
                         const LinearOptions& options);

  // Made once: entry e of X lies in row[e], and is entry place[e] of X^T.
  struct Pattern {
    Adjacency x, transposed;
    Tensor row;    // i32 [entries]
    Tensor place;  // i64 [entries]
  };
  Features with(Tensor value, double p, RandomKey key, const Tensor& scale) const;
  // What dropout() leaves to those who read constant dense features: a product draws as it reads.
  struct Dropping {
    double p;
    RandomKey key;
    Tensor scale;
    Variable done;  // undefined until somebody wants it as a matrix
  };

  Variable dense_;
  std::shared_ptr<Dropping> dropping_;
  std::shared_ptr<const Pattern> pattern_;
  Tensor value_;
  Tensor transposed_value_;  // in the order of X^T; undefined where nothing was recorded
};

/// The sparse matrix whose entry (i, j) is the sum of the values of adj's edges (i, j).
///   adj     [m, n]   m, n <= 2^31 - 1; columns of a row in any order, repeated ones are added in edge order
///   value   [edges]  f64, f32, bf16 or f16, on adj's device
/// Builds X^T and both orders of the entries, 20 bytes each with f32 beside X itself: for features that are
/// used often. Waits for the device. Deterministic: the same entries on every device.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Features sparse_features(const Adjacency& adj, const Tensor& value);

/// y[i, j] = scale[i] dropout(x)[i, j], of dense features as dropout() in dense.h and scale_rows() have it.
///   x      [m, n]  f64, f32, bf16 or f16
///   scale  [m], a constant of x's device and dtype, or f32 beside 16-bit x; undefined: 1
/// Sparse features draw a number for each entry, which is that of the same (row, column) of a dense matrix: a
/// dropped zero is a zero, so both forms are equal to the bit. p = 0 without scale returns x. Deterministic.
/// Dense constants are read when y is: by linear() and matmul() as they multiply, where they can (linear.h).
/// Gradient of dense x: scale[i] dy[i, j] / (1 - p) where kept, else 0.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, and for p outside [0, 1).
Features dropout(const Features& x, double p, RandomKey key, const Tensor& scale = {});

/// Divides every row by the sum of its absolute values; rows of zeros stay zero.   x [m, n], f64, f32, bf16
/// or f16; a constant. The order of a sum depends on the form and the device, so the last bits may; otherwise
/// deterministic. Throws rodeo::Error for x that is undefined or requires a gradient.
Features normalize_rows(const Features& x);

/// y = x W.   x [m, k], w [k, n] -> [m, n];  f64, f32, bf16 or f16. Beside 16-bit x w may be f32: it is
/// rounded, y has x's dtype, and dW is f32, of dense x the sum as it is, of sparse x rounded to x's dtype
/// between. Of dense features as linear() in linear.h. Sparse: a sparse product over x's entries, dW = x^T dy
/// another over those of x^T; RoDe on CUDA, on the CPU the rule of spmm.h. Deterministic. Nothing waits for
/// the device but the first product of each direction, which makes a plan. Gradients: dW = x^T dy, and of
/// dense x dx = dy W^T. Throws rodeo::Error when shapes, dtypes or devices disagree.
Variable matmul(const Features& x, const Variable& w);

}  // namespace rodeo
