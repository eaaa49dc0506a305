// Features for graphs that have none.
#include <gtest/gtest.h>

#include "datasets/import.h"
#include "tests/datasets/parts.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::Ids;
using Floats = std::vector<float>;
using test::wide;

TEST(DatasetsMakeFeatures, OneHotAndDegree) {
  Dataset d;
  d.name = "g";
  d.num_nodes = 3;
  d.src = Tensor::from<std::int32_t>({0, 1, 1, 2});
  d.dst = Tensor::from<std::int32_t>({2, 2, 0, 2});
  Dataset onehot = d, degree = d;
  make_features(onehot, "onehot");
  EXPECT_EQ(dense_features(onehot).to_vector<float>(), (Floats{1, 0, 0, 0, 1, 0, 0, 0, 1}));
  make_features(degree, "degree");  // of the edges to the node: 1, 0, 3
  EXPECT_EQ(degree.num_features, 4);
  EXPECT_EQ(dense_features(degree).to_vector<float>(), (Floats{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_ERROR(make_features(degree, "onehot"),
               "--input-features onehot: g has 4 features: make others only where there are none");
  EXPECT_ERROR(make_features(d, "two"), "--input-features must be degree, onehot, random or ones, got 'two'");
  Dataset again = d, ones = d, random = d, same = d;
  make_features(again, "degree", 3);  // of another graph: 3 edges count as 2
  EXPECT_EQ(dense_features(again).to_vector<float>(), (Floats{0, 1, 0, 1, 0, 0, 0, 0, 1}));
  Dataset wider = d;
  make_features(wider, "degree", 6);  // of a graph with more edges: the columns are its
  EXPECT_EQ(dense_features(wider).shape(), (Shape{3, 6}));
  EXPECT_EQ(wide(wider.x_sparse.indices), (Ids{1, 0, 3}));
  make_features(ones, "ones");
  EXPECT_EQ(ones.x.to_vector<float>(), (Floats{1, 1, 1}));
  make_features(random, "random");
  make_features(same, "random");
  EXPECT_EQ(random.x.shape(), (Shape{3, 64}));
  EXPECT_EQ(random.x.to_vector<float>(), same.x.to_vector<float>());
  EXPECT_NE(random.x.data<float>()[0], random.x.data<float>()[64]);
  d.src = d.dst = Tensor::zeros({1000}, DType::kI32);
  make_features(d, "degree");
  EXPECT_EQ(d.num_features, 256);
  EXPECT_EQ(wide(d.x_sparse.indices), (Ids{255, 0, 0}));
  Dataset none;
  none.src = none.dst = Tensor::zeros({0}, DType::kI32);
  make_features(none, "onehot");
  EXPECT_EQ(none.num_features, 0);
}

}  // namespace
}  // namespace rodeo
