// Graphs that are drawn on the device: what is promised of them, and the same on every device.
#include "bench/large_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "ops/convert.h"
#include "tests/support/devices.h"

namespace rodeo::bench {
namespace {

using BenchLargeGraph = test::OnDevice;
RODEO_ON_ALL_DEVICES(BenchLargeGraph);

TEST_P(BenchLargeGraph, IsTheSameOnEveryDevice) {
  const LargeGraph small = *large_graph("papers100M/20000");
  EXPECT_EQ(small.nodes, 5552);
  const Adjacency adj = draw_graph(small, device()), on_host = draw_graph(small, kCpu);
  EXPECT_EQ(adj.csr().row_ptr.to_vector<std::int64_t>(), on_host.csr().row_ptr.to_vector<std::int64_t>());
  EXPECT_EQ(adj.csr().col.to_vector<std::int32_t>(), on_host.csr().col.to_vector<std::int32_t>());
  EXPECT_EQ(count_one_way_edges(adj), 0);
  EXPECT_LE(adj.num_edges(), small.edges);
  EXPECT_GT(adj.num_edges(), small.edges * 9 / 10);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Tensor x = draw_features(small, dtype, device());
    EXPECT_EQ(x.to(DType::kF32).to_vector<float>(),
              draw_features(small, dtype, kCpu).to(DType::kF32).to_vector<float>());
    verify_sums(adj, x);
  }
}

TEST_P(BenchLargeGraph, PartsHaveTheRowsOfTheWhole) {
  const LargeGraph small = *large_graph("papers100M/20000");
  const Adjacency plain = draw_graph(small, kCpu), looped = add_self_loops(plain).adj;
  const Tensor x = draw_features(small, DType::kF32, kCpu);
  for (const auto& [first, count] :
       {std::pair<std::int64_t, std::int64_t>{0, 5552}, {1000, 3000}, {5548, 4}, {8, 0}})
    for (const bool self_loops : {false, true}) {
      SCOPED_TRACE(str(count, " rows from ", first, self_loops ? ", A + I" : ""));
      const Csr& whole = (self_loops ? looped : plain).csr();
      const Adjacency part = draw_rows(small, first, count, self_loops, device());
      EXPECT_EQ(part.rows(), count);
      EXPECT_EQ(part.cols(), small.nodes);
      std::vector<std::int64_t> row_ptr =
          whole.row_ptr.slice(first, first + count + 1).to_vector<std::int64_t>();
      const Tensor col = whole.col.slice(row_ptr.front(), row_ptr.back());
      for (std::int64_t i = count; i >= 0; --i) row_ptr[i] -= row_ptr[0];
      EXPECT_EQ(part.csr().row_ptr.to_vector<std::int64_t>(), row_ptr);
      EXPECT_EQ(part.csr().col.to_vector<std::int32_t>(), col.to_vector<std::int32_t>());
      EXPECT_EQ(draw_features(small, first, count, DType::kF32, device()).to_vector<float>(),
                x.slice(first, first + count).to_vector<float>());
    }
}

TEST(BenchLargeGraphNames, AndLabelledNodes) {
  EXPECT_FALSE(large_graph("cora"));
  EXPECT_FALSE(large_graph("papers100M/"));
  EXPECT_FALSE(large_graph("papers100M/0"));
  EXPECT_FALSE(large_graph("papers100M-2"));
  const LargeGraph whole = *large_graph("papers100M");
  EXPECT_EQ(whole.edges, 3'231'371'744);
  const LargeGraph small = *large_graph("papers100M/100");
  const auto nodes = labelled_nodes(small, 3, 10'000).to_vector<std::int64_t>();
  EXPECT_EQ(std::set<std::int64_t>(nodes.begin(), nodes.end()).size(), nodes.size());
}

}  // namespace
}  // namespace rodeo::bench
