#include "layers/gcn2_conv.h"

#include <algorithm>
#include <cmath>

#include "layers/aggregate.h"
#include "ops/combine.h"
#include "ops/dense.h"

namespace rodeo {

Gcn2Conv::Gcn2Conv(std::int64_t n, double alpha, double beta, Random& random, Device device, DType dtype)
    : alpha_(alpha), beta_(beta) {
  check(alpha >= 0 && alpha <= 1 && beta >= 0 && beta <= 1,
        "[gcn2_conv] alpha and beta must be in [0, 1], got ", alpha, " and ", beta);
  register_parameter("weight1", &w_, glorot_uniform(n, n, random.next(), dtype, device));
}

Variable Gcn2Conv::convolve(const ConvGraph& graph, Features x, const ConvCall& call) const {
  check_block_features("gcn2_conv", graph.adj, x, width());
  const Variable in = x.dense(), initial = call.initial.defined() ? call.initial : in;
  check_block_features("gcn2_conv", graph.adj, initial, width());
  const Variable h = linear_combination(1 - alpha_, propagate(graph, in, call.spmm), alpha_,
                                        destinations(graph, initial).dense());
  return apply(linear_combination(1 - beta_, h, beta_, matmul(h, w_)), call.then);
}

const ConvKind kGcn2{.name = "gcn2",
                     .traits = {.graph = GraphInput::kGcnNorm, .initial = true, .sparse_inputs = false},
                     .make = [](const ConvOptions& o, Random& random, Device device,
                                DType dtype) -> std::unique_ptr<Convolution> {
                       const double beta = std::min(1.0, std::log(o.lambda / o.layer + 1));
                       return std::make_unique<Gcn2Conv>(o.in, o.alpha, beta, random, device, dtype);
                     }};

}  // namespace rodeo
