// RandomKey::first_row: the mask of a part of the rows is that part of the mask of all rows.
#include <gtest/gtest.h>

#include "core/node_partition.h"
#include "ops/dense.h"
#include "ops/edge_dropout.h"
#include "ops/epilogue.h"
#include "ops/features.h"
#include "ops/linear.h"
#include "ops/spmm.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

class OpsFirstRow : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(OpsFirstRow);

constexpr std::int64_t kRows = 300, kFirst = 132;

RandomKey key_of(std::int64_t first_row) {
  RandomKey key{7, 3};
  key.first_row = first_row;
  return key;
}

Tensor positive(const Shape& shape, Device device) {
  return uniform(shape, 1, 2, RandomKey{1, 1}, DType::kF32, device);
}

void expect_part(const Tensor& all, const Tensor& part) {
  const Tensor want = all.slice(kFirst, kRows);
  ASSERT_EQ(part.shape(), want.shape());
  EXPECT_EQ(part.to_vector<float>(), want.to_vector<float>());
}

TEST_P(OpsFirstRow, DropoutAndEpilogue) {
  for (const std::int64_t n : {1, 3, 8, 33, 64, 128, 602}) {
    SCOPED_TRACE(n);
    const Tensor x = positive({kRows, n}, device()), part = x.slice(kFirst, kRows).clone();
    expect_part(dropout(x, 0.5, key_of(0)), dropout(part, 0.5, key_of(kFirst)));
    const auto both = [&](Activation activation) {
      EpilogueOptions options{.activation = activation, .dropout = 0.5, .key = key_of(0)};
      const Variable a(x, true);
      const Variable y = epilogue(a, {}, options);
      y.backward(x);
      options.key = key_of(kFirst);
      const Variable b(part, true);
      const Variable z = epilogue(b, {}, options);
      z.backward(part);
      expect_part(y.value(), z.value());
      expect_part(a.grad(), b.grad());
    };
    both(Activation::kNone);
    both(Activation::kRelu);
    both(Activation::kElu);
  }
}

TEST_P(OpsFirstRow, DropoutOfFeaturesAndOfTheirProduct) {
  for (const std::int64_t k : {20, 64, 130})
    for (const std::int64_t n : {7, 64, 128}) {
      SCOPED_TRACE(str(k, " x ", n));
      const Tensor x = positive({kRows, k}, device()), part = x.slice(kFirst, kRows).clone();
      const Variable w(positive({k, n}, device()), true);
      const auto product = [&](const Tensor& in, std::int64_t first) {
        const LinearOptions then{
            .then = {.activation = Activation::kRelu, .dropout = 0.5, .key = key_of(first)}};
        return linear(dropout(Features(in), 0.5, key_of(first)), w, {}, then).value();
      };
      const Tensor all = product(x, 0).slice(kFirst, kRows);
      EXPECT_TRUE(test::near(product(part, kFirst), test::doubles(all), 1e-4, 1e-4));
    }
}

TEST_P(OpsFirstRow, DropoutOfSparseFeaturesAndEdges) {
  constexpr std::int64_t kCols = 50, kPerRow = 3;
  const auto graph = [&](std::int64_t first, std::int64_t rows) {
    std::vector<std::int64_t> row_ptr{0};
    std::vector<std::int32_t> col;
    for (std::int64_t i = first; i < first + rows; ++i) {
      for (std::int64_t e = 0; e < kPerRow; ++e) col.push_back(static_cast<std::int32_t>((i % 16) + e * 16));
      row_ptr.push_back(static_cast<std::int64_t>(col.size()));
    }
    return Adjacency({rows, kCols, Tensor::from(row_ptr), Tensor::from(col)}).to(device());
  };
  const Adjacency all = graph(0, kRows), part = graph(kFirst, kRows - kFirst);
  const auto values = [&](const Adjacency& a, std::int64_t first) {
    const Tensor ones = Tensor::full({a.num_edges()}, 1, DType::kF32, device());
    return dropout(sparse_features(a, ones), 0.5, key_of(first)).values().reshape({a.rows(), kPerRow});
  };
  expect_part(values(all, 0), values(part, kFirst));
  const auto edges = [&](const Adjacency& a, std::int64_t first) {
    const Tensor ones = Tensor::full({a.num_edges(), 5}, 1, DType::kF32, device());
    return edge_dropout(a, ones, 0.5, key_of(first)).reshape({a.rows(), kPerRow * 5});
  };
  expect_part(edges(all, 0), edges(part, kFirst));
}

TEST(CorePartition, ChecksItsRows) {
  EXPECT_NO_THROW(NodePartition(Communicator(), {7}));
  EXPECT_THROW(NodePartition(Communicator(), {4, 3}), Error);
  EXPECT_THROW(NodePartition(Communicator(), {-1}), Error);
}

TEST(CorePartition, AShardOfOneRankIsTheGraph) {
  const Csr csr{3, 3, Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3}),
                Tensor::from(std::vector<std::int32_t>{1, 2, 0})};
  const auto nodes = std::make_shared<const NodePartition>(Communicator(), std::vector<std::int64_t>{3});
  const Adjacency whole(csr), shard = Adjacency::sharded(csr, nodes, false);
  EXPECT_EQ(shard.rows(), 3);
  EXPECT_EQ(shard.cols(), 3);
  EXPECT_EQ(shard.num_edges(), 3);
  EXPECT_THROW(shard.csr(), Error);
  const Variable x(positive({3, 4}, kCpu), true), y(x.value(), true);
  const Variable a = spmm(whole, x), b = spmm(shard, y);
  EXPECT_EQ(a.value().to_vector<float>(), b.value().to_vector<float>());
  a.backward(x.value());
  b.backward(x.value());
  EXPECT_EQ(x.grad().to_vector<float>(), y.grad().to_vector<float>());
}

}  // namespace
}  // namespace rodeo
