#include "models/sage.h"

#include "models/check_sizes.h"
#include "ops/dense.h"

namespace rodeo {

Sage::Sage(const SageOptions& options, Random random, Device device, DType dtype)
    : options_(options), random_(random) {
  check_sizes("sage", options);
  for (int i = 0; i < options.layers; ++i) {
    convs_.push_back(std::make_unique<SageConv>(
        SageConvOptions{.in = i == 0 ? options.in : options.hidden,
                        .out = i + 1 == options.layers ? options.classes : options.hidden,
                        .aggr = options.aggr},
        random_, device, dtype));
    register_module(str("conv", i + 1), convs_.back().get());
  }
}

template <class BlockOf>
Variable Sage::run(const BlockOf& block_of, const Features& x, const SpmmOptions& spmm) {
  Features h = x;
  if (training()) h = dropout(x, options_.input_dropout.value_or(options_.dropout), random_.next());
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    EpilogueOptions then;
    if (i + 1 < convs_.size()) {
      then.activation = Activation::kRelu;
      if (training()) then.dropout = options_.dropout, then.key = random_.next();
    }
    h = convs_[i]->forward(block_of(i), h, spmm, then);
  }
  return h.dense();
}

Variable Sage::forward(const Adjacency& adj, const Features& x) {
  return run([&](std::size_t) { return adj; }, x, options_.spmm);
}

Variable Sage::forward(const std::vector<Adjacency>& blocks, const Features& x) {
  check_blocks("sage", blocks, static_cast<int>(convs_.size()), x);
  return run([&](std::size_t i) { return blocks[i]; }, x, block_spmm());
}

Variable Sage::evaluate_layer(int layer, const Adjacency& block, const Features& h) const {
  check(!training(), "[sage] evaluate_layer is for evaluation mode: call eval() first");
  check(layer >= 0 && layer < options_.layers, "[sage] layer must be in [0, ", options_.layers, "), got ",
        layer);
  const bool last = layer + 1 == options_.layers;
  return convs_[static_cast<std::size_t>(layer)]->forward(
      block, h, block_spmm(), {.activation = last ? Activation::kNone : Activation::kRelu});
}

SpmmOptions Sage::block_spmm() const {
  SpmmOptions spmm = options_.spmm;
  if (spmm.algorithm == SpmmAlgorithm::kAuto) spmm.algorithm = SpmmAlgorithm::kCsr;
  return spmm;
}

}  // namespace rodeo
