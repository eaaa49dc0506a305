#include "layers/node_conv.h"

#include "layers/aggregate.h"
#include "ops/linear.h"

namespace rodeo {

NodeConv::NodeConv(std::int64_t in, std::int64_t out, Random& random, bool bias, Device device, DType dtype)
    : linear_(in, out, random, bias, device, dtype) {
  register_module("lin", &linear_);
}

Variable NodeConv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  check_block_features("node_conv", graph.adj, x, linear_.weight().dim(0));
  return linear(destinations(graph, x), linear_.weight(), linear_.bias(), {.then = call.then});
}

const ConvKind kMlp{.name = "mlp",
                    .traits = {.graph = GraphInput::kNoEdges},
                    .make = [](const ConvOptions& o, Random& random, Device device,
                               DType dtype) -> std::unique_ptr<Convolution> {
                      return std::make_unique<NodeConv>(o.in, o.out, random, o.bias, device, dtype);
                    }};

}  // namespace rodeo
