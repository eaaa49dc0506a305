#include "ops/sparse/derived.h"

namespace rodeo {

namespace {

struct Overwritten {};

}  // namespace

void set_overwritten(const Adjacency& adj) {
  adj.cached<Overwritten>([] { return Overwritten(); });
}

bool is_overwritten(const Adjacency& adj) {
  return adj.has_cached<Overwritten>();
}

bool derives_only_known(const Adjacency& adj) {
  const std::size_t known = num_cached_transposes(adj) + has_mean_scale(adj, DType::kF32) +
                            has_mean_scale(adj, DType::kF64) + assumes_no_locality(adj) + is_overwritten(adj);
  return adj.num_cached() == known;
}

}  // namespace rodeo
