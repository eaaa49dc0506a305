// Samples of heterogeneous graphs: edges of each relation up to the fan-out, the same on all devices.
#include "datasets/relation_sampler.h"

#include <map>
#include <numeric>
#include <set>

#include "datasets/neighbor_sampler.h"
#include "tests/datasets/parts.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class DatasetsRelationSampler : public OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsRelationSampler);

Tensor up_to(std::int64_t count) {
  Ids out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return Tensor::from(out);
}

/// 60 a and 40 b, and c without nodes: relations of several degrees, with repeated edges, and an empty one.
HeteroGraph three_types(Device device) {
  const auto edges = [](std::int64_t count, std::int64_t step, std::int64_t limit) {
    Ids out;
    for (std::int64_t e = 0; e < count; ++e) out.push_back((e * step + e / 7) % limit);
    return Tensor::from(out);
  };
  return {{{"a", 60}, {"c", 0}, {"b", 40}},
          {{"a", "to", "b", edges(500, 7, 60), edges(500, 3, 37)},
           {"b", "of", "a", edges(90, 11, 40), edges(90, 5, 60)},
           {"c", "none", "a", edges(0, 1, 1), edges(0, 1, 1)},
           {"b", "next", "b", edges(200, 13, 40), edges(200, 1, 40)}},
          device};
}

/// The edges of a destination that a block keeps, by relation, as numbers of edges.
using Kept = std::map<std::pair<std::int64_t, int>, Ids>;

Kept edges_into(const HeteroGraph& graph, const HeteroGraph& block, const std::vector<Tensor>& nodes) {
  Kept out;
  for (int r = 0; r < graph.num_relations(); ++r) {
    const Ids src = wide(block.relation(r).src_ids), dst = wide(block.relation(r).dst_ids);
    const Ids of_src = wide(nodes[static_cast<std::size_t>(graph.src_type(r))]),
              of_dst = wide(nodes[static_cast<std::size_t>(graph.dst_type(r))]);
    for (std::size_t e = 0; e < src.size(); ++e)
      out[{of_dst[static_cast<std::size_t>(dst[e])], r}].push_back(of_src[static_cast<std::size_t>(src[e])]);
  }
  return out;
}

// A target is in the blocks of all hops, and each hop draws anew.
TEST_P(DatasetsRelationSampler, HopsDrawOtherEdges) {
  Ids src(50), dst(50);
  std::iota(src.begin(), src.end(), 1);
  const HeteroGraph star({{"n", 51}}, {{"n", "to", "n", Tensor::from(src), Tensor::from(dst)}}, device());
  const SampledBatch batch =
      NeighborSampler(star, 0, {.fanout = {5, 5}, .seed = 3}).sample(Tensor::from(Ids{0}, device()), 0, 0);
  ASSERT_EQ(batch.blocks[0].edge_ids.numel(), 5);
  ASSERT_EQ(batch.blocks[1].edge_ids.numel(), 5);
  EXPECT_NE(wide(batch.blocks[0].edge_ids), wide(batch.blocks[1].edge_ids));
}

// Targets are numbered within their type, or over all types where none is named.
TEST_P(DatasetsRelationSampler, TargetsAreOfTheTypeThatIsNamed) {
  const Ids of_one{0, 2};
  const HeteroGraph graph({{"a", 4}, {"b", 3}, {"c", 5}},
                          {{"a", "to", "b", Tensor::from(Ids{1, 3}), Tensor::from(of_one)},
                           {"b", "to", "c", Tensor::from(of_one), Tensor::from(of_one)}},
                          device());
  const Ids first{0, 4, 7};
  for (const int target : {-1, 0, 1, 2}) {
    const SampledBatch batch =
        NeighborSampler(graph, target, {.fanout = {5}}).sample(Tensor::from(of_one, device()), 0, 0);
    const std::int64_t begin = target < 0 ? 0 : first[static_cast<std::size_t>(target)];
    EXPECT_EQ(wide(batch.inputs().slice(0, 2)), (Ids{begin, begin + 2})) << target;
    EXPECT_EQ(wide(batch.targets), of_one) << target;
    EXPECT_EQ(batch.blocks[0].edge_ids.numel(), target > 0 ? 2 : 0) << target;
  }
}

TEST_P(DatasetsRelationSampler, ADestinationKeepsEdgesOfEachRelationUpToTheFanOut) {
  const HeteroGraph graph = three_types(device());
  const Tensor targets = Tensor::from(Ids{39, 0, 5, 17, 36}, device());
  const HeteroGraph cpu = three_types(kCpu);
  const Kept whole = edges_into(cpu, cpu, {up_to(60), up_to(0), up_to(40)});
  for (const bool replace : {false, true}) {
    const NeighborSamplerOptions options{.fanout = {3, 2, 4}, .replace = replace, .seed = 5};
    const NeighborSampler sampler(graph, 2, options);
    const SampledBatch batch = sampler.sample(targets, 1, 2), other = sampler.sample(targets, 1, 3),
                       host = NeighborSampler(cpu, 2, options).sample(targets.to(kCpu), 1, 2);
    ASSERT_EQ(batch.blocks.size(), 3U);
    EXPECT_NE(wide(batch.inputs()), wide(other.inputs()));
    for (std::size_t l = 0; l < 3; ++l) {
      SCOPED_TRACE(l);
      EXPECT_EQ(wide(batch.blocks[l].sources), wide(host.blocks[l].sources));
      EXPECT_EQ(wide(batch.blocks[l].edge_ids), wide(host.blocks[l].edge_ids));
      const HeteroGraph block = block_graph(graph, batch.blocks[l]);
      const std::vector<Tensor> nodes = nodes_by_type(graph, batch.blocks[l].sources);
      if (l == 2) {
        EXPECT_EQ(block.num_rows(), 5);
        EXPECT_EQ(wide(nodes[2].slice(0, 5)), wide(targets));
      } else {
        const Ids next = wide(batch.blocks[l + 1].sources), own = wide(batch.blocks[l].sources);
        EXPECT_EQ(Ids(own.begin(), own.begin() + std::ssize(next)), next);
      }
      const std::int64_t fanout = options.fanout[2 - l];
      const Kept kept = edges_into(graph, block, nodes);
      for (int t : {0, 2})
        for (std::int64_t i = 0; i < block.num_rows(t); ++i)
          for (int r = 0; r < graph.num_relations(); ++r) {
            if (graph.dst_type(r) != t) continue;
            const std::int64_t node = wide(nodes[static_cast<std::size_t>(t)])[static_cast<std::size_t>(i)];
            const auto given = whole.find({node, r}), got = kept.find({node, r});
            const std::int64_t degree = given == whole.end() ? 0 : std::ssize(given->second),
                               count = got == kept.end() ? 0 : std::ssize(got->second);
            EXPECT_EQ(count, degree == 0 ? 0 : replace ? fanout : std::min(degree, fanout));
            std::multiset<std::int64_t> left;
            if (degree > 0) left = {given->second.begin(), given->second.end()};
            if (count > 0)
              for (const std::int64_t source : got->second) {
                ASSERT_TRUE(left.contains(source));
                if (!replace) left.erase(left.find(source));
              }
          }
    }
  }
}

TEST(DatasetsRelationSamplerErrors, NameWhatIsWrong) {
  const HeteroGraph graph = three_types(kCpu);
  const NeighborSampler sampler(graph, 2, {.fanout = {2}});
  EXPECT_ERROR(sampler.sample(Tensor::from(Ids{1, 40})),
               "[neighbor_sampler] nodes[1] = 40 is outside [0, 40)");
  EXPECT_ERROR(NeighborSampler(graph.with_targets_of(2), 2, {.fanout = {2}}),
               "[neighbor_sampler] the graph must be whole, not a block of a mini-batch");
}

}  // namespace
}  // namespace rodeo::test
