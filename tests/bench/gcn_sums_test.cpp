// The sums of a GCN are those that its training runs, and predict what was measured on two GPUs.
#include "bench/gcn_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/kernel_observer.h"
#include "datasets/synthetic.h"
#include "ops/sparse/simulated_step.h"
#include "tests/support/steps.h"
#include "train/task/model_registry.h"

namespace rodeo::bench {
namespace {

constexpr std::int64_t kNodes = 300;

/// The columns of kernels that read and write a row for each node.
struct Sums : KernelObserver {
  void before(const KernelCallInfo& call) override {
    if (call.category != KernelCategory::kSparse) return;
    const auto has_rows = [&](const Tensor& x) {
      return x.defined() && x.rank() == 2 && x.dtype() == DType::kF32 && x.dim(0) == kNodes;
    };
    if (std::ranges::count_if(call.operands, has_rows) == 2)
      columns.push_back(std::ranges::find_if(call.operands, has_rows)->dim(1));
  }
  void after(const KernelCallInfo&) override {}

  std::vector<std::int64_t> columns;
};

TEST(BenchGcnSums, AreThoseOfATrainingStep) {
  constexpr std::int64_t kClasses = 5, kLayers = 3;
  for (const auto& [features, hidden] :
       {std::pair<std::int64_t, std::int64_t>{10, 16}, {24, 16}, {40, 16}, {40, 4}})
    for (const FirstInput first : {FirstInput::kSparse, FirstInput::kDropped, FirstInput::kKept}) {
      SCOPED_TRACE(testing::Message() << features << " -> " << hidden << ", " << static_cast<int>(first));
      SyntheticOptions graph;
      graph.nodes = kNodes, graph.edges = 1200, graph.features = features, graph.classes = kClasses,
      graph.split = "60/20/20";
      TrainOptions options = published_options("gcn");
      options.hidden = hidden, options.layers = kLayers;
      options.features = first == FirstInput::kSparse ? FeatureForm::kSparse : FeatureForm::kDense;
      if (first == FirstInput::kKept) options.input_dropout = 0;
      const NodeRun run = make_run(synthesize(graph), options, kCpu);
      test::Steps(run).loss().backward();  // computes what is kept
      Sums sums;
      {
        const ScopedKernelObserver scope(sums);
        test::Steps(run).loss().backward();
      }
      std::vector<std::int64_t> expected;
      for (const GcnSum& sum : gcn_sums(features, hidden, kClasses, kLayers, first))
        expected.push_back(sum.columns);
      std::ranges::sort(expected);
      std::ranges::sort(sums.columns);
      EXPECT_EQ(sums.columns, expected);
    }
}

/// A row of docs/benchmarks: parts on one GPU, and an epoch and its communication on two.
struct Measured {
  std::int64_t nodes, edges, features, hidden, classes;
  StepTimes one;
  double two_ms, communication_ms;
};

// GCN of two layers in f32 on H200, NVLS off, commit 6189669. Parts on one GPU are those of earlier runs: of
// training.md, and of collectives.md. The features of the last row are on both GPUs.
TEST(BenchGcnSums, PredictWhatTwoGpusTake) {
  constexpr std::int64_t kReddit = 232'965, kProducts = 2'449'029;
  constexpr std::int64_t kRedditEdges = 114'615'892, kProductsEdges = 123'718'280;
  const Measured rows[] = {
      {kReddit, kRedditEdges, 602, 128, 41, {12.13, 1.74, 0.42}, 8.15, 0.77},
      {kReddit, kRedditEdges, 602, 16, 41, {2.82, 0.84, 0.14}, 2.34, 0.24},
      {kProducts, kProductsEdges, 100, 16, 47, {8.41, 2.13, 0.48}, 7.16, 1.35},
      {kProducts, kProductsEdges, 100, 128, 47, {19.15, 3.95, 1.95}, 15.19, 1.79},
  };
  for (const Measured& row : rows) {
    SCOPED_TRACE(testing::Message() << row.features << " -> " << row.hidden);
    std::vector<AggregationSizes> products;
    for (const GcnSum& sum : gcn_sums(row.features, row.hidden, row.classes, 2, FirstInput::kDropped))
      products.push_back({.nodes = row.nodes,
                          .edges = row.edges,
                          .columns = sum.columns,
                          .x_on_all_ranks = sum.of_features});
    const SimulatedStep two =
        simulate_step(row.one, products, row.features * row.hidden + row.hidden * row.classes, 2);
    EXPECT_NEAR(two.ms(), row.two_ms, 0.1 * row.two_ms);
    EXPECT_NEAR(two.exchange_ms, row.communication_ms, 0.1 * row.communication_ms);
  }
}

}  // namespace
}  // namespace rodeo::bench
