#pragma once

#include <optional>

#include "layers/gat_conv.h"
#include "layers/gatv2_conv.h"
#include "models/published.h"

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

inline constexpr TrunkPreset kPublishedGat{
    .name = "gat", .keys = TrunkKeys::kHidden, .parts = {.activation = TrunkActivation::kElu}};

/// The GAT of Velickovic et al. (ICLR 2018): dropout, convolution, ELU, ... , dropout, convolution. Returns
/// logits. forward(graph, x) reads add_self_loops(adj).adj.
class Gat : public Trunk {
 public:
  /// Throws Error for sizes below 1 or a dropout outside [0, 1). `random` draws the initial
  /// weights; a copy of it draws the dropout masks.
  explicit Gat(const GatOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32)
      : Gat(&kGat, options, random, device, dtype) {}

 protected:
  Gat(const ConvKind* conv, const GatOptions& o, Random random, Device device, DType dtype)
      : Trunk(published(o, *conv, kPublishedGat,
                        {.edge_in = o.edge_in,
                         .heads = o.heads,
                         .out_heads = o.out_heads,
                         .attention_dropout = o.attention_dropout,
                         .negative_slope = o.negative_slope,
                         .form = o.form,
                         .sddmm = o.sddmm}),
              random, device, dtype) {}
};

/// GAT with the layers of Brody et al. (ICLR 2022). With edge_in, the graph has edge features:
/// forward(ConvGraph(adj, f), x), which all layers read.
class Gatv2 : public Gat {
 public:
  explicit Gatv2(const GatOptions& options, Random random, Device device = kCpu, DType dtype = DType::kF32)
      : Gat(&kGatv2, options, random, device, dtype) {}
};

}  // namespace rodeo
