// Gradients of the sparse products. They are in one file because each product is the gradient of another:
//   spmm      dX = spmm(A^T, dY),                 dweight = sddmm(A, dY, X)
//   spmv      dx = spmv(A^T, dy),                 dweight = sddmm(A, dy, x)
//   sddmm     db1 = spmm(A, ds, b2),              db2 = spmm(A^T, ds, b1); sums of edges for kAdd
//   edge_sum  dx[e] = dy[row(e)], an sddmm
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/gather_rows.h"
#include "ops/pointwise.h"
#include "ops/scale_rows.h"
#include "ops/sddmm.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/shapes.h"
#include "ops/sparse/sharded_products.h"
#include "ops/sparse/spmm_sum.h"
#include "ops/spmv.h"

namespace rodeo {
namespace {

// Each helper has the form of Tensors and that of Variables.

Tensor permuted(const Tensor& x, const Tensor& edge_ids) {
  return take(x, edge_ids);
}
Variable permuted(const Variable& x, const Tensor& edge_ids) {
  return gather_rows(x, edge_ids);
}

/// With edge_ids: of x[edge_ids].
Tensor sum_of_edges(const Adjacency& adj, const Tensor& x, const Tensor& edge_ids) {
  return edge_sum(adj, x, edge_ids);
}
Variable sum_of_edges(const Adjacency& adj, const Variable& x, const Tensor& edge_ids) {
  return edge_sum(adj, edge_ids.defined() ? permuted(x, edge_ids) : x);
}

/// A^T dY; weight may be undefined.
template <typename T>
T transposed_spmm(const Adjacency& adj, const T& weight, const T& dy, const SpmmOptions& options) {
  if (!weight.defined()) return spmm_sum(transpose_pattern(adj), weight, dy, options);
  const Transposed t = transpose(adj);
  return spmm_sum(t.adj, permuted(weight, t.edge_ids), dy, options);
}

/// A^T dy; weight may be undefined.
template <typename T>
T transposed_spmv(const Adjacency& adj, const T& weight, const T& dy, const SpmvOptions& options) {
  if (!weight.defined()) return spmv(transpose_pattern(adj), dy, options);
  const Transposed t = transpose(adj);
  return spmv(t.adj, permuted(weight, t.edge_ids), dy, options);
}

/// [m, n] as n heads of width one.
template <typename T>
T as_heads_of_one(const T& b) {
  return reshape(b, {b.dim(0), row_size(b), 1});
}

Variable ones(const Shape& shape, const Variable& like) {
  return Variable(Tensor::full(shape, 1, like.dtype(), like.device()));
}

/// weight[e] ds[e, j]
Tensor scaled_edges(const Tensor& ds, const Tensor& weight) {
  return scale_rows(ds, weight);
}
Variable scaled_edges(const Variable& ds, const Variable& weight) {
  return mul(ds, matmul(reshape(weight, {ds.dim(0), 1}), ones({1, ds.dim(1)}, ds)));
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
Variable row_dots(const Variable& a, const Variable& b) {
  return reshape(matmul(mul(a, b), ones({a.dim(1), 1}, a)), {a.dim(0)});
}

/// The gradient of b1, from the edges of each row of adj. With edge_ids, adj is the transpose and the result
/// is the gradient of b2.
template <typename T>
T operand_gradient(const Adjacency& adj, const T& ds, const Tensor& edge_ids, const T& other, SddmmOp op) {
  const Shape shape = with_rows(other, adj.rows());
  if (op == SddmmOp::kAdd) return reshape(sum_of_edges(adj, edge_matrix(ds), edge_ids), shape);
  const T s = op == SddmmOp::kMul ? edge_matrix(ds) : ds;
  const T weight = edge_ids.defined() ? permuted(s, edge_ids) : s;
  return reshape(spmm_sum(adj, weight, op == SddmmOp::kMul ? as_heads_of_one(other) : other, {}), shape);
}

/// What the gradient of a product keeps: each factor where the other one learns.
std::pair<SavedTensor, SavedTensor> keep_factors(const Variable& a, const Variable& b) {
  return {b.requires_grad() ? a.saved() : SavedTensor(), a.requires_grad() ? b.saved() : SavedTensor()};
}

}  // namespace

Variable spmm_sum(const Adjacency& adj, const Variable& weight, const Variable& x,
                  const SpmmOptions& options) {
  if (!weight.defined())
    return record("spmm", spmm_sum(adj, Tensor(), x.value(), options), {x}, [=](const auto& dy) {
      return std::vector{transposed_spmm(adj, std::decay_t<decltype(dy)>(), dy, options)};
    });
  const auto [kept_weight, kept_x] = keep_factors(weight, x);
  return record("spmm", spmm_sum(adj, weight.value(), x.value(), options), {weight, x},
                [=, kept_weight = kept_weight, kept_x = kept_x](const auto& dy) {
                  std::decay_t<decltype(dy)> dweight, dx;
                  if (kept_x.defined())
                    dweight = sddmm(adj, dy, kept_x.like(dy), SddmmOp::kDot, {}, options.sddmm);
                  if (kept_weight.defined()) dx = transposed_spmm(adj, kept_weight.like(dy), dy, options);
                  return std::vector{dweight, dx};
                });
}

Variable spmv(const Adjacency& adj, const Variable& x, const SpmvOptions& options) {
  return record("spmv", spmv(adj, x.value(), options), {x}, [=](const auto& dy) {
    return std::vector{transposed_spmv(adj, std::decay_t<decltype(dy)>(), dy, options)};
  });
}

Variable spmv(const Adjacency& adj, const Variable& weight, const Variable& x, const SpmvOptions& options) {
  const auto [kept_weight, kept_x] = keep_factors(weight, x);
  return record(
      "spmv", spmv(adj, weight.value(), x.value(), options), {weight, x},
      [=, kept_weight = kept_weight, kept_x = kept_x](const auto& dy) {
        std::decay_t<decltype(dy)> dweight, dx;
        if (kept_x.defined())
          dweight = sddmm(adj, reshape(dy, {adj.rows(), 1}), reshape(kept_x.like(dy), {adj.cols(), 1}));
        if (kept_weight.defined()) dx = transposed_spmv(adj, kept_weight.like(dy), dy, options);
        return std::vector{dweight, dx};
      });
}

Variable sddmm(const Adjacency& graph, const Variable& b1, const Variable& own_b2, SddmmOp op,
               const Variable& weight, const SddmmOptions& options) {
  const Adjacency adj = rank_rows(graph);
  const Variable b2 = neighbour_rows(graph, own_b2);
  const bool weighted = weight.defined(), b1_learns = b1.requires_grad(), b2_learns = b2.requires_grad(),
             weight_learns = weighted && weight.requires_grad();
  const SavedTensor kept_weight = weighted ? weight.saved() : SavedTensor(),
                    kept_b1 = b2_learns || weight_learns ? b1.saved() : SavedTensor(),
                    kept_b2 = b1_learns || weight_learns ? b2.saved() : SavedTensor();
  const auto rule = [=](const auto& ds) {
    using T = std::decay_t<decltype(ds)>;
    std::vector<T> grads(weighted ? 3 : 2);
    const T s = weighted ? reshape(scaled_edges(edge_matrix(ds), kept_weight.like(ds)), ds.shape()) : ds;
    if (b1_learns) grads[0] = operand_gradient<T>(adj, s, {}, kept_b2.like(ds), op);
    if (b2_learns) {
      const Transposed t = transpose(adj);
      grads[1] = operand_gradient<T>(t.adj, s, t.edge_ids, kept_b1.like(ds), op);
    }
    if (weight_learns)
      grads[2] = row_dots(edge_matrix(sddmm(adj, kept_b1.like(ds), kept_b2.like(ds), op, {}, options)),
                          edge_matrix(ds));
    return grads;
  };
  if (!weight.defined())
    return record("sddmm", sddmm(adj, b1.value(), b2.value(), op, {}, options), {b1, b2}, rule);
  return record("sddmm", sddmm(adj, b1.value(), b2.value(), op, weight.value(), options), {b1, b2, weight},
                rule);
}

Variable edge_sum(const Adjacency& adj, const Variable& x) {
  if (const ShardedRows* shard = adj.shard()) return edge_sum(shard->rows, x);
  return record("edge_sum", edge_sum(adj, x.value()), {x}, [adj, shape = x.shape()](const auto& dy) {
    // dx[e] = dy[row(e)] + 0
    const std::int64_t k = shape.rank() == 2 ? shape[1] : 1;
    const std::decay_t<decltype(dy)> zero(Tensor::zeros({adj.cols(), k}, dy.dtype(), dy.device()));
    return std::vector{reshape(sddmm(adj, reshape(dy, {adj.rows(), k}), zero, SddmmOp::kAdd), shape)};
  });
}

}  // namespace rodeo
