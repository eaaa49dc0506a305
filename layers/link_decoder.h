#pragma once

#include <memory>

#include "core/enum_names.h"
#include "layers/sequential.h"
#include "ops/negative_edges.h"

namespace rodeo {

enum class DecoderKind {
  kDot,       // <z_u, z_v>: Kipf & Welling, "Variational graph auto-encoders" (2016)
  kMlp,       // Linear(ReLU(Linear(z_u * z_v))), elementwise product
  kBilinear,  // z_u^T W z_v: for directed edges, too
  kDistmult,  // sum of z_u * w_r * z_v, a row w_r for each relation r: Yang et al. (ICLR 2015)
};
template <>
inline constexpr auto kEnumNames<DecoderKind> = enum_names<DecoderKind>({{DecoderKind::kDot, "dot"},
                                                                         {DecoderKind::kMlp, "mlp"},
                                                                         {DecoderKind::kBilinear, "bilinear"},
                                                                         {DecoderKind::kDistmult,
                                                                          "distmult"}});

/// Scores of pairs of nodes from their embeddings, for link prediction.
///   z [nodes, width], k pairs -> logits [k, 1]
/// Parameters: kDot none;  kMlp "nn.0" and "nn.2", Linear of widths width, width and 1;  kBilinear
/// "lin.weight", W transposed, without bias;  kDistmult "rel_emb.weight" [relations, width], which alone
/// reads the relations of pairs.
class LinkDecoder : public Module {
 public:
  LinkDecoder(DecoderKind kind, std::int64_t width, Random& random, Device device = kCpu,
              DType dtype = DType::kF32, std::int64_t relations = 1);
  Variable forward(const Variable& z, const NodePairs& pairs) const;
  /// Not with kDistmult: the gradient of its table sorts the relations of the pairs.
  bool has_fixed_steps() const override { return kind_ != DecoderKind::kDistmult; }

 private:
  DecoderKind kind_;
  std::unique_ptr<Sequential> nn_;
  std::unique_ptr<Linear> lin_;
  Variable relations_;  // [relations, width]
};

}  // namespace rodeo
