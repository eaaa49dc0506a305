#include "ops/sparse/derived.h"

namespace rodeo {

bool derives_only_known(const Adjacency& adj) {
  const std::size_t known = num_cached_transposes(adj) + has_mean_scale(adj, DType::kF32) +
                            has_mean_scale(adj, DType::kF64) + assumes_no_locality(adj);
  return adj.num_cached() == known;
}

}  // namespace rodeo
