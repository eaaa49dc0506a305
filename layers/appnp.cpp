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
  spmm.reduce = Reduce::kSum;
  const bool drops = training() && options_.dropout > 0;
  const std::int64_t edges = graph.adj.num_edges();
  const Tensor ones = drops ? Tensor::full({edges, 1}, 1, x.dtype(), x.device()) : Tensor();
  Variable z = x;
  for (int hop = 0; hop < options_.hops; ++hop) {
    GcnGraph kept = graph;
    if (drops) {
      RandomKey hop_key = key;  // one key, a different mask in every hop
      hop_key.seed += static_cast<std::uint64_t>(hop + 1) * 0xD1B54A32D192ED03u;
      const Tensor own = edge_dropout(graph.adj, ones, options_.dropout, hop_key).reshape({edges});
      kept.weight =
          graph.weight.defined() ? scale_rows(graph.weight.reshape({edges, 1}), own).reshape({edges}) : own;
    }
    z = linear_combination(1 - options_.alpha, propagate(kept, z, spmm), options_.alpha, x);
  }
  return z;
}

}  // namespace rodeo
