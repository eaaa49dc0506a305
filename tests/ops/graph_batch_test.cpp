#include "ops/graph_batch.h"

#include "ops/convert.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

class OpsGraphBatch : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsGraphBatch);

/// Graph g has sizes[g] nodes in a ring, and chords.
GraphSet rings(const Ids& sizes, Device device) {
  Ids row, col, ptr{0};
  for (const std::int64_t n : sizes) {
    const std::int64_t first = ptr.back();
    for (std::int64_t i = 0; i < n; ++i)
      for (const std::int64_t step : {1, 3})
        if (n > 1 && i % step == 0) row.push_back(first + i), col.push_back(first + (i + step) % n);
    ptr.push_back(first + n);
  }
  const Adjacency adj =
      coo_to_csr(Tensor::from(row, device), Tensor::from(col, device), ptr.back(), ptr.back()).adj;
  return {adj, Tensor::from(ptr)};
}

void check_batch(const GraphSet& set, const Ids& graphs) {
  const Poisoned poisoned;
  const GraphBatch batch = set.batch(graphs);
  const Ids ptr = set.graph_ptr().to_vector<std::int64_t>(),
            all_ptr = set.adj().csr().row_ptr.to_vector<std::int64_t>(),
            row_ptr = batch.adj.csr().row_ptr.to_vector<std::int64_t>(),
            nodes = batch.nodes.to_vector<std::int64_t>(), ids = batch.edge_ids.to_vector<std::int64_t>(),
            offsets = batch.offsets.to_vector<std::int64_t>();
  const auto all_col = set.adj().csr().col.to_vector<std::int32_t>(),
             col = batch.adj.csr().col.to_vector<std::int32_t>();
  ASSERT_EQ(offsets.size(), graphs.size() + 1);
  Ids want_nodes, want_ids, want_ptr{0};
  std::vector<std::int32_t> want_col;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    ASSERT_EQ(offsets[g], static_cast<std::int64_t>(want_nodes.size()));
    for (std::int64_t i = ptr[graphs[g]]; i < ptr[graphs[g] + 1]; ++i) {
      want_nodes.push_back(i);
      for (std::int64_t e = all_ptr[i]; e < all_ptr[i + 1]; ++e) {
        want_ids.push_back(e);
        want_col.push_back(static_cast<std::int32_t>(all_col[e] - ptr[graphs[g]] + offsets[g]));
      }
      want_ptr.push_back(static_cast<std::int64_t>(want_ids.size()));
    }
  }
  EXPECT_EQ(offsets.back(), static_cast<std::int64_t>(want_nodes.size()));
  EXPECT_EQ(nodes, want_nodes);
  EXPECT_EQ(ids, want_ids);
  EXPECT_EQ(row_ptr, want_ptr);
  EXPECT_EQ(col, want_col);
}

TEST_P(OpsGraphBatch, EqualsItsGraphs) {
  const GraphSet set = rings({3, 1, 40, 0, 7, 100, 2}, device());
  EXPECT_EQ(set.size(), 7);
  EXPECT_EQ(set.num_nodes(5), 100);
  for (const Ids& graphs :
       {Ids{0, 1, 2, 3, 4, 5, 6}, Ids{5}, Ids{6, 0}, Ids{3}, Ids{1, 3, 1}, Ids{4, 4, 3, 4}, Ids{}})
    check_batch(set, graphs);
}

TEST_P(OpsGraphBatch, Errors) {
  const GraphSet set = rings({3, 4}, device());
  EXPECT_ERROR(set.batch({0, 2}), "[graph_set] graph 2 is outside [0, 2)");
  EXPECT_ERROR(set.batch({-1}), "[graph_set] graph -1 is outside [0, 2)");
  EXPECT_ERROR(GraphSet(set.adj(), Tensor::from(Ids{0, 2, 7})),
               "[graph_set] the edge from node 2 to node 1 leaves graph 0, which has the nodes 0 to 1");
  EXPECT_ERROR(GraphSet(set.adj(), Tensor::from(Ids{0, 5, 4, 7})),
               "[graph_set] graph_ptr must rise from 0 to the number of nodes, 7, but graph_ptr[2] is 4");
  EXPECT_ERROR(GraphSet(set.adj(), Tensor::from(Ids{7})),
               "[graph_set] graph_ptr must rise from 0 to the number of nodes, 7, but graph_ptr[0] is 7");
  EXPECT_ERROR(GraphSet(set.adj(), Tensor::from(Ids{0, 3})),
               "[graph_set] graph_ptr must end at the number of nodes, 7, got 3");
}

}  // namespace
}  // namespace rodeo::test
