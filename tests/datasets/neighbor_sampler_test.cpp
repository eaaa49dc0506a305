#include "datasets/neighbor_sampler.h"

#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "core/kernel_observer.h"
#include "models/sage.h"
#include "ops/convert.h"
#include "ops/gather_rows.h"
#include "ops/sample_neighbors.h"
#include "tests/datasets/parts.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class DatasetsNeighborSampler : public OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsNeighborSampler);

/// 600 nodes: isolated ones, rows around the fan-outs, duplicate edges, and a hub with 5000 edges.
Adjacency mixed_graph() {
  Ids lengths;
  for (std::int64_t i = 0; i < 600; ++i) lengths.push_back(i == 7 ? 5000 : i % 41);
  return graph_with_lengths(lengths, 600);
}

/// `rows` nodes whose rows are the columns 0 .. degree - 1.
Adjacency equal_rows(std::int64_t rows, std::int64_t degree) {
  Ids row_ptr;
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i <= rows; ++i) row_ptr.push_back(i * degree);
  for (std::int64_t i = 0; i < rows * degree; ++i) col.push_back(static_cast<std::int32_t>(i % degree));
  return Adjacency({rows, rows, Tensor::from(row_ptr), Tensor::from(col)});
}

Tensor some_nodes(Device device) {
  Ids nodes;
  for (std::int64_t i = 0; i < 50; ++i) nodes.push_back((i * 37 + 7) % 600);
  return Tensor::from(nodes, device);
}

/// What every block must be: rows of the graph with the right number of different edges, sources numbered.
void check_block(const Adjacency& graph, const Block& block, const Ids& targets, std::int64_t fanout,
                 bool replace) {
  const Ids begin = wide(graph.csr().row_ptr), col = wide(graph.csr().col);
  const Ids row_ptr = wide(block.adj.csr().row_ptr), number = wide(block.adj.csr().col),
            edges = wide(block.edge_ids), sources = wide(block.sources);
  ASSERT_EQ(block.adj.rows(), std::ssize(targets));
  ASSERT_EQ(block.adj.cols(), std::ssize(sources));
  ASSERT_EQ(Ids(sources.begin(), sources.begin() + std::ssize(targets)), targets);
  ASSERT_EQ(std::set(sources.begin(), sources.end()).size(), sources.size());
  std::set<std::int64_t> used(targets.begin(), targets.end());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::int64_t first = begin[targets[i]], last = begin[targets[i] + 1], degree = last - first;
    const std::int64_t want = fanout < 0 ? degree : replace && degree ? fanout : std::min(degree, fanout);
    ASSERT_EQ(row_ptr[i + 1] - row_ptr[i], want);
    std::set<std::int64_t> different;
    for (std::int64_t e = row_ptr[i]; e < row_ptr[i + 1]; ++e) {
      ASSERT_TRUE(edges[e] >= first && edges[e] < last);
      ASSERT_EQ(sources[number[e]], col[edges[e]]);
      different.insert(edges[e]);
      used.insert(col[edges[e]]);
    }
    ASSERT_TRUE(replace || std::ssize(different) == want);
  }
  ASSERT_EQ(used.size(), sources.size()) << "every source is a target or has an edge";
}

TEST_P(DatasetsNeighborSampler, BlocksAreRowsOfTheGraph) {
  const Adjacency host = mixed_graph(), graph = host.to(device());
  for (const bool replace : {false, true})
    for (const Ids& fanout : {Ids{1}, Ids{15, 10, 5}, Ids{40, 41}, Ids{100, 33}, Ids{kAllNeighbors, 3}}) {
      if (replace && fanout[0] < 0) continue;
      SCOPED_TRACE(str(fanout.size(), " hops, first ", fanout[0], replace ? " with replacement" : ""));
      const NeighborSampler sampler(graph, {fanout, replace, 5});
      const Poisoned poisoned;
      const SampledBatch batch = sampler.sample(some_nodes(device()), 2, 3);
      ASSERT_EQ(batch.blocks.size(), fanout.size());
      Ids targets = wide(batch.targets);
      for (std::size_t hop = 0; hop < fanout.size(); ++hop) {
        const Block& block = batch.blocks[fanout.size() - 1 - hop];
        check_block(host, block, targets, fanout[hop], replace);
        targets = wide(block.sources);
      }
      EXPECT_EQ(wide(batch.inputs()), targets);
    }
}

TEST_P(DatasetsNeighborSampler, SameSamplesOnEveryDeviceAndInEveryOrder) {
  const Adjacency host = mixed_graph();
  // Rows of up to 8, 16 and 32 edges have kernels of their own.
  std::vector<NeighborSamplerOptions> all{{{15, 10, 5}, true, 9}};
  for (const Ids& fanout : {Ids{15, 10, 5}, Ids{32, 8, 17}, Ids{16, 33, 1}})
    all.push_back({fanout, false, 9});
  for (const NeighborSamplerOptions& options : all) {
    const NeighborSampler there(host.to(device()), options), here(host, options);
    there.sample(some_nodes(device()), 0, 1);
    const SampledBatch a = there.sample(some_nodes(device()), 4, 7), b = here.sample(some_nodes(kCpu), 4, 7);
    for (std::size_t l = 0; l < a.blocks.size(); ++l) {
      EXPECT_EQ(wide(a.blocks[l].sources), wide(b.blocks[l].sources));
      EXPECT_EQ(wide(a.blocks[l].edge_ids), wide(b.blocks[l].edge_ids));
      EXPECT_EQ(wide(a.blocks[l].adj.csr().col), wide(b.blocks[l].adj.csr().col));
    }
    EXPECT_NE(wide(here.sample(some_nodes(kCpu), 4, 8).blocks[0].edge_ids), wide(b.blocks[0].edge_ids));
    EXPECT_NE(wide(here.sample(some_nodes(kCpu), 5, 7).blocks[0].edge_ids), wide(b.blocks[0].edge_ids));
  }
}

// The edges of a node do not depend on the other targets of a batch.
TEST_P(DatasetsNeighborSampler, OtherTargetsChangeNothing) {
  const NeighborSampler sampler(mixed_graph().to(device()), {{6}});
  const SampledBatch alone = sampler.sample(Tensor::from(Ids{7}, device())),
                     among = sampler.sample(Tensor::from(Ids{40, 7, 3}, device()));
  const Ids row_ptr = wide(among.blocks[0].adj.csr().row_ptr), edges = wide(among.blocks[0].edge_ids);
  EXPECT_EQ(Ids(edges.begin() + row_ptr[1], edges.begin() + row_ptr[2]), wide(alone.blocks[0].edge_ids));
}

double chi_square(const std::map<Ids, std::int64_t>& counts, double expected) {
  double sum = 0;
  for (const auto& [subset, count] : counts)
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  return sum;
}

// Limits: the value that a chi-square variable exceeds with probability 1e-6.
TEST_P(DatasetsNeighborSampler, EverySubsetIsEquallyLikely) {
  constexpr std::int64_t kRows = 20'000, kDegree = 6, kFanout = 3;
  const Adjacency graph = equal_rows(kRows, kDegree).to(device());
  Ids all(kRows);
  std::iota(all.begin(), all.end(), 0);
  for (const bool replace : {false, true}) {
    const SampledBatch batch =
        NeighborSampler(graph, {{kFanout}, replace, 3}).sample(Tensor::from(all, device()));
    const Ids edges = wide(batch.blocks[0].edge_ids);
    std::map<Ids, std::int64_t> counts;
    for (std::int64_t i = 0; i < kRows; ++i) {
      Ids drawn;
      for (std::int64_t j = 0; j < kFanout; ++j) drawn.push_back(edges[i * kFanout + j] - i * kDegree);
      if (!replace) std::ranges::sort(drawn);
      ++counts[drawn];
    }
    const std::size_t outcomes = replace ? 216 : 20;
    ASSERT_EQ(counts.size(), outcomes);
    EXPECT_LT(chi_square(counts, double(kRows) / double(outcomes)), replace ? 331.7 : 66.0);
  }
}

TEST_P(DatasetsNeighborSampler, AllNeighboursGiveTheLayerOfTheFullGraph) {
  const Adjacency host = mixed_graph(), graph = host.to(device());
  const Tensor x = random_tensor({600, 9}, DType::kF32, device());
  Sage model({.in = 9, .hidden = 8, .classes = 5, .layers = 3}, Random(3), device());
  model.eval();
  const Variable full = model.forward(graph, Variable(x));
  const SampledBatch batch =
      NeighborSampler(graph, {{kAllNeighbors, 6000, kAllNeighbors}}).sample(some_nodes(device()));
  std::vector<Adjacency> blocks;
  for (const Block& block : batch.blocks) blocks.push_back(block.adj);
  const Variable logits = model.forward(blocks, Variable(gather_rows(x, batch.inputs())));
  EXPECT_TRUE(near(logits.value(), doubles(gather_rows(full.value(), some_nodes(device()))), 1e-5, 1e-5));
  EXPECT_ERROR(model.forward(std::vector<Adjacency>{blocks[0]}, Variable(x)),
               "[sage] 3 layers need a block each, got 1");
}

/// Counts the kernels whose results the host waits for.
class WaitingKernels : public KernelObserver {
 public:
  void before(const KernelCallInfo& call) override {
    for (const std::string_view name : {"row_locality", "first_out_of_range", "longest_row"})
      waits += call.op == name;
  }
  void after(const KernelCallInfo&) override {}
  int waits = 0;
};

TEST_P(DatasetsNeighborSampler, ForwardAndBackwardOverBlocksWaitForNothing) {
  const NeighborSampler sampler(mixed_graph().to(device()), {{5, 4, 3}});
  const SampledBatch batch = sampler.sample(some_nodes(device()));
  Sage model({.in = 9, .hidden = 8, .classes = 5, .layers = 3}, Random(3), device());
  std::vector<Adjacency> blocks;
  for (const Block& block : batch.blocks) blocks.push_back(block.adj);
  const Variable x(random_tensor({batch.inputs().numel(), 9}, DType::kF32, device()));
  WaitingKernels kernels;
  {
    const ScopedKernelObserver observe(kernels);
    const Variable logits = model.forward(blocks, x);
    logits.backward(Tensor::full(logits.shape(), 1, DType::kF32, device()));
  }
  EXPECT_EQ(kernels.waits, 0);
}

// 10^64 edges would fit no array: a layer has at most the nodes of the graph.
TEST_P(DatasetsNeighborSampler, SixtyFourLayers) {
  const std::vector<std::int64_t> ring{0, 1, 2, 3, 4};
  const Adjacency adj = coo_to_csr(Tensor::from(ring, device()),
                                   Tensor::from(std::vector<std::int64_t>{1, 2, 3, 4, 0}, device()), 5, 5)
                            .adj;
  const NeighborSampler sampler(adj, {.fanout = std::vector<std::int64_t>(64, 10)});
  EXPECT_EQ(sampler.sample(Tensor::from(std::vector<std::int64_t>{2}, device())).inputs().numel(), 5);
}

TEST_P(DatasetsNeighborSampler, EmptyBatchesAndGraphs) {
  const NeighborSampler sampler(mixed_graph().to(device()), {{3, 2}});
  const SampledBatch none = sampler.sample(Tensor::empty({0}, DType::kI64, device()));
  EXPECT_EQ(none.inputs().numel(), 0);
  const NeighborSampler edgeless(equal_rows(4, 0).to(device()), {{3, kAllNeighbors}});
  const SampledBatch alone = edgeless.sample(Tensor::from(Ids{2, 0}, device()));
  EXPECT_EQ(wide(alone.inputs()), (Ids{2, 0}));
  EXPECT_EQ(alone.blocks[0].adj.num_edges(), 0);
}

TEST_P(DatasetsNeighborSampler, Errors) {
  const Adjacency graph = equal_rows(5, 2).to(device());
  EXPECT_ERROR(NeighborSampler(graph, {}),
               "[neighbor_sampler] there must be 1 to 255 fan-outs, one for each layer, got 0");
  for (const std::int64_t fanout : {0, -2})
    EXPECT_ERROR(NeighborSampler(graph, {{3, fanout}}),
                 str("[neighbor_sampler] a fan-out must be positive, or -1 for all neighbours without "
                     "replacement, got ",
                     fanout));
  const NeighborSampler sampler(graph, {{2}});
  EXPECT_ERROR(sampler.sample(Tensor::from(Ids{0, 5}, device())),
               "[neighbor_sampler] nodes[1] = 5 is outside [0, 5)");
  EXPECT_ERROR(sampler.sample(Tensor::from(Ids{3, 1, 3}, device())),
               "[neighbor_sampler] nodes[2] = 3 occurs twice: a batch needs different nodes");
  EXPECT_ERROR(NeighborSampler(graph, {{std::int64_t{1} << 40}}).sample(Tensor::from(Ids{0, 1}, device())),
               "[sample_neighbors] 2 targets with up to 4294967294 edges are more than 2^31 - 1: use a "
               "smaller batch or smaller fan-outs");
  const Tensor marks = make_node_marks(graph), one = Tensor::from(Ids{1}, device());
  const auto sample = [&](const SampleOptions& options) {
    sample_neighbors(graph, one, one, options, {}, marks);
  };
  EXPECT_ERROR(sample({.fanout = kAllNeighbors, .replace = true}),
               "[sample_neighbors] sampling with replacement needs a fan-out, not -1");
  // The target is one more.
  EXPECT_ERROR(sample({.fanout = (std::int64_t{1} << 31) - 1}),
               "[sample_neighbors] 1 targets with up to 2147483647 edges are more than 2^31 - 1: use a "
               "smaller batch or smaller fan-outs");
}

TEST(DatasetsMiniBatches, EveryNodeOnceAnEpochInAnotherOrder) {
  const Tensor nodes = Tensor::from(Ids{9, 4, 1, 7, 3, 0, 8});
  const MiniBatches batches(nodes, 10, 3, 5);
  EXPECT_EQ(batches.size(), 3);
  std::set<Ids> orders;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    Ids all;
    for (const Tensor& batch : batches.epoch(epoch))
      for (const std::int64_t node : wide(batch)) all.push_back(node);
    orders.insert(all);
    EXPECT_EQ(all.size(), 7);
    std::ranges::sort(all);
    EXPECT_EQ(all, (Ids{0, 1, 3, 4, 7, 8, 9}));
  }
  EXPECT_GT(orders.size(), 3);
  EXPECT_EQ(wide(batches.epoch(2)[1]), wide(MiniBatches(nodes, 10, 3, 5).epoch(2)[1]));
  EXPECT_EQ(MiniBatches(nodes, 10, 100).epoch(0).size(), 1) << "a batch larger than the training set";
  EXPECT_TRUE(MiniBatches(Tensor::empty({0}, DType::kI64), 10, 4).epoch(0).empty());
  EXPECT_ERROR(MiniBatches(nodes, 9, 3), "[mini_batches] nodes[0] = 9 is outside [0, 9)");
  EXPECT_ERROR(MiniBatches(nodes, 10, 0), "[mini_batches] the batch size must be at least 1, got 0");
}

TEST(DatasetsMiniBatches, ASmallLastBatchJoinsTheOneBefore) {
  const Tensor nodes = Tensor::from(Ids{9, 4, 1, 7, 3, 0, 8});
  const auto sizes = [&](std::int64_t batch_size, std::int64_t least) {
    const MiniBatches batches(nodes, 10, batch_size, 5, kCpu, least);
    Ids all;
    for (const Tensor& batch : batches.epoch(1)) all.push_back(batch.numel());
    EXPECT_EQ(std::ssize(all), batches.size());
    return all;
  };
  EXPECT_EQ(sizes(3, 1), (Ids{3, 3, 1}));
  EXPECT_EQ(sizes(3, 2), (Ids{3, 4}));
  EXPECT_EQ(sizes(4, 2), (Ids{4, 3}));
  EXPECT_EQ(sizes(7, 2), (Ids{7}));
  EXPECT_EQ(sizes(8, 8), (Ids{7})) << "there is no batch to join";
  EXPECT_EQ(wide(MiniBatches(nodes, 10, 3, 5, kCpu, 2).epoch(1)[0]),
            wide(MiniBatches(nodes, 10, 3, 5).epoch(1)[0]));
  EXPECT_ERROR(sizes(3, 4), "[mini_batches] the least nodes of a batch must be in [1, 3], got 4");
}

}  // namespace
}  // namespace rodeo::test
