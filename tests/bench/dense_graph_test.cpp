#include "bench/dense_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/graphs.h"
#include "ops/dense.h"
#include "ops/sparse/dense_block_plans.h"
#include "tests/support/devices.h"

namespace rodeo::bench {
namespace {

using test::error_of;

TEST(BenchDenseGraph, BlocksAreSymmetricAndAsFullAsNamed) {
  const Adjacency adj = make_dense_graph(parse_dense_graph("1000-128-60"), false);
  const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  const auto col = adj.csr().col.to_vector<std::int32_t>();
  std::set<std::pair<std::int64_t, std::int64_t>> inside;
  for (std::int64_t row = 0; row < 1000; ++row) {
    const auto begin = row_ptr[static_cast<std::size_t>(row)],
               end = row_ptr[static_cast<std::size_t>(row) + 1];
    std::int64_t noise = 0;
    for (auto e = begin; e < end; ++e) {
      const std::int32_t c = col[static_cast<std::size_t>(e)];
      EXPECT_TRUE(e == begin || col[static_cast<std::size_t>(e) - 1] < c) << "columns ascend";
      if (c / 128 == row / 128)
        inside.emplace(row, c);
      else
        ++noise;
    }
    EXPECT_LE(noise, DenseGraph::kNoise);
    EXPECT_GE(noise, DenseGraph::kNoise - 2) << "few are equal";
  }
  for (const auto& [row, c] : inside) EXPECT_TRUE(inside.contains({c, row}));
  const double possible = 7 * 128 * 128 + 104 * 104;
  EXPECT_NEAR(static_cast<double>(inside.size()) / possible, 0.6, 0.01);
}

TEST(BenchDenseGraph, ShuffledItIsTheSameGraphWithOtherIds) {
  const DenseGraph graph = parse_dense_graph("1024-128-90");
  const Adjacency plain = make_dense_graph(graph, false), shuffled = make_dense_graph(graph, true),
                  again = load_graph({GraphSource::Kind::kDense, "1024-128-90", true}, kCpu).adj;
  EXPECT_EQ(plain.num_edges(), shuffled.num_edges());
  EXPECT_EQ(again.csr().col.to_vector<std::int32_t>(), shuffled.csr().col.to_vector<std::int32_t>());
  EXPECT_NE(plain.csr().col.to_vector<std::int32_t>(), shuffled.csr().col.to_vector<std::int32_t>());
  const DenseBlocks *file = dense_blocks(plain), *found = dense_blocks(shuffled);
  ASSERT_TRUE(file != nullptr && found != nullptr);
  EXPECT_GE(file->steps(), 8 * 128 / DenseBlocks::kDepth);
  EXPECT_LE(found->steps(), 2 * 8 * 128 / DenseBlocks::kDepth) << "clusters find the blocks";
}

TEST(BenchDenseGraph, Names) {
  EXPECT_EQ(parse_dense_graph("protein").nodes, 131072);
  EXPECT_EQ(parse_dense_graph("protein").name, "protein-like");
  for (const char* text : {"", "foo", "10-5", "10-5-101", "10-5-0", "0-5-50", "10-5-50x"})
    EXPECT_ERROR(
        parse_dense_graph(text),
        std::string("--dense must be of ddi, fraud, protein or NODES-BLOCK-PERCENT, got '") + text + "'");
  EXPECT_EQ(load_graph({GraphSource::Kind::kDense, "256-64-50"}, kCpu).name, "256-64-50");
}

}  // namespace
}  // namespace rodeo::bench
