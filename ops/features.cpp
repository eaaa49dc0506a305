#include "ops/features.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/profile.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/epilogue.h"
#include "ops/gcn_norm.h"
#include "ops/kernels/sparse.h"
#include "ops/linear.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

/// The sums of runs of equal entries. Rare, and once: on the host.
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

SpmmOptions product_options(Device device) {
  return {.algorithm = device.is_cuda() ? SpmmAlgorithm::kRode : SpmmAlgorithm::kAuto};
}

}  // namespace

const Variable& Features::dense() const {
  check(!is_sparse(), "[features] a dense matrix is needed here, and these features are sparse: ", shape());
  if (!dropping_) return dense_;
  Variable& done = dropping_->done;
  if (!done.defined())
    done = epilogue(dense_, {},
                    {.dropout = dropping_->p,
                     .key = dropping_->key,
                     .after = dropping_->scale,
                     .recompute = dense_.value().nbytes() >= kRecomputeBytes});
  return done;
}

Shape Features::shape() const {
  return is_sparse() ? Shape{pattern_->x.rows(), pattern_->x.cols()} : dense_.shape();
}

const Adjacency& Features::entries() const {
  check(is_sparse(), "[features] entries() of dense features");
  return pattern_->x;
}

Features Features::with(Tensor value, double p, RandomKey key, const Tensor& scale) const {
  Features out = *this;
  const bool computes = p > 0 || scale.defined();
  out.value_ = computes ? Tensor::empty(value.shape(), value.dtype(), value.device()) : value;
  out.transposed_value_ = {};
  if (grad_enabled()) out.transposed_value_ = Tensor::empty(value.shape(), value.dtype(), value.device());
  if (value.numel() > 0 && (computes || out.transposed_value_.defined()))
    kernels::drop_entries.on(value.device())(pattern_->x.csr(), pattern_->row, pattern_->place, value,
                                             scale.to(sum_dtype(value.dtype())), p, key,
                                             computes ? out.value_ : Tensor(), out.transposed_value_);
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
  auto pattern = std::make_shared<Features::Pattern>();
  pattern->x = coo_to_csr(list.row, list.col, adj.rows(), adj.cols(), {.drop_duplicates = true}).adj;
  if (pattern->x.num_edges() < sums.numel())
    sums = dispatch_float(value.dtype(), "sparse_features", [&]<class T>(T) {
      return Tensor::from(sums_of_equal(sorted.adj.csr(), sums.to_vector<T>(), pattern->x.csr()),
                          value.device());
    });
  // Transposed twice the entries are in their own order again, and the ids tell where each was meanwhile.
  const EdgeList entries = csr_to_coo(pattern->x);
  pattern->transposed = coo_to_csr(entries.col, entries.row, adj.cols(), adj.rows()).adj;
  const EdgeList turned = csr_to_coo(pattern->transposed);
  pattern->place = coo_to_csr(turned.col, turned.row, adj.rows(), adj.cols(), {.edge_ids = true}).edge_ids;
  pattern->row = entries.row;
  Features x;
  x.pattern_ = std::move(pattern);
  return x.with(sums, 0, {}, {});
}

Features Features::to(DType dtype) const {
  check(defined(), "[features] to() of undefined features");
  check(!requires_grad(), "[features] to() of features that require a gradient: cast() has one");
  check(is_float(dtype), "[features] must be floating point, not ", dtype);
  if (dtype == this->dtype()) return *this;
  return is_sparse() ? with(value_.to(dtype), 0, {}, {}) : Features(dense().value().to(dtype));
}

Features dropout(const Features& x, double p, RandomKey key, const Tensor& scale) {
  check(x.defined(), "[dropout] x is undefined");
  if (!x.is_sparse() && (x.requires_grad() || x.dropping_ || (p == 0 && !scale.defined()))) {
    if (p == 0 && !scale.defined()) return x;
    return scale.defined() ? epilogue(x.dense(), {}, {.dropout = p, .key = key, .after = scale})
                           : dropout(x.dense(), p, key);
  }
  check(p >= 0 && p < 1, "[dropout] p must be in [0, 1), got ", p);
  if (p == 0 && !scale.defined()) return x;
  const Tensor& values = x.is_sparse() ? x.value_ : x.dense_.value();
  check(is_float(values.dtype()), "[dropout] x must be floating point, got ", values.dtype());
  if (scale.defined()) {
    if (!x.is_sparse()) check_matrix("dropout", "x", values);
    check_beside("dropout", "x", values, "scale", scale);
    check_shape("dropout", "scale", scale, {x.dim(0)});
  }
  if (!x.is_sparse()) {
    Features out = x;
    out.dropping_ = std::make_shared<Features::Dropping>(Features::Dropping{p, key, scale, {}});
    return out;
  }
  return x.with(x.value_, p, key, scale);
}

Features normalize_rows(const Features& x) {
  check(x.defined(), "[normalize_rows] x is undefined");
  check(!x.requires_grad(), "[normalize_rows] x requires a gradient, and none is defined");
  if (!x.is_sparse()) return Features(normalize_rows(x.dense().value()));
  const Tensor y = Tensor::empty(x.value_.shape(), x.dtype(), x.device());
  if (y.numel() > 0) kernels::normalize_entries.on(y.device())(x.pattern_->x.csr(), x.value_, y);
  return x.with(y, 0, {}, {});
}

Variable matmul(const Features& x, const Variable& w) {
  check(x.defined(), "[matmul] x is undefined");
  if (!x.is_sparse()) return linear(x, w);
  check_matrix("matmul", "w", w.value());
  check_beside("matmul", "x", x.value_, "w", w.value());
  check(w.dim(0) == x.dim(1), "[matmul] inner sizes must be equal, got ", x.shape(), " x ", w.shape());
  const SpmmOptions options = product_options(x.device());
  const Tensor rounded = w.value().to(x.dtype());
  return record("matmul", spmm(x.pattern_->x, x.value_, rounded, options), {w},
                [=, dtype = w.dtype()](const Tensor& dy) {
                  const Features again = x.transposed_value_.defined() ? x : x.with(x.value_, 0, {}, {});
                  const Tensor dw = spmm(x.pattern_->transposed, again.transposed_value_, dy, options);
                  return std::vector{dw.to(dtype)};
                });
}

}  // namespace rodeo
