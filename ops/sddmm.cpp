#include "ops/sddmm.h"

#include <ostream>

#include "core/profile.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/dense.h"
#include "ops/edge_sum.h"
#include "ops/gcn_norm.h"
#include "ops/kernels/sparse.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

void check_operand(std::string_view what, const Tensor& b) {
  check(b.defined(), "[sddmm] ", what, " is undefined");
  check(b.rank() == 2 || b.rank() == 3, "[sddmm] ", what, " must be [m, k] or [m, heads, k], got ",
        b.shape());
  check(is_float(b.dtype()), "[sddmm] ", what, " must be floating point, got ", b.dtype());
}

/// The shape of b with `first` in place of its rows.
Shape with_rows(const Tensor& b, std::int64_t first) {
  return b.rank() == 2 ? Shape{first, b.dim(1)} : Shape{first, b.dim(1), b.dim(2)};
}

std::int64_t row_size(const Tensor& b) {
  return b.rank() == 2 ? b.dim(1) : b.dim(1) * b.dim(2);
}

Tensor as_matrix(const Tensor& b) {
  return b.reshape({b.dim(0), row_size(b)});
}

Tensor with_heads(const Tensor& b) {
  return b.rank() == 3 ? b : b.reshape({b.dim(0), 1, b.dim(1)});
}

/// Rows [m, n] as n heads of width one.
Tensor as_heads_of_one(const Tensor& b) {
  return b.reshape({b.dim(0), row_size(b), 1});
}

/// ds with a row of values for each edge: [edges, everything else].
Tensor edge_matrix(const Tensor& ds) {
  return ds.rank() == 1 ? ds.reshape({ds.dim(0), 1}) : as_matrix(ds);
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

/// B's gradient at the columns of adj's transpose or, with no edge_ids, at the rows of adj.
Tensor operand_gradient(const Adjacency& adj, const Tensor& ds, const Tensor& edge_ids, const Tensor& other,
                        SddmmOp op) {
  const Shape shape = with_rows(other, adj.rows());
  if (op == SddmmOp::kAdd) return edge_sum(adj, edge_matrix(ds), edge_ids).reshape(shape);
  const Tensor s = op == SddmmOp::kMul ? edge_matrix(ds) : ds;
  const Tensor weight = edge_ids.defined() ? take(s, edge_ids) : s;
  return spmm(adj, weight, op == SddmmOp::kMul ? as_heads_of_one(other) : other).reshape(shape);
}

}  // namespace

std::string_view name(SddmmOp op) {
  return op == SddmmOp::kDot ? "dot" : op == SddmmOp::kAdd ? "add" : "mul";
}

std::ostream& operator<<(std::ostream& out, SddmmOp op) {
  return out << name(op);
}

Tensor sddmm(const Adjacency& adj, const Tensor& b1, const Tensor& b2, SddmmOp op, const Tensor& weight) {
  check_operand("b1", b1);
  check_alike("sddmm", "b1", b1, "b2", b2);
  check_on_device_of("sddmm", adj, "b1", b1);
  check_shape("sddmm", "b1", b1, with_rows(b1, adj.rows()));
  check_shape("sddmm", "b2", b2, with_rows(b1, adj.cols()));
  check(row_size(b1) <= std::int64_t{1} << 28, "[sddmm] a row of b1 must have at most 2^28 elements, got ",
        b1.shape());
  if (weight.defined()) {
    check_alike("sddmm", "b1", b1, "weight", weight);
    check_shape("sddmm", "weight", weight, {adj.num_edges()});
  }
  const std::int64_t edges = adj.num_edges(), k = b1.dim(b1.rank() - 1);
  const bool dot = op == SddmmOp::kDot;
  const Shape shape = !dot ? with_rows(b1, edges) : b1.rank() == 2 ? Shape{edges} : Shape{edges, b1.dim(1)};
  const Tensor out = Tensor::empty(shape, b1.dtype(), b1.device());
  if (out.numel() == 0) return out;
  const ProfileScope scope(Part::kSpmm);
  if (dot && k == 0) {
    out.fill(0);
  } else if (dot && k > 1) {
    kernels::sddmm_dot.on(out.device())(adj, weight, with_heads(b1), with_heads(b2), edge_matrix(out));
  } else {  // a dot of one element is a product
    kernels::sddmm_elementwise.on(out.device())(adj, weight, as_matrix(b1), as_matrix(b2),
                                                dot ? SddmmOp::kMul : op, edge_matrix(out));
  }
  return out;
}

Variable sddmm(const Adjacency& adj, const Variable& b1, const Variable& b2, SddmmOp op,
               const Variable& weight) {
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
      grads[2] = row_dots(edge_matrix(sddmm(adj, b1.value(), b2.value(), op)), edge_matrix(ds));
    return grads;
  };
  if (!weight.defined()) return record("sddmm", sddmm(adj, b1.value(), b2.value(), op), {b1, b2}, rule);
  return record("sddmm", sddmm(adj, b1.value(), b2.value(), op, weight.value()), {b1, b2, weight}, rule);
}

}  // namespace rodeo
