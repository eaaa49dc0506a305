// Gradients of the sparse products. They are in one file because each product is the gradient of another:
//   spmm      dX = spmm(A^T, dY),                 dweight = sddmm(A, dY, X)
//   spmv      dx = spmv(A^T, dy),                 dweight = sddmm(A, dy, x)
//   sddmm     db1 = spmm(A, ds, b2),              db2 = spmm(A^T, ds, b1); sums of edges for kAdd
//   edge_sum  dx[e] = dy[row(e)], an sddmm
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/scale_rows.h"
#include "ops/sddmm.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/sharded_products.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/spmv.h"

namespace rodeo {
namespace {

/// A^T dY; weight may be undefined.
Tensor transposed_spmm(const Adjacency& adj, const Tensor& weight, const Tensor& dy,
                       const SpmmOptions& options) {
  if (!weight.defined()) return spmm_sum(transpose_pattern(adj), weight, dy, options);
  const Transposed t = transpose(adj);
  return spmm_sum(t.adj, take(weight, t.edge_ids), dy, options);
}

/// A^T dy; weight may be undefined.
Tensor transposed_spmv(const Adjacency& adj, const Tensor& weight, const Tensor& dy,
                       const SpmvOptions& options) {
  if (!weight.defined()) return spmv(transpose_pattern(adj), dy, options);
  const Transposed t = transpose(adj);
  return spmv(t.adj, take(weight, t.edge_ids), dy, options);
}

/// [m, n] as n heads of width one.
Tensor as_heads_of_one(const Tensor& b) {
  return b.reshape({b.dim(0), row_size(b), 1});
}

/// [edges]:  <a[e], b[e]>
Tensor row_dots(const Tensor& a, const Tensor& b) {
  const std::int64_t edges = a.dim(0), n = a.dim(1);
  if (edges == 0 || n == 0) return Tensor::zeros({edges}, a.dtype(), a.device());
  const Tensor products = scale_rows(a.reshape({edges * n, 1}), b.reshape({edges * n}));
  if (n == 1) return products.reshape({edges});
  return matmul(products.reshape({edges, n}), Tensor::full({n, 1}, 1, a.dtype(), a.device()))
      .reshape({edges});
}

/// The gradient of b1, from the edges of each row of adj. With edge_ids, adj is the transpose and the result
/// is the gradient of b2.
Tensor operand_gradient(const Adjacency& adj, const Tensor& ds, const Tensor& edge_ids, const Tensor& other,
                        SddmmOp op) {
  const Shape shape = with_rows(other, adj.rows());
  if (op == SddmmOp::kAdd) return edge_sum(adj, edge_matrix(ds), edge_ids).reshape(shape);
  const Tensor s = op == SddmmOp::kMul ? edge_matrix(ds) : ds;
  const Tensor weight = edge_ids.defined() ? take(s, edge_ids) : s;
  return spmm_sum(adj, weight, op == SddmmOp::kMul ? as_heads_of_one(other) : other, {}).reshape(shape);
}

}  // namespace

Variable spmm_sum(const Adjacency& adj, const Variable& weight, const Variable& x,
                  const SpmmOptions& options) {
  if (!weight.defined())
    return record("spmm", spmm_sum(adj, Tensor(), x.value(), options), {x},
                  [=](const Tensor& dy) { return std::vector{transposed_spmm(adj, {}, dy, options)}; });
  return record("spmm", spmm_sum(adj, weight.value(), x.value(), options), {weight, x},
                [=](const Tensor& dy) {
                  Tensor dweight, dx;
                  if (weight.requires_grad())
                    dweight = sddmm(adj, dy, x.value(), SddmmOp::kDot, {}, options.sddmm);
                  if (x.requires_grad()) dx = transposed_spmm(adj, weight.value(), dy, options);
                  return std::vector{dweight, dx};
                });
}

Variable spmv(const Adjacency& adj, const Variable& x, const SpmvOptions& options) {
  return record("spmv", spmv(adj, x.value(), options), {x},
                [=](const Tensor& dy) { return std::vector{transposed_spmv(adj, {}, dy, options)}; });
}

Variable spmv(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmvOptions& options) {
  return record("spmv", spmv(adj, weight.value(), x.value(), options), {weight, x}, [=](const Tensor& dy) {
    Tensor dweight, dx;
    if (weight.requires_grad())
      dweight = sddmm(adj, dy.reshape({adj.rows(), 1}), x.value().reshape({adj.cols(), 1}));
    if (x.requires_grad()) dx = transposed_spmv(adj, weight.value(), dy, options);
    return std::vector{dweight, dx};
  });
}

Variable sddmm(const Adjacency& graph, const Variable& b1, const Variable& own_b2, SddmmOp op,
               const Variable& weight, const SddmmOptions& options) {
  const Adjacency adj = rank_rows(graph);
  const Variable b2 = neighbour_rows(graph, own_b2);
  const auto rule = [=](const Tensor& ds) {
    const bool weighted = weight.defined();
    std::vector<Tensor> grads(weighted ? 3 : 2);
    const Tensor s = weighted ? scale_rows(edge_matrix(ds), weight.value()).reshape(ds.shape()) : ds;
    if (b1.requires_grad()) grads[0] = operand_gradient(adj, s, {}, b2.value(), op);
    if (b2.requires_grad()) {
      const Transposed t = transpose(adj);
      grads[1] = operand_gradient(t.adj, s, t.edge_ids, b1.value(), op);
    }
    if (weighted && weight.requires_grad())
      grads[2] = row_dots(edge_matrix(sddmm(adj, b1.value(), b2.value(), op, {}, options)), edge_matrix(ds));
    return grads;
  };
  if (!weight.defined())
    return record("sddmm", sddmm(adj, b1.value(), b2.value(), op, {}, options), {b1, b2}, rule);
  return record("sddmm", sddmm(adj, b1.value(), b2.value(), op, weight.value(), options), {b1, b2, weight},
                rule);
}

Variable edge_sum(const Adjacency& adj, const Variable& x) {
  if (const ShardedRows* shard = adj.shard()) return edge_sum(shard->rows, x);
  return record("edge_sum", edge_sum(adj, x.value()), {x}, [=](const Tensor& dy) {
    // dx[e] = dy[row(e)] + 0
    const std::int64_t k = x.shape().rank() == 2 ? x.dim(1) : 1;
    const Tensor zero = Tensor::zeros({adj.cols(), k}, dy.dtype(), dy.device());
    return std::vector{sddmm(adj, dy.reshape({adj.rows(), k}), zero, SddmmOp::kAdd).reshape(x.shape())};
  });
}

}  // namespace rodeo
