#include "ops/grouped_linear.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/kernels/dense.h"

namespace rodeo {
namespace {

/// [segments, blocks, in / blocks, out / blocks]
Tensor as_blocks(const Tensor& w) {
  return w.rank() == 4 ? w : w.reshape({w.dim(0), 1, w.dim(1), w.dim(2)});
}

/// Sets rows of y that no segment writes to zero. Returns which segments add to what earlier ones wrote.
/// `folds`: y has `fold` rows for each row of a segment.
std::vector<kernels::GroupedRows> plan_rows(const std::vector<RowSegment>& segments, bool folds,
                                            const Tensor& y) {
  std::vector<kernels::GroupedRows> plan;
  std::vector<std::pair<std::int64_t, std::int64_t>> written;  // disjoint ranges
  bool mixed = false;  // some range was written in part: all of y begins with zeros
  for (const RowSegment& s : segments) {
    const std::int64_t begin = s.y_begin, end = begin + s.rows * (folds ? s.fold : 1);
    bool adds = false;
    for (const auto& [first, last] : written) {
      if (end <= first || last <= begin) continue;
      adds = true;
      mixed = mixed || begin < first || last < end;
    }
    if (!adds && s.rows > 0) written.emplace_back(begin, end);
    plan.push_back({s, adds});
  }
  if (mixed) {
    y.fill(0);
    for (kernels::GroupedRows& s : plan) s.adds = true;
    return plan;
  }
  std::ranges::sort(written);
  written.emplace_back(y.dim(0), y.dim(0));
  std::int64_t at = 0;
  for (const auto& [begin, end] : written) {
    if (at < begin) y.slice(at, begin).fill(0);
    at = end;
  }
  return plan;
}

/// f(rows of y of a segment, their elements of bias): grouped_linear has a row of `bias` for each segment,
/// fan_out_linear for each matrix.
template <class F>
void for_each_bias(const Tensor& bias, const std::vector<RowSegment>& segments, bool fans_out,
                   const Tensor& y, const F& f) {
  std::int64_t at = 0;
  for (const RowSegment& s : segments) {
    const std::int64_t fold = fans_out ? s.fold : 1;
    f(kernels::side_by_side(y, s.y_begin, s.rows, fold), kernels::joined_rows(bias, at, fold));
    at += fold;
  }
}

/// w [matrices, blocks, k, n]; `transposed`: [matrices, blocks, n, k], and y is folded instead of x.
Tensor product(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows, const Tensor& w,
               bool transposed, const Tensor& bias = {}) {
  const std::int64_t columns = w.dim(1) * w.dim(transposed ? 2 : 3);
  const Tensor y = Tensor::empty({rows, columns}, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  if (x.numel() == 0) {
    y.fill(0);
    if (bias.defined())
      for_each_bias(bias, segments, transposed, y, [&](const Tensor& part, const Tensor& b) {
        if (part.numel() > 0) kernels::add_bias.on(y.device())(part, b, part);
      });
    return y;
  }
  kernels::grouped_matmul.on(y.device())(x, w, transposed, plan_rows(segments, transposed, y), bias, y);
  return y;
}

void check_range(const char* op, std::size_t s, std::string_view what, std::int64_t begin, std::int64_t count,
                 std::int64_t limit) {
  check(begin >= 0 && count >= 0 && begin + count <= limit, "[", op, "] segment ", s, " has the rows [",
        begin, ", ", begin + count, ") of ", what, ", which has ", limit);
}

/// `fans_out`: of fan_out_linear.
void check_operands(const char* op, bool fans_out, const Tensor& x, const std::vector<RowSegment>& segments,
                    std::int64_t rows, const Tensor& w, const Tensor& bias) {
  check_matrix(op, "x", x);
  check_beside(op, "x", x, "w", w);
  check(rows >= 0, "[", op, "] rows must be at least 0, got ", rows);
  const char* sides = fans_out ? "out, in" : "in, out";
  const char* parts = fans_out ? "out / blocks, in / blocks" : "in / blocks, out / blocks";
  check(w.rank() == 3 || w.rank() == 4, "[", op, "] w must be [matrices, ", sides, "] or [matrices, blocks, ",
        parts, "], got ", w.shape());
  std::int64_t matrices = 0;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const RowSegment& at = segments[s];
    check(at.fold >= 1, "[", op, "] fold of segment ", s, " must be at least 1, got ", at.fold);
    check_range(op, s, "x", at.x_begin, at.rows * (fans_out ? 1 : at.fold), x.dim(0));
    check_range(op, s, "y", at.y_begin, at.rows * (fans_out ? at.fold : 1), rows);
    matrices += at.fold;
  }
  const Tensor blocks = as_blocks(w);
  const int in = fans_out ? 3 : 2, out = fans_out ? 2 : 3;
  check(w.dim(0) == matrices && blocks.dim(1) * blocks.dim(in) == x.dim(1), "[", op, "] w must have ",
        matrices, " matrices for ", x.dim(1), " columns of x, got ", w.shape());
  if (!bias.defined()) return;
  check_beside(op, "x", x, "bias", bias);
  check_shape(
      op, "bias", bias,
      {fans_out ? matrices : static_cast<std::int64_t>(segments.size()), blocks.dim(1) * blocks.dim(out)});
}

std::vector<RowSegment> swapped(std::vector<RowSegment> segments) {
  for (RowSegment& s : segments) std::swap(s.x_begin, s.y_begin);
  return segments;
}

Tensor forward(const char* op, bool fans_out, const Tensor& x, const std::vector<RowSegment>& segments,
               std::int64_t rows, const Tensor& w, const Tensor& bias) {
  check_operands(op, fans_out, x, segments, rows, w, bias);
  return product(x, segments, rows, as_blocks(w.to(x.dtype())), fans_out,
                 bias.defined() ? bias.to(sum_dtype(x.dtype())) : bias);
}

Variable forward(const char* op, bool fans_out, const Variable& x, const std::vector<RowSegment>& segments,
                 std::int64_t rows, const Variable& w, const Variable& bias) {
  const Tensor b = bias.defined() ? bias.value() : Tensor();
  const Tensor y = forward(op, fans_out, x.value(), segments, rows, w.value(), b);
  const SavedTensor kept_x = w.requires_grad() ? x.saved() : SavedTensor(),
                    kept_w = x.requires_grad() ? w.saved() : SavedTensor();
  const Tensor db_like = bias.defined() && bias.requires_grad() ? b : Tensor();
  const auto rule = [=, x_rows = x.dim(0), w_shape = w.shape(), w_dtype = w.dtype()](const Tensor& dy) {
    Tensor dx, dw, db;
    if (kept_w.defined())
      dx = product(dy, swapped(segments), x_rows, as_blocks(kept_w.get().to(dy.dtype())), !fans_out);
    if (db_like.defined()) db = Tensor::zeros(db_like.shape(), sum_dtype(dy.dtype()), dy.device());
    const bool has_products = dy.numel() > 0 && x_rows > 0 && w_shape.numel() > 0;
    if (kept_x.defined()) {
      dw = has_products ? Tensor::empty(w_shape, w_dtype, dy.device())
                        : Tensor::zeros(w_shape, w_dtype, dy.device());
      const auto& kernel = kernels::grouped_matmul_transposed.on(dy.device());
      if (has_products && fans_out)
        kernel(dy, kept_x.get(), swapped(segments), as_blocks(dw), {});
      else if (has_products)
        kernel(kept_x.get(), dy, segments, as_blocks(dw), db);
    }
    const bool is_summed = kept_x.defined() && has_products && !fans_out;
    if (db.defined() && !is_summed && dy.dim(1) > 0)
      for_each_bias(db, segments, fans_out, dy, [&](const Tensor& part, const Tensor& sum) {
        kernels::sum_rows.on(dy.device())(part, sum);
      });
    return std::vector{dx, dw, db.defined() ? db.to(db_like.dtype()) : db};
  };
  return record(op, y, {x, w, bias}, rule);
}

}  // namespace

Tensor grouped_linear(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                      const Tensor& w, const Tensor& bias) {
  return forward("grouped_linear", false, x, segments, rows, w, bias);
}
Variable grouped_linear(const Variable& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                        const Variable& w, const Variable& bias) {
  return forward("grouped_linear", false, x, segments, rows, w, bias);
}

Tensor fan_out_linear(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                      const Tensor& w, const Tensor& bias) {
  return forward("fan_out_linear", true, x, segments, rows, w, bias);
}
Variable fan_out_linear(const Variable& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                        const Variable& w, const Variable& bias) {
  return forward("fan_out_linear", true, x, segments, rows, w, bias);
}

std::vector<RowSegment> row_segments(const std::vector<std::int64_t>& offsets) {
  check(!offsets.empty() && offsets.front() == 0 && std::ranges::is_sorted(offsets),
        "[grouped_linear] offsets must not decrease from 0");
  std::vector<RowSegment> segments;
  for (std::size_t s = 1; s < offsets.size(); ++s)
    segments.push_back({offsets[s - 1], offsets[s - 1], offsets[s] - offsets[s - 1]});
  return segments;
}

}  // namespace rodeo
