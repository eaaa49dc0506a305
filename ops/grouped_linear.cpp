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
std::vector<kernels::GroupedRows> plan_rows(const std::vector<RowSegment>& segments, const Tensor& y) {
  std::vector<kernels::GroupedRows> plan;
  std::vector<std::pair<std::int64_t, std::int64_t>> written;  // disjoint ranges
  bool mixed = false;  // some range was written in part: all of y begins with zeros
  for (const RowSegment& s : segments) {
    const std::int64_t begin = s.y_begin, end = begin + s.rows;
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

/// w [segments, blocks, k, n]; `transposed`: [segments, blocks, n, k].
Tensor product(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows, const Tensor& w,
               bool transposed) {
  const std::int64_t columns = w.dim(1) * w.dim(transposed ? 2 : 3);
  const Tensor y = Tensor::empty({rows, columns}, x.dtype(), x.device());
  if (y.numel() == 0) return y;
  if (x.numel() == 0) {
    y.fill(0);
    return y;
  }
  kernels::grouped_matmul.on(y.device())(x, w, transposed, plan_rows(segments, y), y);
  return y;
}

void check_range(std::size_t s, std::string_view what, std::int64_t begin, std::int64_t count,
                 std::int64_t limit) {
  check(begin >= 0 && count >= 0 && begin + count <= limit, "[grouped_linear] segment ", s, " has the rows [",
        begin, ", ", begin + count, ") of ", what, ", which has ", limit);
}

void check_operands(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                    const Tensor& w, const Tensor& bias) {
  check_matrix("grouped_linear", "x", x);
  check_beside("grouped_linear", "x", x, "w", w);
  check(rows >= 0, "[grouped_linear] rows must be at least 0, got ", rows);
  const auto count = static_cast<std::int64_t>(segments.size());
  check(w.rank() == 3 || w.rank() == 4,
        "[grouped_linear] w must be [segments, in, out] or [segments, blocks, ",
        "in / blocks, out / blocks], got ", w.shape());
  const Tensor blocks = as_blocks(w);
  check(w.dim(0) == count && blocks.dim(1) * blocks.dim(2) == x.dim(1), "[grouped_linear] w must be for ",
        count, " segments and ", x.dim(1), " columns of x, got ", w.shape());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    check_range(s, "x", segments[s].x_begin, segments[s].rows, x.dim(0));
    check_range(s, "y", segments[s].y_begin, segments[s].rows, rows);
  }
  if (!bias.defined()) return;
  check_beside("grouped_linear", "x", x, "bias", bias);
  check_shape("grouped_linear", "bias", bias, {count, blocks.dim(1) * blocks.dim(3)});
}

Tensor slice_of(const Tensor& x, std::size_t s) {
  return x.slice(static_cast<std::int64_t>(s), static_cast<std::int64_t>(s) + 1).reshape({x.dim(1)});
}

Tensor rows_of(const Tensor& y, const RowSegment& s) {
  return y.slice(s.y_begin, s.y_begin + s.rows);
}

/// db of each segment.
Tensor bias_gradient(const Tensor& dy, const std::vector<RowSegment>& segments, DType dtype) {
  const Tensor db = Tensor::empty({static_cast<std::int64_t>(segments.size()), dy.dim(1)},
                                  sum_dtype(dy.dtype()), dy.device());
  for (std::size_t s = 0; s < segments.size() && dy.dim(1) > 0; ++s)
    kernels::sum_rows.on(dy.device())(rows_of(dy, segments[s]), slice_of(db, s));
  return db.to(dtype);
}

}  // namespace

Tensor grouped_linear(const Tensor& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                      const Tensor& w, const Tensor& bias) {
  check_operands(x, segments, rows, w, bias);
  const Tensor y = product(x, segments, rows, as_blocks(w.to(x.dtype())), false);
  if (!bias.defined() || y.numel() == 0) return y;
  const Tensor b = bias.to(sum_dtype(x.dtype()));
  for (std::size_t s = 0; s < segments.size(); ++s)
    if (const Tensor part = rows_of(y, segments[s]); part.numel() > 0)
      kernels::add_bias.on(y.device())(part, slice_of(b, s), part);
  return y;
}

Variable grouped_linear(const Variable& x, const std::vector<RowSegment>& segments, std::int64_t rows,
                        const Variable& w, const Variable& bias) {
  const Tensor y =
      grouped_linear(x.value(), segments, rows, w.value(), bias.defined() ? bias.value() : Tensor());
  const SavedTensor kept_x = w.requires_grad() ? x.saved() : SavedTensor(),
                    kept_w = x.requires_grad() ? w.saved() : SavedTensor();
  const auto rule = [=, x_rows = x.dim(0), w_shape = w.shape(), w_dtype = w.dtype(),
                     db_dtype = bias.defined() && bias.requires_grad() ? std::optional(bias.dtype())
                                                                       : std::nullopt](const Tensor& dy) {
    Tensor dx, dw;
    if (kept_w.defined()) {
      std::vector<RowSegment> swapped = segments;
      for (RowSegment& s : swapped) std::swap(s.x_begin, s.y_begin);
      dx = product(dy, swapped, x_rows, as_blocks(kept_w.get().to(dy.dtype())), true);
    }
    if (kept_x.defined()) {
      dw = Tensor::empty(w_shape, w_dtype, dy.device());
      if (dy.numel() == 0 || x_rows == 0)
        dw.fill(0);
      else if (dw.numel() > 0)
        kernels::grouped_matmul_transposed.on(dy.device())(kept_x.get(), dy, segments, as_blocks(dw));
    }
    return std::vector{dx, dw, db_dtype ? bias_gradient(dy, segments, *db_dtype) : Tensor()};
  };
  return record("grouped_linear", y, {x, w, bias}, rule);
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
