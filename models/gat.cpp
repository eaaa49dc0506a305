#include "models/gat.h"

#include <type_traits>

#include "ops/epilogue.h"

namespace rodeo {
namespace {

/// Whether to recompute layer inputs in backward: in attention models they are most of the memory.
bool should_recompute(std::int64_t columns, const Features& x) {
  return x.dim(0) * columns * static_cast<std::int64_t>(size_of(x.dtype())) >= kRecomputeBytes;
}

}  // namespace

template <class Conv>
AttentionModel<Conv>::AttentionModel(const GatOptions& options, Random random, Device device, DType dtype)
    : options_(options), random_(random) {
  const GatOptions& o = options;
  check(o.in >= 1 && o.hidden >= 1 && o.classes >= 1 && o.layers >= 1,
        "[gat] in, hidden, classes and layers must be >= 1, got ", o.in, ", ", o.hidden, ", ", o.classes,
        " and ", o.layers);
  check(o.heads >= 1 && o.out_heads >= 1, "[gat] heads and out_heads must be >= 1, got ", o.heads, " and ",
        o.out_heads);
  for (const double p : {o.dropout, o.input_dropout.value_or(0), o.attention_dropout})
    check(p >= 0 && p < 1, "[gat] dropout must be in [0, 1), got ", p);
  for (int i = 0; i < o.layers; ++i) {
    const bool last = i + 1 == o.layers;
    convs_.push_back(
        std::make_unique<Conv>(AttentionConvOptions{.in = i == 0 ? o.in : o.hidden * o.heads,
                                                    .out = last ? o.classes : o.hidden,
                                                    .heads = last ? o.out_heads : o.heads,
                                                    .merge = last ? HeadMerge::kMean : HeadMerge::kConcat,
                                                    .negative_slope = o.negative_slope,
                                                    .dropout = o.attention_dropout,
                                                    .form = o.form,
                                                    .sddmm = o.sddmm,
                                                    .edge_in = o.edge_in},
                               random_, device, dtype));
    register_module(str("conv", i + 1), convs_.back().get());
  }
}

template <class Conv>
Variable AttentionModel<Conv>::forward(const Adjacency& adj, const Features& x, const Variable& f) {
  check(f.defined() == (options_.edge_in > 0), "[gat] edge features f are ",
        f.defined() ? "given" : "undefined", ", the model has edge_in ", options_.edge_in);
  const double p = training() ? options_.dropout : 0;
  const double first = training() ? options_.input_dropout.value_or(options_.dropout) : 0;
  Features h = x;
  if (first > 0) h = dropout(x, first, random_.next());
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    EpilogueOptions then;
    if (i + 1 < convs_.size())
      then = {.activation = Activation::kElu,
              .dropout = p,
              .key = random_.next(),
              .recompute = should_recompute(options_.hidden * options_.heads, x)};
    if constexpr (std::is_same_v<Conv, Gatv2Conv>) {
      if (f.defined()) {
        h = convs_[i]->forward(adj, h, f, random_.next(), then);
        continue;
      }
    }
    h = convs_[i]->forward(adj, h, random_.next(), then);
  }
  return h.dense();
}

template class AttentionModel<GatConv>;
template class AttentionModel<Gatv2Conv>;

}  // namespace rodeo
