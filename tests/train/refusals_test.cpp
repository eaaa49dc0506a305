// What training and prediction refuse: each rule beside the nearest input that it accepts.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "datasets/synthetic_graphs.h"
#include "datasets/synthetic_hetero.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/adam.h"
#include "train/batch_sampler.h"
#include "train/commands/parse_options.h"
#include "train/commands/predict.h"
#include "train/commands/run_on_ranks.h"
#include "train/io/atomic_file.h"
#include "train/io/run_state.h"
#include "train/report/analysis.h"
#include "train/task/correct_and_smooth.h"
#include "train/task/hetero_task.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

/// The error of train_gcn with these words; empty without one.
std::string parsed(std::vector<const char*> words) {
  words.insert(words.begin(), {"train_gcn", "x.h5"});
  try {
    parse_train_options(static_cast<int>(words.size()), words.data(), {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TrainRefusals, OutputsThatExcludeEachOther) {
  const std::string one = " prints a table and --quiet one line: give one of them";
  EXPECT_EQ(parsed({"--quiet", "--per-class"}), "--per-class" + one + ", or --log FILE for the table");
  EXPECT_EQ(parsed({"--quiet", "--per-class", "--log", "l.jsonl"}), "");
  EXPECT_EQ(parsed({"--per-class"}), "");
  EXPECT_EQ(parsed({"--quiet", "--profile"}), "--profile" + one);
  EXPECT_EQ(parsed({"--quiet", "--explain"}), "--explain" + one);
  EXPECT_EQ(parsed({"--debug", "--on-nan", "continue"}),
            "--debug stops at the first result that is not finite: not with --on-nan continue");
  EXPECT_EQ(parsed({"--debug", "--on-nan", "stop"}), "");
  EXPECT_EQ(parsed({"--splits", "some"}), "--splits must be all, got 'some'; --split K takes one of them");
  EXPECT_EQ(parsed({"--splits", "all"}), "");
}

TEST(TrainRefusals, RanksThatCannotBeStarted) {
  TrainOptions options;
  EXPECT_EQ(num_ranks_to_start(options), 1);
  options.ranks = 2;
  EXPECT_EQ(num_ranks_to_start(options), 2);
  options.gpus = 1;
  EXPECT_ERROR(num_ranks_to_start(options),
               "--gpus and --ranks both say how many ranks to start: leave one out");
  options.ranks = 0, options.device = "cpu";
  EXPECT_ERROR(num_ranks_to_start(options),
               "--gpus needs --device cuda, got cpu: for processes on the CPU it is --ranks");
}

TEST(TrainRefusals, OptionsOfAnotherTask) {
  TrainOptions options = published_options("gin", TaskKind::kGraph);
  options.batch = 4;
  EXPECT_ERROR(apply_options({}, options),
               "--batch is for --task node and link: a set of graphs has --batch-graphs");
  options = published_options("sage", TaskKind::kLink);
  options.batch = 4;
  EXPECT_NO_THROW(apply_options({}, options));
  options.batch_by_parts = true;
  EXPECT_ERROR(apply_options({}, options),
               "--batch-by parts is for --task node: both nodes of a pair are rarely in one part");
}

TEST(TrainRefusals, LabelsThatAnOptionIsNotFor) {
  const auto error = [](const std::function<void(TrainOptions&)>& change, bool several) {
    Dataset data = tiny_dataset(60);
    if (several) data.y = Tensor::full({60, 2}, 1, DType::kU8), data.num_classes = 2;
    TrainOptions options = published_options("gcn");
    change(options);
    return error_of([&] { make_run(std::move(data), options, kCpu); });
  };
  const std::string weights =
      "--class-weights and --label-smoothing are for one label each, and this dataset has several";
  EXPECT_EQ(error([](auto& o) { o.class_weights = "1,2"; }, true), weights);
  EXPECT_EQ(error([](auto& o) { o.label_smoothing = 0.1; }, true), weights);
  EXPECT_EQ(error([](auto& o) { o.metric = NodeMetric::kMacroF1; }, true),
            "--metric macro-f1 is for one label each, and this dataset has several: use roc-auc or ap");
  EXPECT_EQ(error([](auto& o) { o.class_weights = "0,0,0,0,0,0,0"; }, false),
            "--class-weights: all classes of the training nodes have weight 0");
  const Dataset set = synthesize_graphs({.graphs = 6});
  EXPECT_ERROR(make_run(Dataset(set), published_options("gcn"), kCpu),
               "graphs: has no labels of nodes: it is a set of graphs, for task graph");
}

TEST(TrainRefusals, SplitsWithoutNodes) {
  const NodeRun run = make_run(tiny_dataset(60), published_options("gcn"), kCpu);
  const Tensor y = run.task.label, some = Tensor::from<std::int64_t>({0, 1});
  const auto error = [&](const Split& split) {
    return error_of([&] {
      Trainer(
          *run.model.module, [] { return Variable(); }, {{run.model.module->parameters(), {}}}, y, split);
    });
  };
  EXPECT_EQ(error({{}, some, some}), "[train] the split has undefined nodes");
  EXPECT_EQ(error({some, {}, some}), "[train] the split has undefined nodes");
  EXPECT_EQ(error({some, some, {}}), "[train] the split has undefined test nodes");
}

TEST(TrainRefusals, SeveralTypesOfNodes) {
  const HeteroDataset data = synthesize_hetero({.preset = "mag", .nodes = 600, .features = 8, .classes = 4}),
                      all = synthesize_hetero(
                          {.preset = "mag", .nodes = 600, .features = 8, .classes = 4, .all_features = true});
  TrainOptions options = published_options("rgcn");
  options.undirected = true, options.precision = Precision::kBf16;
  EXPECT_ERROR(
      make_hetero_run(data, options, kCpu),
      "--precision bf16 is for features of all node types, and author has none: its trainable rows are "
      "fp32");
  EXPECT_NO_THROW(make_hetero_run(all, options, kCpu));
  HeteroDataset renamed = data;
  renamed.types[static_cast<std::size_t>(renamed.target)].name = "text";
  const TrainedTypes trained{.types = {}, .relations = {}, .target = "paper"};
  EXPECT_ERROR(make_hetero_prediction_run(renamed, trained, 4, published_options("rgcn"), kCpu),
               "mag-like: has no node type paper, whose nodes the weights predict");
}

TEST(TrainRefusals, RunsAtATime) {
  const TempDir dir;
  Dataset data = tiny_dataset(60);
  save_dataset(data, dir / "x.h5");
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {command("train_gcn"), dir / "x.h5", "--device", "cpu", "--epochs", "1"});
    EXPECT_EQ(wait_for(start(more, dir / "out", dir / "err")), 2);
    return read_file(dir / "err", 1 << 16);
  };
  EXPECT_EQ(refused({"--parallel", "2"}),
            "train_gcn: --parallel is for several runs: with --seeds, --splits all or folds\n");
  data.split = {};
  save_dataset(data, dir / "x.h5");
  EXPECT_EQ(refused({"--splits", "all"}),
            "train_gcn: " + (dir / "x.h5") + ": --splits all needs masks, and the file has none\n");
}

TEST(TrainModelText, NamesWhatIsNotRead) {
  Dataset data = tiny_dataset(60);
  const auto text = [&](const char* model) {
    return make_run(Dataset(data), published_options(model), kCpu).model.text;
  };
  const std::string plain = text("sage");
  EXPECT_EQ(plain.find("edge weights"), std::string::npos);
  data.edge_weight = Tensor::full({data.num_edges()}, 2);
  EXPECT_EQ(text("sage"), plain + ", edge weights not used");
  EXPECT_EQ(text("gcn").find("not used"), std::string::npos);
}

TEST(TrainRefusals, StatesThatAreNone) {
  const NodeRun run = make_run(tiny_dataset(60), published_options("gcn"), kCpu);
  Trainer trainer = make_trainer(run, {.epochs = 3});
  trainer.fit();
  TrainerState state = trainer.state();
  EXPECT_NO_THROW(trainer.restore(state));
  state.best_epoch = state.epoch + 1;
  EXPECT_ERROR(trainer.restore(state), "[train] epoch 3 with the best epoch 4 is no state of a run");
  state.best_epoch = -1;
  EXPECT_ERROR(trainer.restore(state), "[train] epoch 3 with the best epoch -1 is no state of a run");
  state.best_epoch = 0, state.epoch = -1;
  EXPECT_ERROR(trainer.restore(state), "[train] epoch -1 with the best epoch 0 is no state of a run");
  state.epoch = 3, state.batch = 1;
  EXPECT_ERROR(
      trainer.restore(state),
      "[train] the state is of mini-batch 1 of an epoch, and training without mini-batches cannot go "
      "on from there");
  EXPECT_ERROR(make_trainer(run, {.clip_norm = -1}), "[train] clip_norm must not be negative, got -1");
  EXPECT_NO_THROW(check_goes_on(2, 5, 4));
  EXPECT_ERROR(check_goes_on(2, 5, 5), "[train] epoch 2 has 5 batches: it cannot go on after 5");
  EXPECT_ERROR(check_goes_on(2, 5, -1), "[train] epoch 2 has 5 batches: it cannot go on after -1");
  const auto adam = [&](double lr, double decay) {
    return error_of([&] { Adam({{run.model.module->parameters(), {.lr = lr, .weight_decay = decay}}}); });
  };
  EXPECT_EQ(adam(-1, 0), "[adam] lr and weight_decay must not be negative, got -1 and 0");
  EXPECT_EQ(adam(0, -2), "[adam] lr and weight_decay must not be negative, got 0 and -2");
  EXPECT_NO_THROW(Adam({{run.model.module->parameters(), {.lr = 0, .weight_decay = 0}}}));
  EXPECT_ERROR(names_of({Variable(Tensor::zeros({1}), true)}, *run.model.module),
               "[train] a trained parameter is none of the model's");
}

TEST(TrainRefusals, ShapesOfSmoothingAndPlanes) {
  const auto graph = [](std::int64_t columns) {
    return Adjacency({2, columns, Tensor::from<std::int64_t>({0, 1, 2}), Tensor::from<std::int32_t>({1, 0})});
  };
  const Tensor p = Tensor::full({2, 2}, 0.5), y = Tensor::from<std::int64_t>({0, 1}), one = y.slice(0, 1);
  const std::string smooth =
      "[correct_and_smooth] the graph must be square, probability [nodes, classes] and label [nodes], got ";
  EXPECT_NO_THROW(correct_and_smooth(graph(2), p, y, one));
  EXPECT_ERROR(correct_and_smooth(graph(3), p, y, one), smooth + "2 x 3, [2, 2] and [2]");
  EXPECT_ERROR(correct_and_smooth(graph(2), p.reshape({4}), y, one), smooth + "2 x 2, [4] and [2]");
  EXPECT_ERROR(correct_and_smooth(graph(2), p.slice(0, 1), y, one), smooth + "2 x 2, [1, 2] and [2]");
  EXPECT_ERROR(correct_and_smooth(graph(2), p, one, one), smooth + "2 x 2, [2, 2] and [1]");
  const std::string labels = "[label_propagation] the graph must be square and label [nodes], got ";
  EXPECT_NO_THROW(label_propagation(graph(2), y, one, 2));
  EXPECT_ERROR(label_propagation(graph(3), y, one, 2), labels + "2 x 3, [2]");
  EXPECT_ERROR(label_propagation(graph(2), one, one, 2), labels + "2 x 2, [1]");
  EXPECT_ERROR(principal_plane(y), "[principal_plane] x must be [n, d], got [2]");
}

/// A file of 60 nodes, and untrained weights.
struct TrainPredictRefusals : testing::Test {
  void write(TrainOptions model, Dataset data, bool regression = false) {
    model.normalize_features = FeatureScaling::kNone;
    options.dataset = dir / "g.h5", options.weights = dir / "w.safetensors", options.device = "cpu";
    options.out = dir / "p.csv", options.quiet = true;
    save_dataset(data, options.dataset);
    WeightsInfo info;
    info.options = model, info.dataset = data.name, info.num_features = data.num_features;
    info.num_classes = data.num_classes, info.regression = regression;
    const NodeRun run = make_run(std::move(data), model, kCpu);
    write_safetensors(options.weights, pack_weights(run.model.module->state_dict(), info));
  }
  std::string error() const {
    return error_of([&] { predict(options); });
  }
  const TempDir dir;
  PredictOptions options;
};

TEST_F(TrainPredictRefusals, ScoresByClassNeedClasses) {
  Dataset data = tiny_dataset(60);
  write(published_options("gcn"), data);
  EXPECT_NO_THROW(predict(options));
  options.per_class = true, options.quiet = false;
  testing::internal::CaptureStdout();
  EXPECT_NO_THROW(predict(options));
  EXPECT_NE(testing::internal::GetCapturedStdout().find("precision"), std::string::npos);
  data.y = {}, data.split = {};
  save_dataset(data, options.dataset);
  EXPECT_EQ(error(), options.dataset + ": has no labels, which --per-class compares with");
  data.y = Tensor::full({60}, 7, DType::kI64), data.num_classes = 8;
  save_dataset(data, options.dataset);
  EXPECT_EQ(error(),
            options.dataset +
                ": its labels are of other classes than those of the weights, 7: not with --per-class");

  Dataset numbers = tiny_dataset(60);
  numbers.y = random_tensor({60, 1}, DType::kF32, kCpu, 1), numbers.num_classes = 1;
  write(published_options("gcn"), numbers, /*regression=*/true);
  EXPECT_EQ(error(), "--per-class is for classes, which these weights do not predict");
  options.per_class = false, options.correct_and_smooth = true;
  EXPECT_EQ(error(), "--correct-and-smooth is for one class a node, which these weights do not predict");
}

TEST_F(TrainPredictRefusals, WhatAModelOrFileHasNot) {
  write(published_options("sgc"), tiny_dataset(60));
  EXPECT_NO_THROW(predict(options));
  options.embeddings = true;
  EXPECT_TRUE(error().starts_with("--embeddings: SGC, ")) << error();
  EXPECT_TRUE(error().ends_with(" has no hidden layer whose outputs are rows of nodes")) << error();
  options.embeddings = false;
  options.edges = dir / "pairs.txt";
  EXPECT_EQ(error(), "--edges is for weights of --task link, got " + options.weights + ", of --task node");
  options.edges = {};
  write(published_options("gin", TaskKind::kGraph), synthesize_graphs({.graphs = 20}));
  EXPECT_NO_THROW(predict(options));
  Dataset one = tiny_dataset(60);
  one.x = random_tensor({60, 4}, DType::kF32, kCpu, 1), one.num_features = 4;
  save_dataset(one, options.dataset);
  EXPECT_EQ(error(), options.dataset + ": has no /graph_ptr: " + options.weights +
                         " are weights for the graphs of a set");
}

// Logits are logarithms of shares, and of a share of 0 that of 1e-30.
TEST_F(TrainPredictRefusals, LogitsOfLabelPropagation) {
  Dataset data = tiny_dataset(60);
  options.dataset = dir / "g.h5", options.out = dir / "p.csv", options.device = "cpu", options.quiet = true;
  options.logits = true;  // and no weights
  data.num_classes = 8;   // the last one has no nodes
  save_dataset(data, options.dataset);
  predict(options);
  const Graph graph = to_graph(data, kCpu, {.symmetrize = true});
  const std::vector<double> share =
      label_propagation(graph.adj, data.y, data.split.train, data.num_classes).to_vector<double>();
  std::istringstream lines(read_file(options.out, 1 << 20));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("node,class,logit_0,")) << line;
  std::size_t at = 0;
  int none = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string field;
    std::getline(fields, field, ',');
    std::getline(fields, field, ',');
    while (std::getline(fields, field, ',')) {
      ASSERT_LT(at, share.size());
      EXPECT_NEAR(std::stod(field), std::log(std::max(static_cast<float>(share[at]), 1e-30f)), 1e-4) << line;
      none += share[at++] == 0;
    }
  }
  EXPECT_EQ(at, share.size());
  EXPECT_GT(none, 0) << "shares of the last class";
}

TEST_F(TrainPredictRefusals, CommandLines) {
  const auto parse = [](std::vector<const char*> words) {
    words.insert(words.begin(), "rodeo_predict");
    return error_of([&] { parse_predict_options(static_cast<int>(words.size()), words.data()); });
  };
  EXPECT_EQ(parse({}), "--dataset FILE is required; see --help");
  EXPECT_EQ(parse({"--dataset="}), "--dataset needs a value");
  EXPECT_EQ(parse({"--dataset", "d"}), "--weights FILE is required; see --help");
  EXPECT_EQ(parse({"--dataset", "d", "--weights", "--quiet"}), "--weights needs a value");
  EXPECT_EQ(parse({"--dataset", "d", "--weights", "w", "--out", "p.csv", "stray"}),
            "unexpected argument 'stray'; see --help");
  EXPECT_EQ(parse({"--dataset", "d", "--weights", "w", "--out", "p.csv", "--quiet", "--per-class"}),
            "--per-class prints a table and --quiet nothing: give one of them");
  for (const char* other : {"--model", "--edges", "--embeddings", "--correct-and-smooth"}) {
    std::vector<const char*> words = {"--dataset", "d", "--out", "p.csv", "--label-propagation", other};
    if (*(other + 2) == 'm') words.push_back("gcn");
    if (std::string_view(other) == "--edges") words.push_back("e");
    EXPECT_EQ(parse(words), str("--label-propagation has no model: not with ", other));
  }
}

}  // namespace
}  // namespace rodeo::test
