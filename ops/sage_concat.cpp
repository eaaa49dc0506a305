#include "ops/sage_concat.h"

#include "ops/checks.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "ops/index_checks.h"
#include "ops/kernels/dense.h"
#include "ops/kernels/graph.h"
#include "ops/row_cache.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/row_order.h"
#include "ops/sparse/spmm_reduce.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

/// [scale a | the first rows of x]; scale may be undefined.
Tensor join(const Tensor& a, const Tensor& scale, const Tensor& x) {
  const Tensor y = Tensor::empty({a.dim(0), a.dim(1) + x.dim(1)}, a.dtype(), a.device());
  if (y.numel() > 0) kernels::join_columns_scaled.on(y.device())(a, scale, x, y);
  return y;
}

Variable sums(const Adjacency& adj, const Variable& x, const SpmmOptions& options) {
  const Tensor scale = options.reduce == Reduce::kMean ? mean_scale(adj, x.dtype()) : Tensor();
  SpmmOptions plain = options;
  plain.reduce = Reduce::kSum;
  const Tensor y = join(spmm_sum(adj, Tensor(), x.value(), plain), scale, x.value());
  return record("sage_concat", y, {x}, [=, n = x.dim(1)](const Tensor& dy) {
    const Tensor dsum = Tensor::empty({dy.dim(0), n}, dy.dtype(), dy.device());
    if (dsum.numel() > 0) kernels::left_columns_scaled.on(dy.device())(dy, scale, dsum);
    const Tensor dx = spmm_sum(transpose_pattern(adj), Tensor(), dsum, plain);
    if (dsum.numel() > 0) kernels::add_right_columns.on(dy.device())(dy, dx);
    return std::vector{dx};
  });
}

/// The edges of a block from the nodes that its sources are.   [m, nodes of rows.x]
Adjacency from_nodes(const Adjacency& block, const PendingRows& rows) {
  const Tensor col = Tensor::empty({block.num_edges()}, DType::kI32, block.device());
  check_indices("sage_concat", "index", rows.index, rows.x.dim(0));
  if (col.numel() > 0) kernels::take_columns.on(col.device())(block.csr(), rows.index, rows.x.dim(0), col);
  const Adjacency out = Adjacency::trusted({block.rows(), rows.x.dim(0), block.csr().row_ptr, col});
  assume_no_locality(out);
  return out;
}

void check_block(const Adjacency& adj) {
  check(adj.defined() && adj.rows() <= adj.cols(),
        "[sage_concat] adj must be [m, nodes] with m <= nodes: the first nodes are the destinations");
}

/// Whether the reduction is a sum, perhaps scaled. A sum in f16 may overflow where its mean does not.
bool is_scaled_sum(const Adjacency& adj, DType dtype, const SpmmOptions& options) {
  return !spans_ranks(adj) &&
         (options.reduce == Reduce::kSum || (options.reduce == Reduce::kMean && dtype != DType::kF16));
}

}  // namespace

Variable sage_concat(const Adjacency& adj, const Variable& x, const SpmmOptions& options) {
  check_block(adj);
  check_matrix("sage_concat", "x", x.value());
  if (is_scaled_sum(adj, x.dtype(), options)) return sums(adj, x, options);
  return concat_columns(std::vector{spmm(adj, x, options), rows(x, 0, adj.rows())});
}

Variable sage_concat(const Adjacency& adj, const PendingRows& rows, const SpmmOptions& options) {
  check_block(adj);
  check_shape("sage_concat", "index", rows.index, {adj.cols()});
  constexpr std::int64_t kVector = 16;  // bytes; products copy a matrix of other rows to align it
  const bool aligned = rows.x.dim(1) * static_cast<std::int64_t>(size_of(rows.x.dtype())) % kVector == 0;
  if (rows.cache.defined() || !aligned || !is_scaled_sum(adj, rows.x.dtype(), options))
    return sage_concat(adj, Variable(gather_rows(rows.x, rows.cache, rows.index)), options);
  SpmmOptions plain = options;
  plain.reduce = Reduce::kSum;
  const Tensor scale = options.reduce == Reduce::kMean ? mean_scale(adj, rows.x.dtype()) : Tensor();
  return Variable(join(spmm_sum(from_nodes(adj, rows), Tensor(), rows.x, plain), scale,
                       gather_rows(rows.x, rows.index.slice(0, adj.rows()))));
}

}  // namespace rodeo
