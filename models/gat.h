#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"

namespace rodeo {

/// The defaults are those of the paper for Cora and CiteSeer. The paper uses 8 output heads for PubMed.
struct GatOptions {
  std::int64_t in = 0;
  std::int64_t hidden = 8;  // of one head
  std::int64_t classes = 0;
  int layers = 2;
  std::int64_t heads = 8;                    // of all layers but the last, concatenated
  std::int64_t out_heads = 1;                // of the last, averaged
  double dropout = 0.6;                      // of the input of every layer
  std::optional<double> input_dropout = {};  // of x; default: dropout
  double attention_dropout = 0.6;
  double negative_slope = 0.2;
  AttentionForm form = AttentionForm::kAuto;  // GatConv only
  SddmmOptions sddmm = {};                    // Gatv2Conv, and GatConv where it is composed
  std::int64_t edge_in = 0;                   // Gatv2Conv only: columns of edge features; 0: none
};

/// The GAT of Velickovic et al. (ICLR 2018): dropout, convolution, ELU, ... , dropout, convolution. Returns
/// logits. With Gatv2Conv, the same model with the layers of Brody et al. (ICLR 2022).
template <class Conv>
class AttentionModel : public Module {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  AttentionModel(const GatOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32);

  /// adj must contain every self loop once: add_self_loops(adj).adj.   x [nodes, in] -> logits [nodes,
  /// classes].
  Variable forward(const Adjacency& adj, const Features& x) { return forward(adj, x, {}); }
  /// With edge features f [edges, edge_in] in adj's edge order, which all layers read; undefined without
  /// edge_in.
  Variable forward(const Adjacency& adj, const Features& x, const Variable& f);

 private:
  GatOptions options_;
  Random random_;
  std::vector<std::unique_ptr<Conv>> convs_;  // "conv1", "conv2", ...
};

extern template class AttentionModel<GatConv>;
extern template class AttentionModel<Gatv2Conv>;
using Gat = AttentionModel<GatConv>;
using Gatv2 = AttentionModel<Gatv2Conv>;

}  // namespace rodeo
