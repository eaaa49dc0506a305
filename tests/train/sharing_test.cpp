// What docs/state.md promises to threads.
#include <atomic>
#include <thread>

#include "core/adjacency.h"
#include "models/gat.h"
#include "models/gcn.h"
#include "ops/convert.h"
#include "ops/spmm.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/tiny.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

/// f(0) and f(1), on two threads at the same time.
template <class F>
void on_two_threads(F&& f) {
  std::thread other([&] { f(1); });
  f(0);
  other.join();
}

/// The parameters after some epochs of a GCN.
std::vector<double> trained(const Dataset& data, const GcnGraph& graph, const Features& x,
                            std::uint64_t seed) {
  const GcnOptions options{.in = data.num_features, .hidden = 8, .classes = data.num_classes, .dropout = 0.5};
  Gcn model(options, Random(seed), graph.adj.device());
  Trainer trainer(model, [&] { return model.forward(graph, x); }, {{model.parameters(), {.lr = 0.01}}},
                  data.y, data.split, {.epochs = 8});
  trainer.fit();
  std::vector<double> all;
  for (const Variable& p : model.parameters())
    for (const double v : doubles(p.value())) all.push_back(v);
  return all;
}

class TrainSharing : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainSharing);

TEST_P(TrainSharing, TwoThreadsTrainTwoModelsOnTwoGraphs) {
  const auto run = [&](int i) {
    const Dataset data = tiny_dataset(250 + 50 * i, static_cast<std::uint64_t>(i));
    const GcnGraph graph = gcn_norm(to_graph(data, device()).adj);
    return trained(data, graph, Features(dense_features(data).to(device())), 3);
  };
  const std::vector<double> want[] = {run(0), run(1)};
  std::vector<double> got[2];
  on_two_threads([&](int i) { got[i] = run(i); });
  EXPECT_EQ(got[0], want[0]);
  EXPECT_EQ(got[1], want[1]);
}

TEST(TrainSharingOfAGraph, TwoThreadsTrainOnOneGraph) {
  const Dataset data = tiny_dataset();
  const GcnGraph first = gcn_norm(to_graph(data, kCpu).adj);
  const Features x = sparse_features(data);
  const std::vector<double> want[] = {trained(data, first, x, 1), trained(data, first, x, 2)};
  for (int round = 0; round < 5; ++round) {
    const GcnGraph graph = gcn_norm(to_graph(data, kCpu).adj);  // its cache is empty
    const Features shared = sparse_features(data);
    std::vector<double> got[2];
    on_two_threads([&](int i) { got[i] = trained(data, graph, shared, static_cast<std::uint64_t>(i) + 1); });
    EXPECT_EQ(got[0], want[0]);
    EXPECT_EQ(got[1], want[1]);
  }
}

TEST(TrainSharingOfAGraph, OneThreadMakesWhatTheOthersRead) {
  struct Value {
    int number;
  };
  for (int round = 0; round < 20; ++round) {
    const Adjacency adj = graph_with_lengths({3, 0, 5}, 7);
    std::atomic<int> made = 0, waiting = 0;
    const Value* seen[2];
    on_two_threads([&](int i) {
      for (++waiting; waiting < 2;) std::this_thread::yield();
      seen[i] = &adj.cached<Value>([&] {
        std::this_thread::yield();
        return Value{++made};
      });
    });
    EXPECT_EQ(made, 1);
    EXPECT_EQ(seen[0], seen[1]);
  }
}

TEST(TrainSharingOfAGraph, EveryCachedPlanIsMadeUnderTheLock) {
  const Tensor x = random_tensor({2000, 9}, DType::kF32, kCpu);
  for (int round = 0; round < 5; ++round) {
    const Adjacency adj = graph_with_lengths(std::vector<std::int64_t>(2000, 7), 2000, 5);
    std::vector<Tensor> got[2];
    on_two_threads([&](int i) {
      for (const int block : {8, 16, 32, 64})
        got[i].push_back(spmm(adj, x, {.algorithm = SpmmAlgorithm::kRode, .rode = {.block = block}}));
      for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMax})
        got[i].push_back(spmm(adj, x, {.reduce = reduce}));
      got[i].push_back(transpose(adj).edge_ids);
    });
    for (std::size_t k = 0; k < got[0].size(); ++k) EXPECT_TRUE(same_bits(got[0][k], got[1][k])) << k;
  }
}

}  // namespace
}  // namespace rodeo::test
