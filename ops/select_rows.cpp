#include "ops/select_rows.h"

#include <vector>

#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/kernels/graph.h"
#include "ops/sparse/rank_graph.h"

namespace rodeo {

RowSelection select_rows(const Adjacency& adj, const Tensor& rows, bool edge_ids) {
  check(rows.defined() && rows.rank() == 1 && rows.dtype() == DType::kI64,
        "[select_rows] rows must be i64 [k]");
  check_on_device_of("select_rows", adj, "rows", rows);
  const Csr& csr = rank_rows(adj).csr();
  const auto from = csr.row_ptr.to_vector<std::int64_t>();
  std::vector<std::int64_t> row_ptr{0};
  for (const std::int64_t row : rows.to_vector<std::int64_t>()) {
    check(row >= 0 && row < adj.rows(), "[select_rows] rows[", row_ptr.size() - 1, "] = ", row,
          " is outside [0, ", adj.rows(), ")");
    row_ptr.push_back(row_ptr.back() + from[row + 1] - from[row]);
  }
  const Device device = adj.device();
  const Tensor ptr = Tensor::from(row_ptr, device);
  const Tensor col = Tensor::empty({row_ptr.back()}, DType::kI32, device);
  const Tensor ids = edge_ids ? Tensor::empty({row_ptr.back()}, DType::kI64, device) : Tensor();
  if (row_ptr.back() > 0) kernels::copy_rows.on(device)(csr, rows, ptr, col, ids);
  return {with_rows_of(adj, {rows.numel(), csr.cols, ptr, col}), ids};
}

GcnGraph select_rows(const GcnGraph& graph, const Tensor& rows) {
  const bool weighted = graph.weight.defined();
  const RowSelection selection = select_rows(graph.adj, rows, weighted);
  return {selection.adj, weighted ? take(graph.weight, selection.edge_ids) : Tensor(),
          take(graph.scale, rows)};
}

}  // namespace rodeo
