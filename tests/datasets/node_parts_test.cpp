#include "datasets/node_parts.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/convert.h"
#include "tests/datasets/parts.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class DatasetsNodeParts : public OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsNodeParts);

/// 300 nodes: isolated ones, long rows, duplicate edges.
Adjacency some_graph() {
  Ids lengths;
  for (std::int64_t i = 0; i < 300; ++i) lengths.push_back(i == 7 ? 900 : i % 23);
  return graph_with_lengths(lengths, 300);
}

Tensor targets() {
  Ids nodes;
  for (std::int64_t i = 0; i < 40; ++i) nodes.push_back((i * 37 + 7) % 300);
  return Tensor::from(nodes);
}

// Each part is the induced subgraph of its nodes, in the order of edges of the graph.
TEST_P(DatasetsNodeParts, PartsHaveTheEdgesBetweenTheirNodes) {
  const Adjacency host = some_graph();
  const Ids begin = wide(host.csr().row_ptr), source = wide(host.csr().col);
  for (const std::int64_t size : {70, 300, 1000}) {
    const NodeParts parts(host.to(device()), targets(), size, 2, 3);
    std::multiset<std::int64_t> found;
    for (const NodeParts::Part& part : parts.epoch(4)) {
      const SampledBatch batch = parts.sample(part);
      const Ids nodes = wide(part.nodes), first = wide(batch.targets);
      ASSERT_EQ(Ids(nodes.begin(), nodes.begin() + part.targets), first);
      found.insert(first.begin(), first.end());
      ASSERT_LE(std::ssize(nodes), size);
      std::map<std::int64_t, std::int64_t> number;
      for (std::size_t i = 0; i < nodes.size(); ++i) number[nodes[i]] = static_cast<std::int64_t>(i);
      ASSERT_EQ(number.size(), nodes.size());
      Ids row_ptr{0}, col, edges;
      for (const std::int64_t node : nodes) {
        for (std::int64_t e = begin[node]; e < begin[node + 1]; ++e)
          if (number.contains(source[e])) col.push_back(number[source[e]]), edges.push_back(e);
        row_ptr.push_back(std::ssize(col));
      }
      ASSERT_EQ(batch.blocks.size(), 2u);
      for (const Block& block : batch.blocks) {
        EXPECT_EQ(block.adj.cols(), std::ssize(nodes));
        EXPECT_EQ(wide(block.adj.csr().row_ptr), row_ptr);
        EXPECT_EQ(wide(block.adj.csr().col), col);
        EXPECT_EQ(wide(block.edge_ids), edges);
        EXPECT_EQ(wide(block.sources), nodes);
      }
    }
    const Ids all = wide(targets());
    EXPECT_EQ(found, std::multiset(all.begin(), all.end())) << "each target is in one part";
  }
}

TEST_P(DatasetsNodeParts, EpochsDifferAndRepeat) {
  const NodeParts parts(some_graph().to(device()), targets(), 70, 1, 3);
  const auto nodes = [&](const NodeParts& from, std::int64_t epoch) {
    Ids all;
    for (const NodeParts::Part& part : from.epoch(epoch))
      for (const std::int64_t node : wide(part.nodes)) all.push_back(node);
    return all;
  };
  EXPECT_EQ(nodes(parts, 1), nodes(NodeParts(some_graph(), targets(), 70, 1, 3), 1));
  EXPECT_NE(nodes(parts, 1), nodes(parts, 2));
  EXPECT_NE(nodes(parts, 1), nodes(NodeParts(some_graph(), targets(), 70, 1, 4), 1));
}

TEST_P(DatasetsNodeParts, PartsWithoutATargetAreLeftOut) {
  const NodeParts parts(some_graph().to(device()), Tensor::from(Ids{5}), 70, 1, 3);  // of five parts
  ASSERT_EQ(parts.epoch(1).size(), 1U);
  EXPECT_EQ(parts.epoch(1)[0].target_ids, (Ids{5}));
}

TEST_P(DatasetsNodeParts, Errors) {
  const Adjacency graph = some_graph().to(device());
  EXPECT_ERROR(NodeParts(graph, Tensor::from(Ids{1, 300}), 10, 1),
               "[node_parts] targets[1] = 300 is outside [0, 300)");
  EXPECT_ERROR(NodeParts(graph, Tensor::from(Ids{1, 2, 1}), 10, 1),
               "[node_parts] targets[2] = 1 occurs twice: they must be different nodes");
  EXPECT_ERROR(NodeParts(graph, targets(), 0, 1),
               "[node_parts] part_size and layers must be at least 1, got 0 and 1");
}

}  // namespace
}  // namespace rodeo::test
