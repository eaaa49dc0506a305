#include "ops/gatv2_attention.h"

#include <cmath>

#include "ops/checks.h"
#include "ops/dense.h"
#include "ops/heads.h"
#include "ops/kernels/attention.h"
#include "ops/sddmm.h"
#include "ops/sparse/fused_form.h"
#include "ops/sparse/graph_attention.h"
#include "ops/sparse/rank_graph.h"
#include "ops/sparse/sharded_products.h"

namespace rodeo {
namespace {

constexpr std::string_view kOp = "gatv2_attention";

void check_operands(const Adjacency& adj, const Gatv2AttentionOperands& in, const AttentionOptions& options) {
  check(in.l.defined() && is_float(in.l.dtype()), "[", kOp, "] l must be floating point");
  check(in.l.rank() == 3 && in.l.dim(0) == adj.rows(), "[", kOp, "] l must be [", adj.rows(),
        ", heads, k], got ", in.l.shape());
  check_on_device_of(kOp, adj, "l", in.l);
  const std::int64_t heads = in.l.dim(1), k = in.l.dim(2);
  check(heads * k <= std::int64_t{1} << 18, "[", kOp, "] a row of l must have at most 2^18 elements, got ",
        in.l.shape());
  check_alike(kOp, "l", in.l, "r", in.r);
  check_shape(kOp, "r", in.r, {adj.cols(), heads, k});
  check_beside(kOp, "l", in.l, "a", in.a);
  check_shape(kOp, "a", in.a, {heads, k});
  if (in.edge.defined()) {
    check_alike(kOp, "l", in.l, "edge", in.edge);
    check_shape(kOp, "edge", in.edge, {adj.num_edges(), heads, k});
  }
  check(options.negative_slope >= 0 && std::isfinite(options.negative_slope), "[", kOp,
        "] negative_slope must be finite and at least 0, got ", options.negative_slope);
  check_attention_dropout(kOp, options);
}

kernels::Gatv2Inputs kernel_inputs(const Gatv2AttentionOperands& in) {
  return {in.l, in.r, in.a.to(sum_dtype(in.l.dtype())), in.edge};
}

AttentionState forward(const Adjacency& adj, const Gatv2AttentionOperands& in,
                       const AttentionOptions& options, bool keep_lse) {
  const bool empty = in.l.numel() == 0 || adj.num_edges() == 0;
  const auto [y, lse] = attention_outputs(in.l, in.l.shape(), empty, keep_lse);
  if (!empty) kernels::gatv2_attention.on(y.device())(adj, kernel_inputs(in), options, y, lse);
  return {y, lse};
}

Gatv2AttentionOperands gradients(const Adjacency& adj, const Gatv2AttentionOperands& in,
                                 const AttentionState& state, const Tensor& dy,
                                 const AttentionOptions& options) {
  const bool empty = dy.numel() == 0 || adj.num_edges() == 0;
  const kernels::Gatv2Inputs operands = kernel_inputs(in);
  const Gatv2AttentionOperands out{gradient_memory(in.l, empty), gradient_memory(in.r, empty),
                                   gradient_memory(operands.a, empty), gradient_memory(in.edge, empty)};
  if (!empty)
    kernels::gatv2_attention_backward.on(dy.device())(adj, operands, options, state.y, state.lse, dy,
                                                      {out.l, out.r, out.a, out.edge});
  return {out.l, out.r, out.a.to(in.a.dtype()), out.edge};
}

Variable composed(const Adjacency& adj, const Variable& l, const Variable& r, const Variable& a,
                  const Variable& edge, const AttentionOptions& options) {
  Variable sum = sddmm(adj, l, r, SddmmOp::kAdd);  // [edges, heads, k]
  if (edge.defined()) sum = add(sum, edge);
  return attention_sum(adj, head_dot(leaky_relu(sum, options.negative_slope), a), r, options);
}

}  // namespace

Tensor gatv2_attention(const Adjacency& adj, const Tensor& l, const Tensor& r, const Tensor& a,
                       const Tensor& edge, const AttentionOptions& options) {
  const auto constant = [](const Tensor& x) { return x.defined() ? Variable(x) : Variable(); };
  return gatv2_attention(adj, constant(l), constant(r), constant(a), constant(edge), options).value();
}

Variable gatv2_attention(const Adjacency& graph, const Variable& l, const Variable& own_r, const Variable& a,
                         const Variable& edge, const AttentionOptions& wanted) {
  const Adjacency& adj = rank_rows(graph);
  const Variable r = neighbour_rows(graph, own_r);
  AttentionOptions options = wanted;
  options.key = key_of_rank(graph, wanted.key);
  const Gatv2AttentionOperands in{value_or_undefined(l), value_or_undefined(r), value_or_undefined(a),
                                  value_or_undefined(edge)};
  check_operands(adj, in, options);
  if (!takes_fused_form(kOp, in.l, l.dim(2), options.form)) return composed(adj, l, r, a, edge, options);
  const bool recorded =
      grad_enabled() && (l.requires_grad() || r.requires_grad() || a.requires_grad() || needs_gradient(edge));
  const AttentionState state = forward(adj, in, options, recorded);
  std::vector<Variable> inputs{l, r, a};
  if (edge.defined()) inputs.push_back(edge);
  return record("gatv2_attention", state.y, inputs, [=](const Tensor& dy) {
    const Gatv2AttentionOperands d = gradients(adj, in, state, dy, options);
    std::vector<Tensor> out{d.l, d.r, d.a};
    if (d.edge.defined()) out.push_back(d.edge);
    return out;
  });
}

AttentionState gatv2_attention_forward(const Adjacency& adj, const Gatv2AttentionOperands& in,
                                       const AttentionOptions& options) {
  check_operands(adj, in, options);
  takes_fused_form(kOp, in.l, in.l.dim(2), AttentionForm::kFused);
  return forward(adj, in, options, true);
}

Gatv2AttentionOperands gatv2_attention_gradients(const Adjacency& adj, const Gatv2AttentionOperands& in,
                                                 const AttentionState& state, const Tensor& dy,
                                                 const AttentionOptions& options) {
  check_operands(adj, in, options);
  check_attention_state(kOp, state.y, state.lse, dy, in.l, in.l.shape());
  return gradients(adj, in, state, dy, options);
}

}  // namespace rodeo
