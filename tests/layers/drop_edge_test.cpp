#include "layers/drop_edge.h"

#include <cmath>

#include "ops/convert.h"
#include "ops/edge_dropout.h"
#include "tests/support/devices.h"
#include "tests/support/layers.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class LayersDropEdge : public OnDevice {};
RODEO_ON_ALL_DEVICES(LayersDropEdge);

/// A complete graph of n nodes with self loops.
Adjacency complete(std::int64_t n, Device device) {
  std::vector<std::int64_t> row, col;
  for (std::int64_t i = 0; i < n * n; ++i) row.push_back(i / n), col.push_back(i % n);
  return coo_to_csr(Tensor::from(row, device), Tensor::from(col, device), n, n).adj;
}

TEST_P(LayersDropEdge, KeepsAShareOfTheEdgesWithDegreesOfTheRest) {
  constexpr std::int64_t kNodes = 60;
  const Adjacency adj = complete(kNodes, device());
  const GcnGraph graph{adj, Tensor::full({kNodes * kNodes}, 1, DType::kF64, device()),
                       Tensor::full({kNodes}, 1, DType::kF64, device())};
  const RandomKey key{5, 7};
  const ConvGraph kept = drop_edges(graph, 0.3, key);
  const std::vector<double> mask =
      doubles(edge_dropout(adj, Tensor::full({kNodes * kNodes, 1}, 1, DType::kF32, device()), 0.3, key));
  std::vector<std::int32_t> col;
  std::vector<double> scale;
  for (std::int64_t i = 0; i < kNodes; ++i) {
    double degree = 0;
    for (std::int64_t j = 0; j < kNodes; ++j)
      if (mask[i * kNodes + j] != 0 || i == j) col.push_back(static_cast<std::int32_t>(j)), ++degree;
    scale.push_back(1 / std::sqrt(degree));
  }
  EXPECT_EQ(kept.adj.csr().col.to_vector<std::int32_t>(), col);
  EXPECT_NEAR(static_cast<double>(kept.adj.num_edges()), 0.7 * kNodes * kNodes, 120);
  EXPECT_EQ(kept.weight.numel(), kept.adj.num_edges());
  EXPECT_TRUE(near(kept.row_scale, scale, 1e-12));
  EXPECT_TRUE(near(kept.col_scale, scale, 1e-12));
  EXPECT_NE(drop_edges(graph, 0.3, {5, 8}).adj.csr().col.to_vector<std::int32_t>(), col);
  EXPECT_EQ(drop_edges(adj, 0, key).adj.num_edges(), kNodes * kNodes);
}

TEST_P(LayersDropEdge, Refuses) {
  const ConvGraph graph(complete(4, device()));
  EXPECT_ERROR(drop_edges(graph, 1, {}), "[edge_dropout] p must be in [0, 1), got 1");
  EXPECT_ERROR(
      drop_edges(select_destinations(graph, Tensor::from(std::vector<std::int64_t>{1}, device())), 0.5, {}),
      "[drop_edges] the graph must be whole on one rank, or a block");
}

}  // namespace
}  // namespace rodeo::test
