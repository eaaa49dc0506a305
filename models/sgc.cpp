#include "models/sgc.h"

namespace rodeo {

Sgc::Sgc(const SgcOptions& options, Random random, Device device, DType dtype)
    : options_(options),
      conv_({.in = options.in, .out = options.classes, .hops = options.hops, .cached = true}, random, device,
            dtype) {
  register_module("conv1", &conv_);
}

Variable Sgc::forward(const GcnGraph& graph, const Features& x) const {
  return conv_.forward(graph, x, options_.spmm);
}

}  // namespace rodeo
