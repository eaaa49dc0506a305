// Orders and splits whose edges a GPU sorts are those of the host.
#include "datasets/edge_split.h"
#include "datasets/reorder.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/tiny.h"

namespace rodeo::test {
namespace {

class DatasetsSortOn : public OnDevice {
 protected:
  static Dataset dataset(bool one_way) {
    Dataset data = tiny_dataset(80);
    if (one_way) data.src = data.src.slice(0, 150), data.dst = data.dst.slice(0, 150);
    data.edge_weight = Tensor::full(data.src.shape(), 0.5);
    return data;
  }
};
RODEO_ON_ALL_DEVICES(DatasetsSortOn);

TEST_P(DatasetsSortOn, NodeOrdersAreThoseOfTheHost) {
  for (const bool one_way : {false, true})
    for (const NodeOrder by : {NodeOrder::kDegree, NodeOrder::kRcm, NodeOrder::kRabbit})
      for (const bool undirected : {false, true})
        EXPECT_TRUE(same_bits(node_order(dataset(one_way), by, undirected, device()),
                              node_order(dataset(one_way), by, undirected)))
            << by << " " << one_way << undirected;
}

TEST_P(DatasetsSortOn, EdgeSplitsAreThoseOfTheHost) {
  for (const bool one_way : {false, true})
    for (const bool symmetrize : {false, true}) {
      Dataset here = dataset(one_way), there = dataset(one_way);
      const EdgeSplit a = take_edge_split(here, {}, {.symmetrize = symmetrize, .sort_on = device()}),
                      b = take_edge_split(there, {}, {.symmetrize = symmetrize});
      EXPECT_EQ(a.undirected, b.undirected);
      for (const auto& [x, y] : {std::pair(a.train.src, b.train.src),
                                 {a.train.dst, b.train.dst},
                                 {a.val.src, b.val.src},
                                 {a.test.dst, b.test.dst},
                                 {a.test_negative.src, b.test_negative.src},
                                 {here.src, there.src},
                                 {here.dst, there.dst},
                                 {here.edge_weight, there.edge_weight}})
        EXPECT_TRUE(same_bits(x, y)) << one_way << symmetrize;
    }
}

}  // namespace
}  // namespace rodeo::test
