#include "layers/appnp.h"

#include "ops/combine.h"
#include "ops/dense.h"

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
  Tensor mask;  // [hops * edges]: one key, a different mask in every hop
  const std::int64_t edges = graph.adj.num_edges();
  if (drops)
    mask = dropout(Tensor::full({options_.hops * edges}, 1, x.dtype(), x.device()), options_.dropout, key);
  Variable z = x;
  for (int hop = 0; hop < options_.hops; ++hop) {
    GcnGraph kept = graph;
    if (drops) {
      const Tensor own = mask.slice(hop * edges, (hop + 1) * edges);
      kept.weight =
          graph.weight.defined() ? scale_rows(graph.weight.reshape({edges, 1}), own).reshape({edges}) : own;
    }
    z = linear_combination(1 - options_.alpha, propagate(kept, z, spmm), options_.alpha, x);
  }
  return z;
}

}  // namespace rodeo
