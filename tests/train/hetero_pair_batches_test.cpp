// Mini-batches of link prediction on relations: score as the whole graph does, leave out what they predict,
// and learn.
#include <algorithm>
#include <set>

#include "datasets/relation_sampler.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/relations.h"
#include "train/pair_batches.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/relation_split.h"

namespace rodeo::test {
namespace {

class TrainHeteroPairBatches : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainHeteroPairBatches);

using Ids = std::vector<std::int64_t>;

TrainOptions pair_options(std::string_view model, int epochs, std::string relation = {}) {
  TrainOptions options = link_options(model, epochs, std::move(relation));
  options.dropout = 0;
  options.batch = 64, options.fanout = "-1,-1";
  return options;
}

// The pairs of a batch, from a sample of all neighbours that leaves nothing out.
TEST_P(TrainHeteroPairBatches, AllNeighboursGiveTheScoresOfTheWholeGraph) {
  for (const ModelEntry& entry : hetero_model_registry())
    for (const bool all_relations : {false, true}) {
      SCOPED_TRACE(str(entry.name, all_relations ? ", all relations" : ""));
      HeteroDataset data = all_relations ? knowledge() : shop();
      const TrainOptions options = pair_options(entry.name, 1, all_relations ? "" : "buys");
      const NodeRun run = make_hetero_run(data, options, device());
      run.model.module->eval();
      const NoGrad no_grad;
      std::vector<PairRelation> relations;
      std::vector<Tensor> parts[3];
      for (const LinkRelation& link : take_relation_splits(data, options, device())) {
        relations.push_back({link.graph, link.among, {}});
        const auto number = static_cast<double>(parts[0].size());
        parts[0].push_back(link.split.train.src), parts[1].push_back(link.split.train.dst);
        parts[2].push_back(Tensor::full(link.split.train.src.shape(), number, DType::kI64));
      }
      PairBatchSampler sampler({concat_rows(parts[0]), concat_rows(parts[1]), concat_rows(parts[2])},
                               relations, run.model.mini_batches->sampler, {.batch_size = options.batch});
      ASSERT_GT(sampler.epoch(1, 0).size(), 1U);
      const SampledBatch batch = sampler.sample(1);
      const NodePairs rows = sampler.pairs(1);
      ASSERT_EQ(rows.src.numel(), 2 * options.batch);
      const NodePairs nodes{take(batch.targets, rows.src), take(batch.targets, rows.dst), rows.relation};
      EXPECT_TRUE(near(run.model.predict({.batch = &batch, .pairs = &rows}).value(),
                       doubles(run.model.predict({.pairs = &nodes}).value()), 1e-5, 1e-5));
    }
}

/// Edges of blocks as (relation of the graph, source, destination), and whether a pair of the batch is one.
struct Seen {
  std::int64_t edges = 0, predicted = 0;
};

Seen look(PairBatchSampler& sampler, const NodePairs& edges, const std::set<int>& ahead,
          const std::set<int>& turned, const HeteroGraph& graph) {
  const Ids src = edges.src.to_vector<std::int64_t>(), dst = edges.dst.to_vector<std::int64_t>();
  Seen out;
  const auto steps = sampler.epoch(1, 0);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    std::set<std::pair<std::int64_t, std::int64_t>> pairs;
    for (const std::int64_t e : steps[s].of_all)
      pairs.emplace(src[static_cast<std::size_t>(e)], dst[static_cast<std::size_t>(e)]);
    const SampledBatch batch = sampler.sample(s);
    for (const Block& block : batch.blocks) {
      const HeteroGraph part = block_graph(graph, block);
      const std::vector<Tensor> nodes = nodes_by_type(graph, block.sources);
      for (int r = 0; r < graph.num_relations(); ++r) {
        const auto numbers = [&](const Tensor& ids, int type) {
          Ids out =
              take(nodes[static_cast<std::size_t>(type)], ids.to(DType::kI64)).to_vector<std::int64_t>();
          for (std::int64_t& id : out) id += graph.first_node(type);
          return out;
        };
        const Ids from = numbers(part.relation(r).src_ids, graph.src_type(r)),
                  to = numbers(part.relation(r).dst_ids, graph.dst_type(r));
        out.edges += std::ssize(from);
        for (std::size_t e = 0; e < from.size(); ++e) {
          out.predicted += ahead.contains(r) && pairs.contains({from[e], to[e]});
          out.predicted += turned.contains(r) && pairs.contains({to[e], from[e]});
        }
      }
    }
  }
  return out;
}

// The reverse of the relation is in the file, or --undirected adds it.
TEST(TrainHeteroPairBatchesSplit, WhatABatchPredictsIsNoMessageInAnyRelation) {
  for (const bool in_file : {false, true}) {
    SCOPED_TRACE(in_file);
    HeteroDataset data = shop();
    const HeteroRelation buys = data.relations[0];
    if (in_file) data.relations.push_back({"rev_buys", buys.target, buys.source, buys.dst, buys.src});
    TrainOptions options = pair_options("rgcn", 1, "buys");
    options.undirected = !in_file;
    const std::vector<LinkRelation> links = take_relation_splits(data, options, kCpu);
    ASSERT_EQ(links.size(), 1U);
    std::vector<NodeType> types;
    for (const Dataset& type : data.types) types.push_back({type.name, type.num_nodes});
    std::vector<EdgeType> relations;
    for (const HeteroRelation& r : data.relations)
      relations.push_back({types[static_cast<std::size_t>(r.source)].name, r.name,
                           types[static_cast<std::size_t>(r.target)].name, r.src, r.dst});
    HeteroGraph graph(types, relations);
    if (!in_file) graph = graph.add_reverse();
    ASSERT_EQ(graph.relation(2).name, "rev_buys");
    const NodePairs& edges = links[0].split.train;
    const auto seen = [&](std::vector<PairMessages> messages) {
      PairBatchSampler sampler(edges, {{links[0].graph, links[0].among, std::move(messages)}},
                               NeighborSampler(graph, -1, {.fanout = {-1, -1}}), {.batch_size = 32});
      return look(sampler, edges, {0}, {2}, graph);
    };
    const Seen whole = seen({}), left = seen(links[0].messages);
    EXPECT_GT(whole.predicted, edges.src.numel());
    EXPECT_EQ(left.predicted, 0);
    EXPECT_EQ(left.edges, whole.edges - whole.predicted);  // and nothing else is left out
  }
}

struct Result {
  TrainSummary summary;
  StateDict state;
  double auc = 0;
};

Result train(HeteroDataset data, const TrainOptions& options, Device device) {
  const NodeRun run = make_hetero_run(std::move(data), options, device);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs});
  const TrainSummary summary = trainer.fit();
  return {summary, run.model.module->state_dict(), run.model.parts.metrics->details()[kRankingAuc].second};
}

TEST_P(TrainHeteroPairBatches, RelationsAreLearntTheSameInEveryRun) {
  for (const auto& [model, relation, epochs] :
       {std::tuple("rgcn", "buys", 12), std::tuple("rgat", "buys", 12), std::tuple("rgcn", "", 8)}) {
    SCOPED_TRACE(str(model, " ", relation));
    TrainOptions options = pair_options(model, epochs, relation);
    options.fanout = "8,4";
    const HeteroDataset data = options.relation.empty() ? knowledge() : shop();
    const Result one = train(data, options, device()), two = train(data, options, device());
    EXPECT_GT(one.auc, 0.75);  // of chance: 0.5
    for (std::size_t i = 0; i < one.state.size(); ++i)
      EXPECT_TRUE(same_bits(one.state[i].second, two.state[i].second)) << one.state[i].first;
    options.eval_sampled = true;
    EXPECT_GT(train(data, options, device()).auc, 0.7);
  }
}

}  // namespace
}  // namespace rodeo::test
