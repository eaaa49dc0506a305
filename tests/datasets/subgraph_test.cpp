#include "datasets/subgraph.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/datasets/parts.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

TEST(DatasetsSubgraph, KeepsTheEdgesAmongItsNodes) {
  Parts parts;  // 0 -> 1 -> 2 -> 3 -> 4 -> 5
  parts.edge_weight = Tensor::from<float>({10, 20, 30, 40, 50});
  const Dataset part = induced_subgraph(load(parts), ids({0, 1, 3, 4}));
  EXPECT_EQ(part.num_nodes, 4);
  EXPECT_EQ(part.src.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(part.dst.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(part.edge_weight.to_vector<float>(), (std::vector<float>{10, 40}));
  EXPECT_EQ(part.x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 7, 8, 9, 10}));
  EXPECT_EQ(part.y.to_vector<std::int64_t>(), (Ids{0, 1, 0, 1}));
  EXPECT_EQ(part.split.train.to_vector<std::int64_t>(), (Ids{0, 1}));
  EXPECT_EQ(part.split.val.numel(), 0);
  EXPECT_EQ(part.split.test.to_vector<std::int64_t>(), (Ids{2, 3}));
  EXPECT_EQ(part.num_classes, 3);
}

TEST(DatasetsSubgraph, KeepsSparseFeatures) {
  Dataset whole = load(Parts());
  const Dataset want = induced_subgraph(whole, ids({1, 4}));
  whole.x = {};
  whole.x_sparse.indptr = ids({0, 2, 4, 6, 8, 10, 12});
  whole.x_sparse.indices = Tensor::from<std::int32_t>({0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  whole.x_sparse.data = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(dense_features(induced_subgraph(whole, ids({1, 4}))).to_vector<float>(),
            want.x.to_vector<float>());
}

TEST(DatasetsSubgraph, NeighbourhoodsAreNear) {
  const Dataset line = load(Parts());
  std::set<Ids> found;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Ids three = neighbourhood(line, 3, seed).to_vector<std::int64_t>();
    ASSERT_EQ(three.size(), 3u);
    // The search follows sources. It restarts only after node 0, which has no source.
    if (three[0] > 0) {
      EXPECT_EQ(three[2] - three[0], 2);
    }
    EXPECT_EQ(neighbourhood(line, 3, seed).to_vector<std::int64_t>(), three);
    found.insert(three);
  }
  EXPECT_GT(found.size(), 2u);  // they begin where the seed says
  EXPECT_EQ(neighbourhood(line, 100).to_vector<std::int64_t>(), (Ids{0, 1, 2, 3, 4, 5}));
}

TEST(DatasetsSubgraph, Errors) {
  const Dataset line = load(Parts());
  EXPECT_ERROR(neighbourhood(line, 0), "[neighbourhood] nodes must be at least 1, got 0");
  EXPECT_ERROR(induced_subgraph(line, ids({0, 6})), "[induced_subgraph] nodes[1] is 6, outside [0, 6)");
  EXPECT_ERROR(induced_subgraph(line, ids({2, 2})),
               "[induced_subgraph] nodes must be ascending, got 2 after 2");
  EXPECT_ERROR(induced_subgraph(line, {}), "[induced_subgraph] nodes must be i64 [k]");
}

}  // namespace
}  // namespace rodeo::test
