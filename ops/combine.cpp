#include "ops/combine.h"

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/fixed_slopes.h"
#include "ops/kernels/dense.h"
#include "ops/kernels/norm.h"

namespace rodeo {
namespace {

void check_pair(std::string_view op, const Tensor& x, const Tensor& y) {
  check(x.defined() && is_float(x.dtype()), "[", op, "] x must be floating point");
  check_alike(op, "x", x, "y", y);
  check_shape(op, "y", y, x.shape());
}

Tensor like(const Tensor& x) {
  return Tensor::empty(x.shape(), x.dtype(), x.device());
}

// (a + s) x + b y; s and y may be undefined.
Tensor scaled_sum(double a, const Tensor& s, const Tensor& x, double b, const Tensor& y) {
  const Tensor out = like(x);
  if (out.numel() > 0) kernels::scaled_sum.on(out.device())(a, s, x, b, y, out);
  return out;
}

Tensor scaled(double a, const Tensor& x) {
  return scaled_sum(a, {}, x, 0, {});
}
Variable scaled(double a, const Variable& x) {
  return record_fixed_slopes("scaled", scaled(a, x.value()), x,
                             [a](const Tensor& dy) { return scaled(a, dy); });
}

// The inner product of all elements, [1], in the accumulator dtype.
Tensor dot(const Tensor& x, const Tensor& y) {
  const std::int64_t n = x.dim(1);
  const DType dtype = sum_dtype(x.dtype());
  const Tensor columns = Tensor::zeros({n}, dtype, x.device()),
               unused = Tensor::zeros({n}, dtype, x.device());
  if (x.numel() > 0)
    kernels::norm_sums.on(x.device())(x, y, {}, {}, kernels::NormAxis::kColumns, columns, unused);
  return sum_rows(columns.reshape({n, 1}));
}

}  // namespace

Tensor linear_combination(double a, const Tensor& x, double b, const Tensor& y) {
  check_pair("linear_combination", x, y);
  return scaled_sum(a, {}, x, b, y);
}

Variable linear_combination(double a, const Variable& x, double b, const Variable& y) {
  return record("linear_combination", linear_combination(a, x.value(), b, y.value()), {x, y},
                [=, x_learns = x.requires_grad(), y_learns = y.requires_grad()](const auto& dout) {
                  using T = std::decay_t<decltype(dout)>;
                  return std::vector{x_learns ? scaled(a, dout) : T(), y_learns ? scaled(b, dout) : T()};
                });
}

Variable scale_add(const Variable& s, const Variable& x, const Variable& y) {
  check_matrix("scale_add", "x", x.value());
  check_pair("scale_add", x.value(), y.value());
  check_beside("scale_add", "x", x.value(), "s", s.value());
  check_shape("scale_add", "s", s.value(), {1});
  const Tensor factor = s.value().to(sum_dtype(x.dtype()));
  const SavedTensor kept_x = s.requires_grad() ? x.saved() : SavedTensor();
  return record("scale_add", scaled_sum(1, factor, x.value(), 1, y.value()), {s, x, y},
                [=, x_learns = x.requires_grad(), dtype = s.dtype()](const Tensor& dout) {
                  return std::vector{kept_x.defined() ? dot(kept_x.get(), dout).to(dtype) : Tensor(),
                                     x_learns ? scaled_sum(1, factor, dout, 0, {}) : Tensor(), dout};
                });
}

Tensor maximum(const Tensor& x, const Tensor& y) {
  check_pair("maximum", x, y);
  const Tensor out = like(x);
  if (out.numel() > 0) kernels::maximum.on(out.device())(x, y, out);
  return out;
}

Variable maximum(const Variable& x, const Variable& y) {
  return record("maximum", maximum(x.value(), y.value()), {x, y}, [=](const Tensor& dout) {
    const Tensor dx = like(dout), dy = like(dout);
    if (dout.numel() > 0) kernels::maximum_backward.on(dout.device())(x.value(), y.value(), dout, dx, dy);
    return std::vector{dx, dy};
  });
}

namespace {

/// The rows or columns of a concatenation that are of one part.
struct PartRange {
  std::int64_t begin, end;
  bool learns;
};

std::vector<PartRange> part_ranges(const std::vector<Variable>& parts, int dim) {
  std::vector<PartRange> ranges;
  std::int64_t begin = 0;
  for (const Variable& part : parts) {
    ranges.push_back({begin, begin + part.dim(dim), part.requires_grad()});
    begin = ranges.back().end;
  }
  return ranges;
}

std::vector<Tensor> values_of(std::string_view op, const std::vector<Variable>& parts) {
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    check(parts[i].defined(), "[", op, "] part ", i, " is undefined");
    values.push_back(parts[i].value());
  }
  return values;
}

// Columns [begin, begin + count) of `from` to columns [at, ...) of `to`.
void copy_columns(const Tensor& from, std::int64_t begin, std::int64_t count, const Tensor& to,
                  std::int64_t at) {
  if (from.dim(0) > 0 && count > 0) kernels::copy_columns.on(to.device())(from, begin, count, to, at);
}

}  // namespace

Tensor concat_columns(const std::vector<Tensor>& parts) {
  check(!parts.empty(), "[concat_columns] needs at least one part");
  const Tensor& first = parts.front();
  check_matrix("concat_columns", "part 0", first);
  std::int64_t width = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string what = str("part ", i);
    check_matrix("concat_columns", what, parts[i]);
    check_alike("concat_columns", "part 0", first, what, parts[i]);
    check_shape("concat_columns", what, parts[i], {first.dim(0), parts[i].dim(1)});
    width += parts[i].dim(1);
  }
  const Tensor out = Tensor::empty({first.dim(0), width}, first.dtype(), first.device());
  std::int64_t at = 0;
  for (const Tensor& part : parts) {
    copy_columns(part, 0, part.dim(1), out, at);
    at += part.dim(1);
  }
  return out;
}

Variable concat_columns(const std::vector<Variable>& parts) {
  const Tensor out = concat_columns(values_of("concat_columns", parts));
  return record("concat_columns", out, parts, [ranges = part_ranges(parts, 1)](const auto& dout) {
    using T = std::decay_t<decltype(dout)>;
    std::vector<T> gradients;
    for (const auto& [begin, end, learns] : ranges)
      gradients.push_back(learns ? columns(dout, begin, end) : T());
    return gradients;
  });
}

Tensor concat_rows(const std::vector<Tensor>& parts) {
  check(!parts.empty(), "[concat_rows] needs at least one part");
  const Tensor& first = parts.front();
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Tensor& part = parts[i];
    const std::string what = str("part ", i);
    check(part.defined(), "[concat_rows] ", what, " is undefined");
    check(part.rank() == 1 || part.rank() == 2, "[concat_rows] ", what, " must be [m] or [m, n], got ",
          part.shape());
    check_alike("concat_rows", "part 0", first, what, part);
    check_shape("concat_rows", what, part,
                first.rank() == 1 ? Shape{part.dim(0)} : Shape{part.dim(0), first.dim(1)});
    rows += part.dim(0);
  }
  const Shape shape = first.rank() == 1 ? Shape{rows} : Shape{rows, first.dim(1)};
  const Tensor out = Tensor::empty(shape, first.dtype(), first.device());
  std::int64_t at = 0;
  for (const Tensor& part : parts) {
    if (part.numel() > 0) out.slice(at, at + part.dim(0)).copy_from(part);
    at += part.dim(0);
  }
  return out;
}

Variable concat_rows(const std::vector<Variable>& parts) {
  const Tensor out = concat_rows(values_of("concat_rows", parts));
  return record("concat_rows", out, parts, [ranges = part_ranges(parts, 0)](const Tensor& dout) {
    std::vector<Tensor> gradients;
    // Copies: a view may not be aligned, and would keep all of dout.
    for (const auto& [begin, end, learns] : ranges)
      gradients.push_back(learns ? dout.slice(begin, end).clone() : Tensor());
    return gradients;
  });
}

Tensor transpose_last(const Tensor& x) {
  check(x.defined() && is_float(x.dtype()) && x.rank() >= 2,
        "[transpose_last] x must be floating point with at least 2 dimensions");
  const int rank = x.rank();
  const std::int64_t a = x.dim(rank - 2), b = x.dim(rank - 1);
  const Shape shape = rank == 2   ? Shape{b, a}
                      : rank == 3 ? Shape{x.dim(0), b, a}
                                  : Shape{x.dim(0), x.dim(1), b, a};
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  const std::int64_t matrices = x.numel() / (a * b);
  kernels::transpose_last.on(y.device())(x.reshape({matrices, a, b}), y.reshape({matrices, b, a}));
  return y;
}

Variable transpose_last(const Variable& x) {
  return record("transpose_last", transpose_last(x.value()), {x},
                [](const auto& dout) { return std::vector{transpose_last(dout)}; });
}

Tensor columns(const Tensor& x, std::int64_t begin, std::int64_t end) {
  check_matrix("columns", "x", x);
  check(begin >= 0 && begin <= end && end <= x.dim(1), "[columns] [", begin, ", ", end,
        ") is not within the ", x.dim(1), " columns of x");
  const Tensor out = Tensor::empty({x.dim(0), end - begin}, x.dtype(), x.device());
  copy_columns(x, begin, end - begin, out, 0);
  return out;
}

namespace {

/// x as columns [begin, ...) of zeros of a shape.
Tensor among_zeros(const Tensor& x, const Shape& shape, std::int64_t begin) {
  const Tensor out = Tensor::zeros(shape, x.dtype(), x.device());
  copy_columns(x, 0, x.dim(1), out, begin);
  return out;
}
Variable among_zeros(const Variable& x, const Shape& shape, std::int64_t begin) {
  return record(
      "among_zeros", among_zeros(x.value(), shape, begin), {x},
      [begin, end = begin + x.dim(1)](const auto& dout) { return std::vector{columns(dout, begin, end)}; });
}

}  // namespace

Variable columns(const Variable& x, std::int64_t begin, std::int64_t end) {
  return record("columns", columns(x.value(), begin, end), {x}, [begin, shape = x.shape()](const auto& dout) {
    return std::vector{among_zeros(dout, shape, begin)};
  });
}

Variable rows(const Variable& x, std::int64_t begin, std::int64_t end) {
  check(x.defined() && x.shape().rank() > 0, "[rows] x must be [m, ...]");
  check(begin >= 0 && begin <= end && end <= x.dim(0), "[rows] [", begin, ", ", end, ") is not within the ",
        x.dim(0), " rows of x");
  return record("rows", x.value().slice(begin, end), {x}, [=, shape = x.shape()](const Tensor& dout) {
    const Tensor dx = Tensor::zeros(shape, dout.dtype(), dout.device());
    dx.slice(begin, end).copy_from(dout);
    return std::vector{dx};
  });
}

}  // namespace rodeo
