#pragma once

#include "layers/hetero_conv.h"
#include "ops/grouped_linear.h"

namespace rodeo {

/// Heterogeneous graph transformer (Hu et al., "Heterogeneous graph transformer", WWW 2020), head by head:
///   k, q, v = x K_t, x Q_t, x V_t   by the type t of the node, with biases
///   e_ij = p_r (k_j A_r) . q_i / sqrt(out / heads),  over the edges j -> i of all relations r
///   o_i = sum over j of softmax_j(e_ij) (v_j M_r),   the softmax over all edges of i
///   y_i = s_t (gelu(o_i) O_t + c_t) + (1 - s_t) x_i,  s_t = sigmoid(skip_t); without x_i where in != out
/// The layer of PyG's HGTConv. K_t A_r p_r and V_t M_r are multiplied first, so that keys and values are
/// one grouped product each over the stack, and attention is one operator on HeteroGraph::stacked(). Glorot
/// weights; p and skip are 1; zero biases. PyG's names with types and relations stacked in the first
/// dimension: its kqv_lin is k_lin, q_lin and v_lin. `root_weight` false leaves out x_i.
class HgtConv : public HeteroConvolution {
 public:
  HgtConv(const HeteroConvOptions& options, Random& random, Device device = kCpu, DType dtype = DType::kF32);
  Variable forward(const HeteroGraph& graph, const Variable& x, RandomKey key) const override;

 private:
  struct TypedLinear {
    Variable weight;  // [types, in, out]
    Variable bias;    // [types, out]; undefined without bias
  };
  void register_linear(const std::string& name, TypedLinear& linear, std::int64_t in, Random& random,
                       Device device, DType dtype);
  /// Projects x [nodes, in] by the weight of its type, then by [heads, out / heads, out / heads] of each
  /// relation. The results are rows of the stack.
  GroupedProduct project_stack(const HeteroGraph& graph, const TypedLinear& linear,
                               const Variable& relation) const;
  Variable finish(const HeteroGraph& graph, const Variable& x, const Variable& attended) const;

  TypedLinear key_, query_, value_, out_;  // "k_lin", "q_lin", "v_lin", "out_lin" .weight, .bias
  Variable key_relation_;                  // [relations, heads, out / heads, out / heads]  "k_rel.weight"
  Variable value_relation_;                // the same                                      "v_rel.weight"
  Variable p_;                             // [relations, heads]  "p_rel"
  Variable skip_;                          // [types]             "skip"; undefined where x_i is left out
};

extern const HeteroConvKind kHgt;

}  // namespace rodeo
