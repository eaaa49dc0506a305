#include "ops/row_reads.h"

#include <limits>

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/edge_sum.h"
#include "ops/gather_rows.h"
#include "ops/kernels/graph.h"

namespace rodeo {

RowReads::RowReads(Variable table) : table_(std::move(table)) {
  check(table_.defined(), "[row_reads] table is undefined");
  check_matrix("row_reads", "table", table_.value());
  check(table_.is_leaf() && table_.requires_grad(), "[row_reads] table must be a leaf with a gradient");
  check(table_.dim(0) <= std::numeric_limits<std::int32_t>::max(),
        "[row_reads] table must have at most 2^31 - 1 rows, got ", table_.shape());
}

Variable RowReads::gather(const Tensor& index) {
  const bool recorded = grad_enabled();
  const Variable rows(gather_rows(table_.value(), index), recorded);
  if (recorded) reads_.emplace_back(index, rows);
  return rows;
}

void RowReads::clear() {
  reads_.clear();
  replaced_ = {};
}

RowGradient RowReads::gradient() const {
  if (replaced_.g.defined()) return replaced_;
  std::vector<Tensor> indices, terms;
  for (const auto& [index, rows] : reads_)
    if (rows.grad().defined()) {
      indices.push_back(index);
      terms.push_back(rows.grad());
    }
  if (terms.empty()) return {};
  if (terms.size() == 1) return sum_by_row(indices[0], terms[0], table_.dim(0));
  return sum_by_row(concat_rows(indices), concat_rows(terms), table_.dim(0));
}

RowGradient sum_by_row(const Tensor& index, const Tensor& g, std::int64_t height) {
  check_matrix("sum_by_row", "g", g);
  check(index.defined() && index.dtype() == DType::kI64 && index.shape() == Shape{g.dim(0)} &&
            index.device() == g.device(),
        "[sum_by_row] index must be i64 [", g.dim(0), "] on ", g.device());
  if (index.numel() == 0) return {index, g};
  const Device device = index.device();
  const auto zeros = [&](DType dtype) { return Tensor::zeros(index.shape(), dtype, device); };
  // A graph of one row sorts the indices without an array of `height`.
  const Adjacency sorted = coo_to_csr(zeros(DType::kI64), index, 1, height, {.drop_duplicates = true}).adj;
  if (sorted.num_edges() == index.numel()) return {index, g};
  const Tensor rows = sorted.csr().col.to(DType::kI64);
  const Tensor ends =
      concat_rows({rows, Tensor::full({1}, static_cast<double>(height), DType::kI64, device)});
  const Tensor place = Tensor::empty(index.shape(), DType::kI32, device);  // in `rows`
  kernels::range_of.on(device)(index, ends, place);
  const CooResult terms = coo_to_csr(place, zeros(DType::kI32), rows.numel(), 1, {.edge_ids = true});
  return {rows, edge_sum(terms.adj, g, terms.edge_ids)};
}

}  // namespace rodeo
