// --task link: the objective learns, is the same in every run, and does not see the edges it is tested on.
#include "train/task/link_task.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "datasets/hdf5_file.h"
#include "datasets/hdf5_writer.h"
#include "ops/combine.h"
#include "ops/convert.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/parse_options.h"
#include "train/commands/predict.h"
#include "train/commands/recorder.h"
#include "train/io/atomic_file.h"
#include "train/io/run_state.h"
#include "train/task/memory_estimate.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

class TrainLinkTask : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainLinkTask);

/// Communities of 40 nodes each, which links stay in.
Dataset communities() {
  SyntheticOptions options;
  options.nodes = 280;
  options.edges = 2800;
  options.features = 40;
  options.skew = 0;
  options.homophily = 0.95;
  options.split = "50/25/25";
  return synthesize(options);
}

TrainOptions link_options(std::string_view model, int epochs = 60) {
  TrainOptions options = published_options(model, TaskKind::kLink);
  options.epochs = epochs;
  options.embedding = 16;
  options.normalize_features = FeatureScaling::kNone;
  options.spmm = SpmmAlgorithm::kRode;
  return options;
}

struct Result {
  TrainSummary summary;
  std::vector<std::pair<std::string, double>> details;
  StateDict state;
};

Result train(const TrainOptions& options, Device device, bool cuda_graph = true) {
  const NodeRun run = make_run(communities(), options, device);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs, .cuda_graph = cuda_graph});
  const TrainSummary summary = trainer.fit();
  return {summary, run.model.parts.metrics->details(), run.model.module->state_dict()};
}

TEST_P(TrainLinkTask, LearnsWithEveryDecoderTheSameInEveryRun) {
  for (const DecoderKind decoder : {DecoderKind::kDot, DecoderKind::kMlp, DecoderKind::kBilinear}) {
    TrainOptions options = link_options("gcn");
    options.decoder = decoder;
    const Result one = train(options, device()), two = train(options, device(), /*cuda_graph=*/false);
    EXPECT_GT(one.summary.best.test, 0.8) << name(decoder);
    EXPECT_EQ(one.summary.last.test, one.details.at(0).second);
    for (std::size_t i = 0; i < one.state.size(); ++i)
      EXPECT_TRUE(same_bits(one.state[i].second, two.state[i].second)) << one.state[i].first;
  }
}

TEST_P(TrainLinkTask, EveryModelIsAnEncoder) {
  for (const ModelEntry& model : model_registry()) {
    const Result result = train(link_options(model.name, 30), device());
    // PNA has many more parameters than the others, and learns 280 nodes by heart.
    EXPECT_GT(result.summary.best.test, model.name == "pna" ? 0.55 : 0.7) << model.name;
  }
}

TEST_P(TrainLinkTask, MetricsDecideTheBestEpoch) {
  const std::vector<std::pair<RankingMetric, std::string>> metrics = {
      {kRankingAuc, "AUC"}, {kRankingAp, "AP"}, {kRankingMrr, "MRR"}, {kRankingHits, "Hits@7"}};
  for (const auto& [metric, text] : metrics) {
    TrainOptions options = link_options("gcn", 5);
    options.link_metric = metric;
    options.hits = 7;
    const NodeRun run = make_run(communities(), options, device());
    EXPECT_EQ(run.task.metric, text);
    Trainer trainer = make_trainer(run, {.epochs = 5});
    const TrainSummary summary = trainer.fit();
    const auto details = run.model.parts.metrics->details();
    EXPECT_EQ(details.at(static_cast<std::size_t>(metric)).first, text);
    EXPECT_EQ(details.at(static_cast<std::size_t>(metric)).second, summary.last.test);
  }
}

TEST_P(TrainLinkTask, EdgesInBothPartsAreCounted) {
  Dataset rest = communities();
  EdgeSplit split = take_edge_split(rest, {}, {});
  const auto warnings = [&] {
    return make_run(DataSource{.dataset = communities(), .edge_split = split}, link_options("gcn", 1),
                    device())
        .task.warnings;
  };
  const std::size_t before = warnings().size();
  split.val = {concat_rows(std::vector{split.val.src, split.test.src.slice(0, 2)}),
               concat_rows(std::vector{split.val.dst, split.test.dst.slice(0, 2)})};
  const std::vector<std::string> now = warnings();
  ASSERT_EQ(now.size(), before + 1);
  EXPECT_EQ(now.back(), str("2 of ", split.val.src.numel(),
                            " validation edges are test edges, too: both parts are scored on them"));
}

TEST_P(TrainLinkTask, AnEdgeIsRankedAmongItsOwnNegatives) {
  Dataset rest = communities();
  EdgeSplit split = take_edge_split(rest, {}, {});
  split.test_by_edge = true;  // one negative each
  TrainOptions options = link_options("gcn", 4);
  options.link_metric = kRankingMrr, options.hits = 1;
  const NodeRun run = make_run(DataSource{.dataset = communities(), .edge_split = split}, options, device());
  const double last = make_trainer(run, {.epochs = 4}).fit().last.test;
  run.model.module->eval();
  const std::vector<double> score = doubles(run.model.parts.forward({}).value());
  const std::size_t k = static_cast<std::size_t>(split.test.src.numel()), first = score.size() - 2 * k;
  double mrr = 0, hits = 0;
  for (std::size_t i = first; i < first + k; ++i) {
    const double above = score[i + k] > score[i] ? 1 : score[i + k] == score[i] ? 0.5 : 0;
    mrr += 1 / (1 + above), hits += above == 0 ? 1 : 0;
  }
  EXPECT_NEAR(last, mrr / static_cast<double>(k), 1e-12);
  EXPECT_NEAR(run.model.parts.metrics->details()[kRankingHits].second, hits / static_cast<double>(k), 1e-12);
}

TEST_P(TrainLinkTask, HitsAmongFewerNegativesAreNamed) {
  Dataset rest = communities();
  EdgeSplit split = take_edge_split(rest, {}, {});
  split.test_by_edge = true;  // one negative each
  TrainOptions options = link_options("gcn", 1);
  const auto warnings = [&] {
    return make_run(DataSource{.dataset = communities(), .edge_split = split}, options, device())
        .task.warnings;
  };
  options.hits = 1;
  const std::size_t before = warnings().size();
  options.hits = 2;
  const std::string why = "Hits@2 of the test edges is 1 for all scores: each is ranked among 1 negative";
  ASSERT_EQ(warnings().size(), before + 1);
  EXPECT_EQ(warnings().back(), why);
  options.link_metric = kRankingHits;
  EXPECT_ERROR(warnings(), "--link-metric hits: " + why + ": give --hits of at most 1");
  split.test_by_edge = false;
  options.hits = split.val.src.numel();
  EXPECT_EQ(warnings().size(), before);
  ++options.hits;
  EXPECT_ERROR(warnings(),
               str("--link-metric hits: Hits@", options.hits,
                   " of the validation edges is 1 for all scores: each is ranked among ",
                   split.val.src.numel(), " negatives: give --hits of at most ", split.val.src.numel()));
}

TEST_P(TrainLinkTask, ASetOfGraphsIsRefused) {
  Dataset dataset = communities();
  dataset.graph_ptr = Tensor::from(std::vector<std::int64_t>{0, 100, dataset.num_nodes});
  EXPECT_ERROR(
      make_run(dataset, link_options("gcn", 1), device()),
      dataset.name + ": is a set of 2 graphs, for --task graph: --task link predicts edges of one graph");
}

TEST_P(TrainLinkTask, NodeOrderChangesNoPair) {
  TrainOptions options = link_options("gcn", 1);
  const double before = train(options, device()).summary.last.val;
  options.reorder = NodeOrder::kRcm;
  EXPECT_NEAR(train(options, device()).summary.last.val, before, 0.2);
  options.epochs = 60;
  EXPECT_GT(train(options, device()).summary.best.test, 0.8);
}

// A model that read the edges of its batch would know the answer.
TEST(TrainLinkBatches, MessagesDoNotPassOverTheEdgesOfTheBatch) {
  TrainOptions options = link_options("sage");
  options.batch = 50;
  options.fanout = "-1,-1";
  const NodeRun run = make_run(communities(), options, kCpu);
  const TrainerParts parts = trainer_parts(run);
  parts.source->begin_epoch({});
  const StepInput& in = *parts.source->next();
  const auto target = in.batch->targets.to_vector<std::int64_t>(),
             src = in.pairs->src.to_vector<std::int64_t>(), dst = in.pairs->dst.to_vector<std::int64_t>();
  ASSERT_EQ(src.size(), 100U);  // 50 edges, then as many pairs without one
  std::set<std::pair<std::int64_t, std::int64_t>> edges;
  for (std::size_t i = 0; i < 50; ++i) {
    edges.emplace(target[src[i]], target[dst[i]]);
    edges.emplace(target[dst[i]], target[src[i]]);
  }
  for (const Block& block : in.batch->blocks) {
    const auto node = block.sources.to_vector<std::int64_t>();
    const auto row = edge_rows(block.adj).to_vector<std::int32_t>(),
               col = block.adj.csr().col.to_vector<std::int32_t>();
    EXPECT_GT(row.size(), 1000U);
    for (std::size_t e = 0; e < row.size(); ++e)
      ASSERT_FALSE(edges.contains({node[col[e]], node[row[e]]})) << node[col[e]] << " -> " << node[row[e]];
  }
  parts.source->end_epoch();
}

TEST(TrainLinkOptions, DefaultsRowsAndErrors) {
  const auto parse = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), {"rodeo_train", "--model", "gcn", "--dataset", "g.h5"});
    TrainOptions defaults;
    defaults.choose_model = true;
    return parse_train_options(static_cast<int>(arguments.size()), arguments.data(), defaults);
  };
  const TrainOptions link = parse({"--task", "link", "--decoder", "mlp", "--edge-split", "80/10/10"});
  EXPECT_EQ(link.task, TaskKind::kLink);
  EXPECT_EQ(link.hidden, 128);
  EXPECT_EQ(link.weight_decay, 0);
  EXPECT_EQ(link.decoder, DecoderKind::kMlp);
  EXPECT_EQ(link.edge_split, "80/10/10");
  EXPECT_EQ(parse({}).task, TaskKind::kNode);
  EXPECT_ERROR(parse({"--task", "edge"}), "--task must be node, link or graph, got 'edge'");
  EXPECT_ERROR(parse({"--task", "link", "--link-metric", "f1"}),
               "--link-metric must be auc, ap, mrr or hits, got 'f1'");
  EXPECT_THROW(parse({"--decoder", "dot"}), Error);  // an option of --task link
  EXPECT_THROW(parse({"--task", "link", "--split", "60/20/20"}), Error);
}

TEST(TrainLinkFiles, WeightsDescribeTheTaskAndARunIsResumed) {
  const TempDir dir;
  TrainOptions options = link_options("gcn", 6);
  options.export_file = dir / "w.safetensors";
  options.checkpoint = dir / "run";
  options.checkpoint_every = 1;
  const auto run_to = [&](int epochs, bool resume) {
    options.epochs = epochs;
    options.resume = resume;
    const NodeRun run = make_run(communities(), options, kCpu);
    Recorder recorder(options);
    Trainer trainer = make_trainer(run, {.epochs = epochs});
    recorder.start(run, trainer, "here");
    const TrainSummary summary = trainer.fit([&](const EpochReport& report) { recorder.epoch(report); });
    recorder.finish(summary);
    return run.model.module->state_dict();
  };
  run_to(3, false);
  const StateDict resumed = run_to(6, true);
  std::filesystem::remove_all(options.checkpoint);
  const StateDict whole = run_to(6, false);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(same_bits(resumed[i].second, whole[i].second));
  const WeightsInfo info = read_info(read_safetensors(options.export_file), "w");
  EXPECT_EQ(info.options.task, TaskKind::kLink);
  EXPECT_EQ(info.options.embedding, 16);
  EXPECT_GT(estimate_step_bytes(make_run(communities(), options, kCpu), options), 0);
}

/// A dataset in a file, and weights trained on it.
struct Trained {
  TempDir dir;
  PredictOptions options;

  Trained() {
    Dataset data = communities();
    for (std::int64_t i = 0; i < data.num_nodes; ++i) data.node_names.push_back(str("n", i));
    save_dataset(data, dir / "g.h5");
    TrainOptions train = link_options("gcn", 40);
    train.export_file = dir / "w.safetensors";
    const NodeRun run = make_run(std::move(data), train, kCpu);
    Recorder recorder(train);
    Trainer trainer = make_trainer(run, {.epochs = 40});
    recorder.start(run, trainer, "here");
    recorder.finish(trainer.fit([&](const EpochReport& report) { recorder.epoch(report); }));
    options.dataset = dir / "g.h5";
    options.weights = dir / "w.safetensors";
    options.edges = dir / "e.csv";
    options.device = "cpu";
    options.quiet = true;
  }
  std::string error(const std::string& edges) {
    write_file(options.edges, edges);
    return error_of([&] { predict(options); });
  }
};

TEST(TrainLinkPredict, ScoresPairsOfAFile) {
  Trained t;
  write_file(t.options.edges, "a,b\nn0,n1\nn1,n0\nn7,n9\n");
  t.options.out = t.dir / "p.csv";
  predict(t.options);
  const std::string text = read_file(t.options.out, 10'000);
  EXPECT_TRUE(text.starts_with("source,destination,score,probability\nn0,n1,")) << text;
  Hdf5Writer edges(t.dir / "e.h5");
  edges.write("edges", Tensor::from<std::int64_t>({0, 1, 7, 1, 0, 9}, {2, 3}));
  edges.commit();
  t.options.edges = t.dir / "e.h5";
  t.options.out = t.dir / "p.h5";
  predict(t.options);
  const Hdf5File file(t.options.out);
  const auto score = file.array("score").read(DType::kF32).to_vector<float>(),
             probability = file.array("probability").read(DType::kF32).to_vector<float>();
  EXPECT_EQ(score[0], score[1]);  // the dot product is symmetric
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(probability[i], 1 / (1 + std::exp(-score[i])), 1e-6);
  EXPECT_NE(text.find(fmt::format("n7,n9,{},", score[2])), text.npos) << text;
}

TEST(TrainLinkPredict, Errors) {
  Trained t;
  const std::string where = t.options.edges + ": ";
  t.options.out = t.dir / "p.csv";
  EXPECT_EQ(t.error("n0,n1\nn0,x\n"), where + "line 2: the dataset has no node 'x'");
  EXPECT_EQ(t.error("n0\n"), where + "line 1: expected two nodes, got 'n0'");
  EXPECT_EQ(t.error("# nothing\n"), where + "has no pair of nodes");
  t.options.out = t.dir / "p.txt";
  EXPECT_EQ(t.error("n0 n1\n"),
            str("--out ", t.options.out, ": unknown suffix '.txt': expected .h5, .hdf5, .csv or .tsv"));
  t.options.out = t.dir / "p.csv";
  t.options.edges = "/dev/zero";
  EXPECT_EQ(error_of([&] { predict(t.options); }), "/dev/zero: is a device, not a file of pairs");
  t.options.edges.clear();
  EXPECT_EQ(error_of([&] { predict(t.options); }), str("--edges FILE is required: pairs to score by ",
                                                       t.options.weights, ", weights of --task link"));
}

}  // namespace
}  // namespace rodeo::test
