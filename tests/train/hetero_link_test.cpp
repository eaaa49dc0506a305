// Link prediction on relations: learns, is the same in every run, and does not see the edges it is tested on.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "datasets/synthetic_hetero.h"
#include "ops/dense.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/relations.h"
#include "tests/support/temp_dir.h"
#include "train/commands/predict.h"
#include "train/commands/train_run.h"
#include "train/io/atomic_file.h"
#include "train/io/run_state.h"
#include "train/pair_ranking.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/relation_split.h"

namespace rodeo::test {
namespace {

class TrainHeteroLink : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainHeteroLink);

using Ids = std::vector<std::int64_t>;
using Pairs = std::set<std::pair<std::int64_t, std::int64_t>>;  // (source, target)

HeteroDataset small_citations() {
  return synthesize_hetero({.preset = "mag", .nodes = 600, .features = 8, .classes = 4});
}

struct TrainedLinks {
  TrainSummary summary;
  std::vector<std::pair<std::string, double>> details;
  StateDict state;
};

TrainedLinks train(HeteroDataset data, const TrainOptions& options, Device device, bool cuda_graph = true) {
  const NodeRun run = make_hetero_run(std::move(data), options, device);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs, .cuda_graph = cuda_graph});
  const TrainSummary summary = trainer.fit();
  return {summary, run.model.parts.metrics->details(), run.model.module->state_dict()};
}

void expect_same_bits(const TrainedLinks& one, const TrainedLinks& two) {
  ASSERT_EQ(one.state.size(), two.state.size());
  for (std::size_t i = 0; i < one.state.size(); ++i)
    EXPECT_TRUE(same_bits(one.state[i].second, two.state[i].second)) << one.state[i].first;
}

TEST_P(TrainHeteroLink, EveryModelLearnsARelationTheSameInEveryRun) {
  for (const ModelEntry& entry : hetero_model_registry()) {
    SCOPED_TRACE(entry.name);
    TrainOptions options = link_options(entry.name, 40, "buys");
    options.dropout = 0;
    const TrainedLinks one = train(shop(), options, device()),
                       two = train(shop(), options, device(), /*cuda_graph=*/false);
    EXPECT_GT(one.summary.best.test, 0.8);  // the AUC of chance is 0.5
    EXPECT_LT(one.summary.last.val_loss, 0.65);
    EXPECT_EQ(one.details.size(), 4U);
    expect_same_bits(one, two);
  }
}

TEST_P(TrainHeteroLink, OneTableOfDistmultLearnsAllRelations) {
  TrainOptions options = link_options("rgcn", 40);
  options.link_metric = kRankingMrr, options.hits = 10;
  const TrainedLinks one = train(knowledge(), options, device()),
                     two = train(knowledge(), options, device(), /*cuda_graph=*/false);
  expect_same_bits(one, two);
  const auto table = std::ranges::find(one.state, "decoder.rel_emb.weight", &StateDict::value_type::first);
  ASSERT_NE(table, one.state.end());
  EXPECT_EQ(table->second.shape(), (Shape{4, 16}));
  ASSERT_EQ(one.details.size(), 7U);  // four means, and a relation each; "rare" is for training alone
  EXPECT_EQ(one.details[4].first, "MRR of entity:likes:entity");
  EXPECT_EQ(one.details[6].first, "MRR of entity:knows:entity");
  EXPECT_GT(one.details[kRankingAuc].second, 0.8);
}

Pairs pairs_of(const Tensor& src, const Tensor& dst) {
  const Ids from = src.to(DType::kI64).to_vector<std::int64_t>(),
            to = dst.to(DType::kI64).to_vector<std::int64_t>();
  Pairs out;
  for (std::size_t i = 0; i < from.size(); ++i) out.emplace(from[i], to[i]);
  return out;
}

// A model that read them would know the answer.
TEST(TrainHeteroLinkSplit, HeldOutEdgesAndTheirReversesAreNoMessages) {
  HeteroDataset data = small_citations();
  const HeteroRelation writes = data.relations[1];
  ASSERT_EQ(writes.name, "writes");
  data.relations.push_back({"rev_writes", writes.target, writes.source, writes.dst, writes.src});
  const HeteroDataset before = data;
  TrainOptions options = link_options("rgcn", 1, "author:writes:paper");
  options.edge_split = "60/20/20";
  const std::vector<LinkRelation> links = take_relation_splits(data, options, kCpu);
  ASSERT_EQ(links.size(), 1U);
  const auto& [name, split, graph, among, messages] = links[0];
  EXPECT_EQ(name, "author:writes:paper");
  const std::int64_t papers = data.types[0].num_nodes, authors = data.types[1].num_nodes;
  ASSERT_EQ(data.types[1].name, "author");
  const Pairs all = pairs_of(writes.src, writes.dst),
              kept = pairs_of(data.relations[1].src, data.relations[1].dst),
              reverse = pairs_of(data.relations.back().src, data.relations.back().dst);
  std::size_t held = 0;
  for (const NodePairs* part : {&split.val, &split.test})
    for (const auto& [src, dst] : pairs_of(part->src, part->dst)) {
      const std::int64_t author = src - papers;  // types are numbered one behind the other
      ++held;
      ASSERT_TRUE(all.contains({author, dst}));
      EXPECT_FALSE(kept.contains({author, dst}));
      EXPECT_FALSE(reverse.contains({dst, author}));
    }
  EXPECT_NEAR(static_cast<double>(held), 0.4 * static_cast<double>(all.size()), 1);
  EXPECT_EQ(kept.size() + held, all.size());
  EXPECT_EQ(reverse.size(), kept.size());
  EXPECT_EQ(graph.num_edges(), std::ssize(kept));
  EXPECT_TRUE(same_bits(data.relations[2].src, before.relations[2].src));
  for (const NodePairs* part : {&split.val_negative, &split.test_negative})
    for (const auto& [src, dst] : pairs_of(part->src, part->dst)) {
      EXPECT_TRUE(src >= papers && src < papers + authors && dst >= 0 && dst < papers);
      EXPECT_FALSE(all.contains({src - papers, dst}));
    }
}

// Relations with the same edges are split apart, and have other negatives.
TEST(TrainHeteroLinkSplit, EachRelationDrawsItsOwnNumbers) {
  HeteroDataset data = knowledge();
  data.relations[1].src = data.relations[0].src, data.relations[1].dst = data.relations[0].dst;
  const std::vector<LinkRelation> links = take_relation_splits(data, link_options("rgcn", 1), kCpu);
  const EdgeSplit &one = links[0].split, &two = links[1].split;
  ASSERT_EQ(one.test.src.numel(), two.test.src.numel());
  EXPECT_NE(pairs_of(one.test.src, one.test.dst), pairs_of(two.test.src, two.test.dst));
  EXPECT_FALSE(same_bits(one.test_negative.dst, two.test_negative.dst));
}

// With all relations, the one that is a reverse is for messages alone.
TEST(TrainHeteroLinkSplit, BothDirectionsOfARelationAreOnePrediction) {
  HeteroDataset data = knowledge();
  const HeteroRelation likes = data.relations[0];
  data.relations.push_back({"rev_likes", 0, 0, likes.dst, likes.src});
  const std::vector<LinkRelation> links = take_relation_splits(data, link_options("rgcn", 1), kCpu);
  ASSERT_EQ(links.size(), 4U);
  EXPECT_FALSE(links[0].split.undirected);
  ASSERT_TRUE(links[2].split.undirected);  // "knows" has each edge in both directions
  const Pairs knows = pairs_of(data.relations[2].src, data.relations[2].dst),
              turned = pairs_of(data.relations[4].src, data.relations[4].dst);
  for (const auto& [src, dst] : pairs_of(links[2].split.test.src, links[2].split.test.dst)) {
    EXPECT_FALSE(knows.contains({src, dst}));
    EXPECT_FALSE(knows.contains({dst, src}));
  }
  for (const auto& [src, dst] : pairs_of(links[0].split.test.src, links[0].split.test.dst))
    EXPECT_FALSE(turned.contains({dst, src}));
}

// Whichever of the two has the prefix, and stands first.
TEST(TrainHeteroLinkSplit, ReversesAreFoundInEitherOrder) {
  HeteroDataset data = knowledge();
  const HeteroRelation likes = data.relations[0];
  data.relations.insert(data.relations.begin(), {"rev_likes", 0, 0, likes.dst, likes.src});
  const std::vector<LinkRelation> links = take_relation_splits(data, link_options("rgcn", 1), kCpu);
  std::vector<std::string> names;
  for (const LinkRelation& link : links) names.push_back(link.name);
  EXPECT_EQ(names, (std::vector<std::string>{"entity:rev_likes:entity", "entity:follows:entity",
                                             "entity:knows:entity", "entity:rare:entity"}));
  const Pairs turned = pairs_of(data.relations[1].src, data.relations[1].dst);
  EXPECT_LT(turned.size(), pairs_of(likes.src, likes.dst).size());
  for (const NodePairs* part : {&links[0].split.val, &links[0].split.test})
    for (const auto& [src, dst] : pairs_of(part->src, part->dst)) EXPECT_FALSE(turned.contains({dst, src}));
}

TEST(TrainHeteroLinkMetrics, AreMeansOverTheEdgesOfRelations) {
  const Tensor scores = Tensor::from<float>({3, 1, 2, 0, 5, 4, 2.5F, 6, 1.5F}, {9, 1});
  const PairCounts three{3, 6}, none{0, 0};
  // Relation a: an edge of score 3 and negatives 0 and 5. b: edges 1 and 2, negatives 4, 2.5, 6, 1.5.
  const PairRanking criterion(
      {1, 1}, {none, none, three}, kCpu,
      {.column = kRankingMrr, .relations = {{"a", {none, none, {1, 2}}}, {"b", {none, none, {2, 4}}}}});
  const double a = 1. / 2, b = (1. / 5 + 1. / 4) / 2;
  EXPECT_NEAR(criterion.metrics(scores).to_vector<double>()[4], (a + 2 * b) / 3, 1e-12);
  const auto details = criterion.details();
  ASSERT_EQ(details.size(), 6U);
  // A relation without edges in a set leaves nothing of the last evaluation.
  const PairRanking later(
      {1, 1}, {none, none, {2, 4}}, kCpu,
      {.column = kRankingMrr, .relations = {{"a", {none, none, none}}, {"b", {none, none, {2, 4}}}}});
  for (int i = 0; i < 2; ++i)
    EXPECT_NEAR(later.metrics(Tensor::from<float>({1, 2, 4, 2.5F, 6, 1.5F}, {6, 1})).to_vector<double>()[4],
                b, 1e-12);
  EXPECT_EQ(details[4].first, "MRR of a");
  EXPECT_NEAR(details[4].second, a, 1e-12);
  EXPECT_NEAR(details[5].second, b, 1e-12);
}

// Means are over edges, however many negatives a relation has.
TEST(TrainHeteroLinkMetrics, NegativesDoNotWeighRelations) {
  const PairCounts none{0, 0};
  // a: edge 3 among 5, 4, 2 and 0. b: edges 3 and 1, each among the one negative 2. Edges come first.
  const Tensor scores = Tensor::from<float>({3, 3, 1, 5, 4, 2, 0, 2}, {8, 1});
  for (const auto& [column, a, b] :
       {std::tuple{kRankingMrr, 1. / 3, 3. / 4}, {kRankingAuc, 1. / 2, 1. / 2}, {kRankingHits, 0., 1. / 2}}) {
    const PairRanking criterion({1, 1}, {none, none, {3, 5}}, kCpu,
                                {.column = column,
                                 .hits = 1,
                                 .relations = {{"a", {none, none, {1, 4}}}, {"b", {none, none, {2, 1}}}}});
    EXPECT_NEAR(criterion.metrics(scores).to_vector<double>()[4], (a + 2 * b) / 3, 1e-12) << column;
  }
}

TEST(TrainHeteroLinkFiles, WeightsSayWhatTheyAreOfAndARunIsResumed) {
  const TempDir dir;
  save_hetero_dataset(small_citations(), dir / "mag.h5");
  TrainOptions options = link_options("rgcn", 3, "cites");
  options.dataset = dir / "mag.h5";
  options.export_file = dir / "w.safetensors", options.report = dir / "r.html";
  options.checkpoint = dir / "checkpoint";
  RunObserver observer;
  const auto run = [&](int epochs, bool resume) {
    options.epochs = epochs, options.resume = resume;
    Recorder recorder(options, /*writes=*/true);
    return train_run({.file = options.dataset}, options, kCpu, {}, recorder, observer).summary;
  };
  run(3, false);
  const TrainSummary resumed = run(6, true);
  std::filesystem::remove_all(options.checkpoint);
  EXPECT_EQ(resumed.last.val_loss, run(6, false).last.val_loss);
  const WeightsInfo info = read_info(read_safetensors(options.export_file), "w");
  EXPECT_EQ(info.options.relation, "cites");
  EXPECT_EQ(info.options.task, TaskKind::kLink);
}

TEST(TrainHeteroLinkPredict, ScoresPairsOfTypesAndRelations) {
  const TempDir dir;
  HeteroDataset named = shop(), graph = knowledge();
  for (int i = 0; i < 60; ++i) named.types[1].node_names.push_back(str("i", i));
  save_hetero_dataset(named, dir / "shop.h5");
  save_hetero_dataset(graph, dir / "kg.h5");
  const auto export_weights = [&](const std::string& file, TrainOptions options) {
    options.dataset = dir / file, options.export_file = dir / (file + ".safetensors");
    RunObserver observer;
    Recorder recorder(options, /*writes=*/true);
    train_run({.file = options.dataset}, options, kCpu, {}, recorder, observer);
  };
  const auto scores = [&](const std::string& file, const std::string& pairs, const std::string& out) {
    write_file(dir / "pairs.csv", pairs);
    predict({.dataset = dir / file,
             .weights = dir / (file + ".safetensors"),
             .edges = dir / "pairs.csv",
             .out = dir / out,
             .device = "cpu",
             .quiet = true});
    return read_file(dir / out, 10'000);
  };
  export_weights("shop.h5", link_options("rgcn", 1, "buys"));
  const std::string text = scores("shop.h5", "user,item\n39,i3\n3,i0\n", "p.csv");
  const SafeTensors weights = read_safetensors(dir / "shop.h5.safetensors");
  const WeightsInfo info = read_info(weights, "w");
  const NodeRun run = make_hetero_prediction_run(named, info.types, info.num_classes, info.options, kCpu);
  run.model.module->load_state_dict(weights.tensors);
  run.model.module->eval();
  const NodePairs rows{Tensor::from(Ids{39, 3}), Tensor::from(Ids{43, 40})};  // items are behind the users
  const std::vector<float> want = run.model.predict({.pairs = &rows}).value().to_vector<float>();
  EXPECT_TRUE(text.starts_with(fmt::format("source,destination,score,probability\n39,i3,{},", want[0])))
      << text;
  EXPECT_NE(text.find(fmt::format("\n3,i0,{},", want[1])), text.npos) << text;
  export_weights("kg.h5", link_options("rgcn", 1));
  const std::string triples =
      scores("kg.h5", "3\tlikes\t7\n3\tentity:follows:entity\t7\n3\tlikes\t7\n", "p.tsv");
  EXPECT_TRUE(
      triples.starts_with("source\trelation\tdestination\tscore\tprobability\n3\tentity:likes:entity\t7\t"))
      << triples;
  std::istringstream in(triples);
  std::string header, first, second, third;
  std::getline(in, header), std::getline(in, first), std::getline(in, second), std::getline(in, third);
  EXPECT_EQ(first, third);
  const auto score_of = [](const std::string& line) { return line.substr(line.find("\t7\t")); };
  EXPECT_NE(score_of(first), score_of(second));  // its own weights
  const std::string where = dir / "pairs.csv";
  EXPECT_ERROR(scores("kg.h5", "3 hates 7\n4 hates 7\n", "p.csv"),
               where + ": line 2: the weights have no relation 'hates'");
  EXPECT_ERROR(scores("kg.h5", "3 likes\n", "p.csv"),
               where + ": line 1: expected source, relation and target, got '3 likes'");
  EXPECT_ERROR(scores("shop.h5", "39,i3\n40,i3\n", "p.csv"),
               where + ": line 2: the dataset has no node '40'");
}

TEST(TrainHeteroLinkOptions, SayWhatTheyNeed) {
  const auto error = [](HeteroDataset data, const TrainOptions& options) {
    return error_of([&] { make_hetero_run(std::move(data), options, kCpu); });
  };
  const std::string names =
      "entity:likes:entity, entity:follows:entity, entity:knows:entity, entity:rare:entity";
  EXPECT_EQ(error(knowledge(), link_options("rgcn", 1, "hates")),
            "--relation hates: kg has no such relation, but " + names);
  TrainOptions dot = link_options("rgcn", 1);
  dot.decoder = DecoderKind::kDot;
  EXPECT_EQ(error(knowledge(), dot),
            "--decoder dot scores a pair alike in all 4 relations of kg: give --decoder distmult, or "
            "--relation, one of " +
                names);
  HeteroDataset two = small_citations();
  two.relations[2].name = "writes";
  EXPECT_NE(
      error(two, link_options("rgcn", 1, "writes")).find("mag-like has several of that name: give one of "),
      std::string::npos);
  TrainOptions shares = link_options("rgcn", 1);
  shares.edge_split = "100/0/0";
  EXPECT_NE(error(knowledge(), shares).find("kg: the split leaves no validation edges"), std::string::npos);
  EXPECT_EQ(error(knowledge(), link_options("rgcn", 1, "rare")),
            "split: link prediction needs at least 3 edges, got 1");
}

}  // namespace
}  // namespace rodeo::test
