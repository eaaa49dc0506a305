/// Input features of a network: a dense matrix, or a constant sparse one.
#pragma once

#include <memory>
#include <optional>

#include "core/adjacency.h"
#include "core/random.h"
#include "core/variable.h"
#include "ops/row_cache_types.h"

namespace rodeo {

/// Bytes of a layer's input from which on its dropout is recomputed in backward. Smaller results are kept.
constexpr std::int64_t kRecomputeBytes = std::int64_t{1} << 28;

/// The density below which a product X W of sparse features is faster than the dense one; docs/training.md
/// has the measurements.
constexpr double kSparseBelowOnCpu = 0.2, kSparseBelowOnCuda = 0.12;

/// Rows of a matrix that are not gathered yet: y[i] = x[index[i]].
struct PendingRows {
  Tensor x;             // [m, n]
  Tensor index;         // i64 [k] in [0, m)
  RowCache cache = {};  // undefined, or of x: then rows are gathered, each once
};

/// A dropout and a row scale that are deferred until x is read: y[i, j] = scale[i] dropout(x)[i, j].
struct PendingDropout {
  double p = 0;
  RandomKey key = {};
  Tensor scale = {};  // [m]; undefined: 1
};

/// The nonzero pattern of a sparse matrix X and of its transpose. Entries are numbered in CSR order: entry e
/// of X is in row row[e], and the same element is entry place[e] of X^T.
struct SparsePattern {
  Adjacency x, transposed;
  Tensor row;    // i32 [entries]
  Tensor place;  // i64 [entries]
};

/// An immutable shared handle, cheap to copy. It is one of
///   - a dense Variable; Variables convert implicitly,
///   - a dense constant with a pending dropout, which a product applies while it reads (see linear.h),
///   - one that is the rank's rows of a constant, of which every rank has the rows of all ranks,
///   - a sparse constant, whose zeros are never stored, read or multiplied. Layers that begin with a product
///     X W accept it: forward(graph, sparse_features(...)).
///   - constant rows of a larger matrix, which are gathered when they are read, or not at all
///   (sage_concat.h).
class Features {
 public:
  Features() = default;                                  // undefined
  Features(Variable x) : dense_(std::move(x)) {}         // NOLINT: implicit on purpose
  explicit Features(Tensor x) : dense_(std::move(x)) {}  // a constant
  /// A dense constant with a pending dropout. Use dropout(), which checks.
  Features(Features x, PendingDropout pending) : Features(std::move(x)) { pending_ = std::move(pending); }
  /// Rows [first, first + count) of `all`, [rows of all ranks, n]: those of this rank.
  Features(const Tensor& all, std::int64_t first, std::int64_t count)
      : dense_(all.slice(first, first + count)), all_(all) {}
  /// Sparse features. Use sparse_features(), which builds the pattern.
  ///   value             [entries] in the order of pattern->x
  ///   transposed_value  [entries] in the order of pattern->transposed; undefined: computed in backward
  Features(std::shared_ptr<const SparsePattern> pattern, Tensor value, Tensor transposed_value);

  /// rows.x[rows.index], a constant [k, n]. Throws Error for shapes and dtypes other than those of
  /// gather_rows().
  explicit Features(PendingRows rows);

  bool defined() const { return is_sparse() || rows_ || dense_.defined(); }
  bool is_sparse() const { return pattern_ != nullptr; }
  /// Sparse features and those with a pending dropout are constants.
  bool requires_grad() const { return dense_.requires_grad(); }

  Shape shape() const;
  std::int64_t dim(int i) const { return shape()[i]; }
  DType dtype() const { return is_sparse() ? value_.dtype() : rows_ ? rows_->x.dtype() : dense_.dtype(); }
  Device device() const {
    return is_sparse() ? value_.device() : rows_ ? rows_->x.device() : dense_.device();
  }

  /// The dense matrix. Applies a pending dropout in each call, so call it once. Throws Error where the
  /// features are sparse.
  Variable dense() const;
  /// The dense matrix before the pending dropout; gathers pending rows. Throws Error where the features are
  /// sparse.
  const Variable& input() const;
  /// Null, or the rows that are pending.
  const PendingRows* pending_rows() const { return rows_.get(); }
  const std::optional<PendingDropout>& pending_dropout() const { return pending_; }
  bool has_rows_of_all_ranks() const { return all_.defined(); }
  /// scale[i] dropout(all)[i, j] with the pending dropout: row i has the bits that dense() has on the rank of
  /// the row, so that no rank needs to send it. No collective call. Deterministic.
  ///   scale  [rows of all ranks], instead of the pending one; undefined: 1
  /// Throws Error where the rank does not have these rows.
  Tensor rows_of_all_ranks(const Tensor& scale) const;

  /// These features rounded to another floating dtype; a handle on them if they have it. Throws Error where
  /// they require a gradient.
  Features to(DType dtype) const;

  /// The entries of sparse features: rows sorted by column, each (row, column) once. Throws Error where the
  /// features are dense.
  const Adjacency& entries() const { return pattern().x; }
  const SparsePattern& pattern() const;
  const std::shared_ptr<const SparsePattern>& shared_pattern() const { return pattern_; }
  /// [entries], in the order of entries().
  const Tensor& values() const { return value_; }
  /// [entries], in the order of pattern().transposed. Features made under NoGrad do not store them: they are
  /// then computed in each call.
  Tensor transposed_values() const;

 private:
  mutable Variable dense_;  // undefined until pending rows are gathered
  std::shared_ptr<const PendingRows> rows_;
  std::optional<PendingDropout> pending_;
  Tensor all_;  // dense_ are rows of it; undefined: the rank has its own alone
  std::shared_ptr<const SparsePattern> pattern_;
  Tensor value_;
  Tensor transposed_value_;
};

/// The sparse matrix whose entry (i, j) is the sum of the values of adj's edges (i, j).
///   adj     [m, n]   m, n <= 2^31 - 1; columns of a row in any order; repeated ones are added in edge order
///   value   [edges]  f64, f32, bf16 or f16, on adj's device
/// Builds X^T and the map between the entries of both: with f32 values 20 bytes per entry in addition to X.
/// Waits for the device. Deterministic: the same entries on every device.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Features sparse_features(const Adjacency& adj, const Tensor& value);

/// The sparse matrix of an edge list (COO): entry e is value[e] in row row[e] and column col[e], in any
/// order; equal positions are added.
///   row, col  [entries]  both i32 or both i64
///   value     [entries]  f64, f32, bf16 or f16; all on one device
///   returns   [rows, cols]
/// Waits for the device. Deterministic. Throws rodeo::Error when shapes, dtypes or devices disagree, and for
/// the first entry outside the matrix.
Features sparse_features(const Tensor& row, const Tensor& col, const Tensor& value, std::int64_t rows,
                         std::int64_t cols);

/// y[i, j] = scale[i] dropout(x)[i, j], where dropout is that of dense.h.
///   x      [m, n]  f64, f32, bf16 or f16
///   scale  [m], a constant of x's device and dtype, or f32 with 16-bit x; undefined: 1
/// - A dense constant returns with the dropout pending: linear() and matmul() fuse it where their kernel can
///   (linear.h), else apply it before the product.
/// - A dense Variable with gradient gets its dropout at once.
/// - So do sparse features. An entry draws the random number of its (row, column) in a dense matrix, so both
///   forms give the same bits.
/// - p = 0 without scale returns x.
/// Gradient of dense x: scale[i] dy[i, j] / (1 - p) where kept, else 0. Deterministic.
/// Throws rodeo::Error when shapes, dtypes or devices disagree, and for p outside [0, 1).
Features dropout(const Features& x, double p, RandomKey key, const Tensor& scale = {});

/// Divides every row by the sum of its absolute values; rows of zeros stay zero.   x [m, n], f64, f32, bf16
/// or f16; a constant. Deterministic; the order of a sum differs between the dense and the sparse form and
/// between devices, and so may the last bits. Throws rodeo::Error for x that is undefined or requires a
/// gradient.
Features normalize_rows(const Features& x);

/// y = x W.   x [m, k], w [k, n] -> [m, n];  f64, f32, bf16 or f16.
/// Dense x: linear() (linear.h) without options.
/// Sparse x: an SpMM with the entries of x as edge weights; dW = x^T dy is an SpMM with those of x^T. The
/// algorithm is kRode on CUDA and kAuto on the CPU (spmm_types.h). The first product in each direction builds
/// a plan and waits for the device.
/// With 16-bit x, w may be f32: it is rounded, y has x's dtype and dW is f32. For sparse x dW is rounded to
/// x's dtype first.
/// Gradients: dW = x^T dy, and for dense x dx = dy W^T. Deterministic.
/// Throws rodeo::Error when shapes, dtypes or devices disagree.
Variable matmul(const Features& x, const Variable& w);

}  // namespace rodeo
