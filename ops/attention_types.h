/// Options of the attention operators (ops/attention.h), which contracts and kernel signatures share.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/enum_names.h"
#include "core/random.h"
#include "ops/sddmm_types.h"
#include "ops/spmm_types.h"

namespace rodeo {

enum class AttentionForm {
  kAuto,      // kFused where the device has it for the shape: the faster one on every graph measured
  kFused,     // one pass over the edges forward, one or two backward; keeps no array of edge size
  kComposed,  // sddmm, edge_softmax, edge_dropout, spmm and others, one after the other
};
template <>
inline constexpr auto kEnumNames<AttentionForm> = enum_names<AttentionForm>({{AttentionForm::kAuto, "auto"},
                                                                             {AttentionForm::kFused, "fused"},
                                                                             {AttentionForm::kComposed,
                                                                              "composed"}},
                                                                            "attention form");
/// One of these names. Throws Error for any other text and lists the choices.
inline AttentionForm parse_attention_form(std::string_view text) {
  return parse_name<AttentionForm>("", text);
}

struct AttentionOptions {
  double negative_slope = 0.2;  // of LeakyReLU, at least 0
  double dropout = 0;           // of attention weights, in [0, 1)
  RandomKey key = {};           // of the dropout mask, which is that of edge_dropout.h
  std::int64_t first_head = 0;  // the operands are the heads from this one on of more, and draw their mask
  SpmmAlgorithm spmm = SpmmAlgorithm::kAuto;  // of the sums, in kComposed
  AttentionForm form = AttentionForm::kAuto;
  SddmmOptions sddmm = {};  // of dot products and of the gradient of the attention weights, in kComposed
  std::optional<double> scale = {};  // of the scores of dot_attention; default: 1 / sqrt(k)
};

}  // namespace rodeo
