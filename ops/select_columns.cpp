#include "ops/select_columns.h"

#include "core/error.h"
#include "ops/kernels/graph.h"
#include "ops/sparse/row_order.h"

namespace rodeo {

RowSelection select_first_columns(const Adjacency& adj, std::int64_t cols) {
  check(cols >= 0 && cols <= adj.cols(), "[select_first_columns] cols must be in [0, ", adj.cols(), "], got ",
        cols);
  const Device device = adj.device();
  const std::int64_t rows = adj.rows();
  const Tensor row_ptr = Tensor::zeros({rows + 1}, DType::kI64, device);
  if (rows > 0) kernels::count_first_columns.on(device)(adj.csr(), cols, row_ptr);
  const std::int64_t edges = row_ptr.slice(rows, rows + 1).to_vector<std::int64_t>()[0];
  const Tensor col = Tensor::empty({edges}, DType::kI32, device),
               ids = Tensor::empty({edges}, DType::kI64, device);
  if (edges > 0) kernels::copy_first_columns.on(device)(adj.csr(), cols, row_ptr, col, ids);
  const Adjacency selected = Adjacency::trusted({rows, cols, row_ptr, col});
  assume_no_locality(selected);
  return {selected, ids};
}

}  // namespace rodeo
