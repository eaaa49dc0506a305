#include "ops/graph_hash.h"

#include "ops/kernels/graph.h"

namespace rodeo {
namespace {
struct Hash {
  std::uint64_t value;
};
}  // namespace

std::uint64_t graph_hash(const Adjacency& adj) {
  const auto hash = [&] {
    const auto& hash_values = kernels::hash_values.on(adj.device());
    const std::uint64_t parts[] = {static_cast<std::uint64_t>(adj.rows()),
                                   static_cast<std::uint64_t>(adj.cols()),
                                   static_cast<std::uint64_t>(adj.num_edges()),
                                   hash_values(adj.csr().row_ptr), hash_values(adj.csr().col)};
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < std::size(parts); ++i) sum = mix(sum, parts[i]);
    return Hash{sum};
  };
  return adj.cached<Hash>(hash).value;
}

}  // namespace rodeo
