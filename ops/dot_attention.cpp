#include "ops/dot_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/gather_rows.h"
#include "ops/kernels/attention.h"
#include "ops/scale_rows.h"
#include "ops/sddmm.h"
#include "ops/sparse/fused_form.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/sharded_products.h"
#include "ops/spmm.h"

namespace rodeo {
namespace {

constexpr std::string_view kOp = "dot_attention";

void check_rows(const char* name, const Tensor& x, std::int64_t rows, std::int64_t heads) {
  check(x.rank() == 3 && x.dim(0) == rows && x.dim(1) == heads, "[", kOp, "] ", name, " must be [", rows,
        ", ", heads, ", ", name == std::string_view("v") ? "m" : "k", "], got ", x.shape());
  check(x.dim(1) * x.dim(2) <= std::int64_t{1} << 18, "[", kOp, "] a row of ", name,
        " must have at most 2^18 elements, got ", x.shape());
}

void check_operands(const Adjacency& adj, const DotAttentionOperands& in, const AttentionOptions& options) {
  check(in.q.defined() && is_float(in.q.dtype()), "[", kOp, "] q must be floating point");
  check(in.q.rank() == 3, "[", kOp, "] q must be [", adj.rows(), ", heads, k], got ", in.q.shape());
  check_on_device_of(kOp, adj, "q", in.q);
  for (const auto& [name, x] : {std::pair("key", in.key), {"v", in.v}}) check_alike(kOp, "q", in.q, name, x);
  const std::int64_t heads = in.q.dim(1), k = in.q.dim(2);
  check_rows("q", in.q, adj.rows(), heads);
  check(k >= 1, "[", kOp, "] q must have k >= 1, got ", in.q.shape());
  check_shape(kOp, "key", in.key, {adj.cols(), heads, k});
  check_rows("v", in.v, adj.cols(), heads);
  if (in.bias.defined()) {
    check_alike(kOp, "q", in.q, "bias", in.bias);
    check_shape(kOp, "bias", in.bias, {adj.num_edges(), heads});
  }
  if (in.edge.defined()) {
    check_alike(kOp, "q", in.q, "edge", in.edge);
    check_shape(kOp, "edge", in.edge, {adj.num_edges(), heads, k});
    check(in.v.dim(2) == k, "[", kOp, "] edge is added to key and v: v must be [", adj.cols(), ", ", heads,
          ", ", k, "], got ", in.v.shape());
  }
  check(!options.scale || std::isfinite(*options.scale), "[", kOp, "] scale must be finite, got ",
        options.scale.value_or(0));
  check_attention_dropout(kOp, options);
}

Shape output_shape(const Adjacency& adj, const DotAttentionOperands& in) {
  return {adj.rows(), in.q.dim(1), in.v.dim(2)};
}

double scale_of(const Tensor& q, const AttentionOptions& options) {
  return options.scale.value_or(1 / std::sqrt(static_cast<double>(q.dim(2))));
}

kernels::DotAttentionInputs kernel_inputs(const DotAttentionOperands& in) {
  return {in.q, in.key, in.v, in.bias, in.edge};
}

AttentionState forward(const Adjacency& adj, const DotAttentionOperands& in, const AttentionOptions& options,
                       bool keep_lse) {
  const Shape shape = output_shape(adj, in);
  const bool empty = shape.numel() == 0 || adj.num_edges() == 0;
  const auto [y, lse] = attention_outputs(in.q, shape, empty, keep_lse);
  if (!empty)
    kernels::dot_attention.on(y.device())(adj, kernel_inputs(in), scale_of(in.q, options), options, y, lse);
  return {y, lse};
}

DotAttentionOperands gradients(const Adjacency& adj, const DotAttentionOperands& in,
                               const AttentionState& state, const Tensor& dy,
                               const AttentionOptions& options) {
  const bool empty = dy.numel() == 0 || adj.num_edges() == 0;
  const auto memory = [&](const Tensor& of) { return gradient_memory(of, empty); };
  const DotAttentionOperands out{memory(in.q), memory(in.key), memory(in.v), memory(in.bias),
                                 memory(in.edge)};
  if (!empty)
    kernels::dot_attention_backward.on(dy.device())(adj, kernel_inputs(in), scale_of(in.q, options), options,
                                                    state.y, state.lse, dy,
                                                    {out.q, out.key, out.v, out.bias, out.edge});
  return out;
}

/// The graph whose column e is edge e of adj, and the column of each edge, i64 [edges].
struct EdgeColumns {
  Adjacency adj;
  Tensor col;
};

EdgeColumns edge_columns(const Adjacency& adj) {
  return adj.cached<EdgeColumns>([&] {
    const Csr& csr = adj.csr();
    const std::int64_t edges = adj.num_edges();
    std::vector<std::int32_t> ids(static_cast<std::size_t>(edges));
    std::iota(ids.begin(), ids.end(), 0);
    return EdgeColumns{Adjacency::trusted({adj.rows(), edges, csr.row_ptr, Tensor::from(ids, adj.device())}),
                       csr.col.to(DType::kI64)};
  });
}

Variable composed(const Adjacency& adj, const Variable& q, const Variable& key, const Variable& v,
                  const Variable& bias, const Variable& edge, const AttentionOptions& options) {
  const double scale = scale_of(q.value(), options);
  const auto matrix = [](const Variable& x) { return reshape(x, {x.dim(0), x.dim(1) * x.dim(2)}); };
  const Tensor factor = Tensor::full({q.dim(0)}, scale, sum_dtype(q.dtype()), q.device());
  const Variable scaled = reshape(scale_rows(matrix(q), factor), q.shape());
  // A term of each edge makes each edge a column of its own.
  const EdgeColumns by_edge = edge.defined() ? edge_columns(adj) : EdgeColumns{adj, {}};
  const auto joined = [&](const Variable& x) {
    return edge.defined() ? add(reshape(gather_rows(matrix(x), by_edge.col), edge.shape()), edge) : x;
  };
  Variable score = sddmm(by_edge.adj, scaled, joined(key), SddmmOp::kDot, {}, options.sddmm);
  if (bias.defined()) score = add(score, bias);
  return spmm(by_edge.adj, attention_weights(adj, score, options), joined(v),
              SpmmOptions{.algorithm = options.spmm, .sddmm = options.sddmm});
}

DotAttentionOperands values(const Variable& q, const Variable& key, const Variable& v, const Variable& bias,
                            const Variable& edge) {
  return {value_or_undefined(q), value_or_undefined(key), value_or_undefined(v), value_or_undefined(bias),
          value_or_undefined(edge)};
}

}  // namespace

Tensor dot_attention(const Adjacency& adj, const Tensor& q, const Tensor& key, const Tensor& v,
                     const Tensor& bias, const Tensor& edge, const AttentionOptions& options) {
  const auto constant = [](const Tensor& x) { return x.defined() ? Variable(x) : Variable(); };
  return dot_attention(adj, constant(q), constant(key), constant(v), constant(bias), constant(edge), options)
      .value();
}

Variable dot_attention(const Adjacency& graph, const Variable& q, const Variable& own_key,
                       const Variable& own_v, const Variable& bias, const Variable& edge,
                       const AttentionOptions& wanted) {
  const Adjacency& adj = rank_rows(graph);
  const Variable key = neighbour_rows(graph, own_key), v = neighbour_rows(graph, own_v);
  AttentionOptions options = wanted;
  options.key = key_of_rank(graph, wanted.key);
  const DotAttentionOperands in = values(q, key, v, bias, edge);
  check_operands(adj, in, options);
  if (!takes_fused_form(kOp, in.q, std::max(q.dim(2), v.dim(2)), options.form))
    return composed(adj, q, key, v, bias, edge, options);
  const bool recorded = grad_enabled() && (q.requires_grad() || key.requires_grad() || v.requires_grad() ||
                                           needs_gradient(bias) || needs_gradient(edge));
  const AttentionState state = forward(adj, in, options, recorded);
  std::vector<Variable> inputs{q, key, v};
  for (const Variable* x : {&bias, &edge})
    if (x->defined()) inputs.push_back(*x);
  return record("dot_attention", state.y, inputs, [=](const Tensor& dy) {
    const DotAttentionOperands d = gradients(adj, in, state, dy, options);
    std::vector<Tensor> out{d.q, d.key, d.v};
    for (const Tensor* x : {&d.bias, &d.edge})
      if (x->defined()) out.push_back(*x);
    return out;
  });
}

AttentionState dot_attention_forward(const Adjacency& adj, const DotAttentionOperands& in,
                                     const AttentionOptions& options) {
  check_operands(adj, in, options);
  takes_fused_form(kOp, in.q, std::max(in.q.dim(2), in.v.dim(2)), AttentionForm::kFused);
  return forward(adj, in, options, true);
}

DotAttentionOperands dot_attention_gradients(const Adjacency& adj, const DotAttentionOperands& in,
                                             const AttentionState& state, const Tensor& dy,
                                             const AttentionOptions& options) {
  check_operands(adj, in, options);
  check_attention_state(kOp, state.y, state.lse, dy, in.q, output_shape(adj, in));
  return gradients(adj, in, state, dy, options);
}

}  // namespace rodeo
