#include "ops/features.h"

#include <limits>
#include <utility>
#include <vector>

#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/gather_rows.h"
#include "ops/kernels/sparse.h"
#include "ops/row_cache.h"
#include "ops/scale_rows.h"

namespace rodeo {
namespace {

/// The sums of runs of equal entries. On the host: repeated edges are rare, and this runs once.
template <class T>
std::vector<T> sums_of_equal(const Csr& sorted, const std::vector<T>& value, const Csr& unique) {
  const auto from = sorted.row_ptr.to_vector<std::int64_t>(), to = unique.row_ptr.to_vector<std::int64_t>();
  const auto col = sorted.col.to_vector<std::int32_t>();
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(to.back()));
  for (std::size_t i = 0; i + 1 < from.size(); ++i)
    for (std::int64_t e = from[i]; e < from[i + 1];) {
      Accumulator<T> sum = 0;
      const std::int32_t column = col[e];
      for (; e < from[i + 1] && col[e] == column; ++e) sum += static_cast<Accumulator<T>>(value[e]);
      out.push_back(T(sum));
    }
  return out;
}

/// scale[i] dropout(value), in both orders of the entries; transposed values only while recording.
Features drop_entries(const std::shared_ptr<const SparsePattern>& pattern, const Tensor& value, double p,
                      RandomKey key, const Tensor& scale) {
  const bool computes = p > 0 || scale.defined();
  const Tensor y = computes ? Tensor::empty(value.shape(), value.dtype(), value.device()) : value;
  const Tensor transposed =
      grad_enabled() ? Tensor::empty(value.shape(), value.dtype(), value.device()) : Tensor();
  if (value.numel() > 0 && (computes || transposed.defined()))
    kernels::drop_entries.on(value.device())(pattern->x.csr(), pattern->row, pattern->place, value,
                                             scale.to(sum_dtype(value.dtype())), p, key,
                                             computes ? y : Tensor(), transposed);
  return {pattern, y, transposed};
}

}  // namespace

Features::Features(std::shared_ptr<const SparsePattern> pattern, Tensor value, Tensor transposed_value)
    : pattern_(std::move(pattern)),
      value_(std::move(value)),
      transposed_value_(std::move(transposed_value)) {}

Features::Features(PendingRows rows) {
  check_matrix("features", "x", rows.x);
  check(rows.index.defined() && rows.index.rank() == 1 && rows.index.dtype() == DType::kI64 &&
            rows.index.device() == rows.x.device(),
        "[features] the index of pending rows must be i64 [k] on ", rows.x.device());
  rows_ = std::make_shared<const PendingRows>(std::move(rows));
}

const Variable& Features::input() const {
  check(!is_sparse(), "[features] a dense matrix is needed here, and these features are sparse: ", shape());
  if (rows_ && !dense_.defined()) dense_ = Variable(gather_rows(rows_->x, rows_->cache, rows_->index));
  return dense_;
}

Variable Features::dense() const {
  if (!pending_) return input();
  return epilogue(dense_, {},
                  {.dropout = pending_->p,
                   .key = pending_->key,
                   .post_scale = pending_->scale,
                   .recompute = dense_.value().nbytes() >= kRecomputeBytes});
}

Tensor Features::rows_of_all_ranks(const Tensor& scale) const {
  check(has_rows_of_all_ranks(), "[features] the rank has its own rows of the features alone");
  EpilogueOptions with{.post_scale = scale};
  if (pending_) with.dropout = pending_->p, with.key = pending_->key;
  with.key.first_row = 0;
  return with.dropout == 0 && !scale.defined() ? all_ : epilogue(Variable(all_), {}, with).value();
}

Shape Features::shape() const {
  if (rows_) return {rows_->index.numel(), rows_->x.dim(1)};
  return is_sparse() ? Shape{pattern_->x.rows(), pattern_->x.cols()} : dense_.shape();
}

const SparsePattern& Features::pattern() const {
  check(is_sparse(), "[features] entries() of dense features");
  return *pattern_;
}

Tensor Features::transposed_values() const {
  if (transposed_value_.defined()) return transposed_value_;
  const Tensor out = Tensor::empty(value_.shape(), value_.dtype(), value_.device());
  if (out.numel() > 0)
    kernels::drop_entries.on(out.device())(pattern().x.csr(), pattern_->row, pattern_->place, value_, {}, 0,
                                           {}, {}, out);
  return out;
}

Features sparse_features(const Adjacency& adj, const Tensor& value) {
  check_vector("sparse_features", "value", value);
  check_shape("sparse_features", "value", value, {adj.num_edges()});
  check_on_device_of("sparse_features", adj, "value", value);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  check(adj.rows() <= kMost, "[sparse_features] at most 2^31 - 1 rows, got ", adj.rows());
  const EdgeList list = csr_to_coo(adj);
  const CooResult sorted = coo_to_csr(list.row, list.col, adj.rows(), adj.cols(), {.edge_ids = true});
  Tensor sums = take(value, sorted.edge_ids);
  auto pattern = std::make_shared<SparsePattern>();
  pattern->x = coo_to_csr(list.row, list.col, adj.rows(), adj.cols(), {.drop_duplicates = true}).adj;
  if (pattern->x.num_edges() < sums.numel())
    sums = dispatch_float(value.dtype(), "sparse_features", [&]<class T>(T) {
      return Tensor::from(sums_of_equal(sorted.adj.csr(), sums.to_vector<T>(), pattern->x.csr()),
                          value.device());
    });
  // Transposing twice restores the order; the edge ids of the second transpose are the places in the first.
  const EdgeList entries = csr_to_coo(pattern->x);
  pattern->transposed = coo_to_csr(entries.col, entries.row, adj.cols(), adj.rows()).adj;
  const EdgeList turned = csr_to_coo(pattern->transposed);
  pattern->place = coo_to_csr(turned.col, turned.row, adj.rows(), adj.cols(), {.edge_ids = true}).edge_ids;
  pattern->row = entries.row;
  return drop_entries(pattern, sums, 0, {}, {});
}

Features sparse_features(const Tensor& row, const Tensor& col, const Tensor& value, std::int64_t rows,
                         std::int64_t cols) {
  check(row.defined() && row.rank() == 1, "[sparse_features] row must be a vector [entries]");
  check_vector("sparse_features", "value", value);
  check_shape("sparse_features", "value", value, row.shape());
  check(value.device() == row.device(), "[sparse_features] value is on ", value.device(), ", row on ",
        row.device());
  const CooResult sorted = coo_to_csr(row, col, rows, cols, {.edge_ids = true});
  return sparse_features(sorted.adj, take(value, sorted.edge_ids));
}

Features Features::to(DType dtype) const {
  check(defined(), "[features] to() of undefined features");
  check(!requires_grad(), "[features] to() of features that require a gradient: cast() has one");
  check(is_float(dtype), "[features] must be floating point, not ", dtype);
  if (dtype == this->dtype()) return *this;
  return is_sparse() ? drop_entries(pattern_, value_.to(dtype), 0, {}, {})
                     : Features(dense().value().to(dtype));
}

Features dropout(const Features& x, double p, RandomKey key, const Tensor& scale) {
  check(x.defined(), "[dropout] x is undefined");
  check(p >= 0 && p < 1, "[dropout] p must be in [0, 1), got ", p);
  if (p == 0 && !scale.defined()) return x;
  if (!x.is_sparse() && (x.requires_grad() || x.pending_dropout()))
    return scale.defined() ? epilogue(x.dense(), {}, {.dropout = p, .key = key, .post_scale = scale})
                           : dropout(x.dense(), p, key);
  const Tensor& values = x.is_sparse() ? x.values() : x.input().value();
  check(is_float(values.dtype()), "[dropout] x must be floating point, got ", values.dtype());
  if (scale.defined()) {
    if (!x.is_sparse()) check_matrix("dropout", "x", values);
    check_beside("dropout", "x", values, "scale", scale);
    check_shape("dropout", "scale", scale, {x.dim(0)});
  }
  if (!x.is_sparse()) return {x.pending_rows() ? Features(x.input()) : x, PendingDropout{p, key, scale}};
  return drop_entries(x.shared_pattern(), values, p, key, scale);
}

Features normalize_rows(const Features& x) {
  check(x.defined(), "[normalize_rows] x is undefined");
  check(!x.requires_grad(), "[normalize_rows] x requires a gradient, and none is defined");
  if (!x.is_sparse()) return Features(normalize_rows(x.dense().value()));
  const Tensor y = Tensor::empty(x.values().shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::normalize_entries.on(y.device())(x.entries().csr(), x.values(), y);
  return drop_entries(x.shared_pattern(), y, 0, {}, {});
}

// matmul() is in linear.cpp.

}  // namespace rodeo
