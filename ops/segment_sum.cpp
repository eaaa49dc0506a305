#include "ops/segment_sum.h"

#include <limits>

#include "ops/checks.h"
#include "ops/kernels/graph.h"
#include "ops/kernels/sparse.h"

namespace rodeo {
namespace {

std::int64_t id_at(const Tensor& ids, std::int64_t at) {
  return ids.slice(at, at + 1).to(DType::kI64).to_vector<std::int64_t>()[0];
}

void check_ids(std::string_view op, std::string_view what, const Tensor& ids, std::int64_t limit) {
  const std::int64_t at = kernels::first_out_of_range.on(ids.device())(ids, limit);
  if (at >= 0) fail("[", op, "] ", what, "[", at, "] is ", id_at(ids, at), ", outside [0, ", limit, ")");
}

void check_row_form(std::string_view op, const Tensor& row, std::int64_t rows) {
  constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();
  check(rows >= 0 && rows <= kMaxRows, "[", op, "] rows must be in [0, 2^31 - 1], got ", rows);
  check(row.defined() && row.rank() == 1 && (row.dtype() == DType::kI64 || row.dtype() == DType::kI32), "[",
        op, "] row must be i32 or i64 [edges]");
}

void check_row_values(std::string_view op, const Tensor& row, std::int64_t rows) {
  if (row.numel() == 0) return;
  const std::int64_t at = kernels::first_descent.on(row.device())(row);
  if (at >= 0)
    fail("[", op, "] row must be sorted: row[", at, "] = ", id_at(row, at), " follows ", id_at(row, at - 1));
  // The list is sorted, so its ends decide; the pass over all ids only finds the position for the message.
  if (id_at(row, 0) < 0 || id_at(row, row.numel() - 1) >= rows) check_ids(op, "row", row, rows);
}

void check_device(std::string_view op, const Tensor& row, std::string_view what, const Tensor& x) {
  check(x.device() == row.device(), "[", op, "] ", what, " must be on ", row.device(), " as row is, got ",
        x.device());
}

Tensor reduce(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
              std::int64_t rows) {
  const Tensor out = Tensor::empty({rows}, x.dtype(), x.device());
  if (row.numel() == 0)
    out.fill(0);
  else
    kernels::segment_sum.on(out.device())(row, col, weight, x, out);
  return out;
}

Tensor run_coo(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
               std::int64_t rows) {
  check_vector("coo_spmv", "x", x);
  check_row_form("coo_spmv", row, rows);
  check_alike("coo_spmv", "row", row, "col", col);
  check_shape("coo_spmv", "col", col, row.shape());
  check_device("coo_spmv", row, "x", x);
  if (weight.defined()) {
    check_alike("coo_spmv", "x", x, "weight", weight);
    check_shape("coo_spmv", "weight", weight, row.shape());
  }
  check_row_values("coo_spmv", row, rows);
  if (col.numel() > 0) check_ids("coo_spmv", "col", col, x.numel());
  return reduce(row, col, weight, x, rows);
}

}  // namespace

Tensor segment_sum(const Tensor& row, const Tensor& value, std::int64_t rows) {
  check_vector("segment_sum", "value", value);
  check_row_form("segment_sum", row, rows);
  check_device("segment_sum", row, "value", value);
  check_shape("segment_sum", "value", value, row.shape());
  check_row_values("segment_sum", row, rows);
  return reduce(row, {}, {}, value, rows);
}

bool is_sorted(const Tensor& ids) {
  check_row_form("is_sorted", ids, 0);
  return ids.numel() == 0 || kernels::first_descent.on(ids.device())(ids) < 0;
}

Tensor coo_spmv(const Tensor& row, const Tensor& col, const Tensor& weight, const Tensor& x,
                std::int64_t rows) {
  check(weight.defined(), "[coo_spmv] weight is undefined: leave it out for an unweighted sum");
  return run_coo(row, col, weight, x, rows);
}

Tensor coo_spmv(const Tensor& row, const Tensor& col, const Tensor& x, std::int64_t rows) {
  return run_coo(row, col, {}, x, rows);
}

}  // namespace rodeo
