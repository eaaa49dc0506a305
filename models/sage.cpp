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
  // Every batch has other blocks: no plans, and nothing is tuned for them.
  SpmmOptions spmm = options_.spmm;
  if (spmm.algorithm == SpmmAlgorithm::kAuto) spmm.algorithm = SpmmAlgorithm::kCsr;
  return run([&](std::size_t i) { return blocks[i]; }, x, spmm);
}

}  // namespace rodeo
