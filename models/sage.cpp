#include "models/sage.h"

#include "models/check_sizes.h"
#include "ops/combine.h"
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

Features Sage::before_conv(Features h, std::size_t i) {
  if (i > 0) h = relu(h.dense());
  const double p = i == 0 ? options_.input_dropout.value_or(options_.dropout) : options_.dropout;
  return training() ? dropout(h, p, random_.next()) : h;
}

Variable Sage::forward(const Adjacency& adj, const Features& x) {
  Features h = x;
  for (std::size_t i = 0; i < convs_.size(); ++i)
    h = convs_[i]->forward(adj, before_conv(h, i), options_.spmm);
  return h.dense();
}

Variable Sage::forward(const std::vector<Adjacency>& blocks, const Features& x) {
  check_blocks("sage", blocks, static_cast<int>(convs_.size()), x);
  // Every batch has other blocks: no plans, and nothing is tuned for them.
  SpmmOptions spmm = options_.spmm;
  if (spmm.algorithm == SpmmAlgorithm::kAuto) spmm.algorithm = SpmmAlgorithm::kCsr;
  Features h = x;
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    const Variable sources = before_conv(h, i).dense();
    const Variable destinations = rows(sources, 0, blocks[i].rows());
    h = convs_[i]->forward(blocks[i], BipartiteFeatures{sources, destinations}, spmm);
  }
  return h.dense();
}

}  // namespace rodeo
