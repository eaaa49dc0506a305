#include "layers/appnp.h"

#include "ops/combine.h"
#include "ops/edge_dropout.h"

namespace rodeo {

Appnp::Appnp(const AppnpOptions& options) : options_(options) {
  check(options.hops >= 0, "[appnp] hops must be >= 0, got ", options.hops);
  check(options.alpha >= 0 && options.alpha <= 1, "[appnp] alpha must be in [0, 1], got ", options.alpha);
  check(options.dropout >= 0 && options.dropout < 1, "[appnp] dropout must be in [0, 1), got ",
        options.dropout);
}

Variable Appnp::forward(const GcnGraph& graph, const Variable& x, RandomKey key, SpmmOptions spmm) const {
  return convolve(graph, x, {.key = key, .spmm = spmm});
}

Variable Appnp::convolve(const ConvGraph& graph, Features features, const ConvCall& call) const {
  check(!graph.is_block, "[appnp] several hops cannot read the block of one layer");
  const Variable x = features.dense();
  SpmmOptions spmm = call.spmm;
  spmm.reduce = Reduce::kSum;
  const bool drops = training() && options_.dropout > 0;
  Tensor ones;
  Variable z = x;
  for (int hop = 0; hop < options_.hops; ++hop) {
    const bool last = hop + 1 == options_.hops;
    ConvGraph kept = graph.whole && !last ? *graph.whole : graph;
    if (drops) {
      RandomKey hop_key = call.key;  // one key, a different mask in every hop
      hop_key.seed += static_cast<std::uint64_t>(hop + 1) * 0xD1B54A32D192ED03u;
      const std::int64_t edges = kept.adj.num_edges();
      if (!ones.defined() || ones.dim(0) != edges) ones = Tensor::full({edges, 1}, 1, x.dtype(), x.device());
      const Tensor own = edge_dropout(kept.adj, ones, options_.dropout, hop_key).reshape({edges});
      kept.weight =
          kept.weight.defined() ? scale_rows(kept.weight.reshape({edges, 1}), own).reshape({edges}) : own;
    }
    z = linear_combination(1 - options_.alpha, propagate(kept, z, spmm), options_.alpha,
                           last ? destinations(graph, x).dense() : x);
  }
  return apply(options_.hops == 0 ? destinations(graph, x).dense() : z, call.then);
}

const ConvKind kAppnp{
    .name = "appnp",
    .traits = {.graph = GraphInput::kGcnNorm,
               .random = true,
               .hops = true,
               .teleport = true,
               .has_parameters = false},
    .make = [](const ConvOptions& o, Random&, Device, DType) -> std::unique_ptr<Convolution> {
      return std::make_unique<Appnp>(
          AppnpOptions{.hops = o.hops, .alpha = o.alpha, .dropout = o.edge_dropout});
    }};

}  // namespace rodeo
