// Models of several node types and relations: learn from files, are the same in every run, and say what they
// cannot do.
#include "train/task/hetero_task.h"

#include <cmath>
#include <filesystem>
#include <functional>

#include "datasets/hdf5_file.h"
#include "datasets/synthetic_hetero.h"
#include "ops/gather_rows.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/adam.h"
#include "train/commands/console_run.h"
#include "train/commands/parse_options.h"
#include "train/commands/predict.h"
#include "train/commands/train_run.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

class TrainHeteroTask : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainHeteroTask);

HeteroDataset small_citations() {
  return synthesize_hetero({.preset = "mag", .nodes = 600, .features = 8, .classes = 4});
}

TrainOptions node_options(std::string_view model, int epochs) {
  TrainOptions options = published_options(model);
  options.epochs = epochs;
  options.undirected = true;
  options.hidden = find_model(model).conv->traits.heads ? 4 : 16;
  return options;
}

struct TrainedRelations {
  TrainSummary summary;
  StateDict state;
};

/// With a captured CUDA graph and without, the bits are the same.
TrainedRelations train(const TrainOptions& options, Device device, bool cuda_graph = true) {
  const NodeRun run = make_hetero_run(small_citations(), options, device);
  Trainer trainer = make_trainer(run, {.epochs = options.epochs, .cuda_graph = cuda_graph});
  const TrainSummary summary = trainer.fit();
  return {summary, run.model.module->state_dict()};
}

TEST_P(TrainHeteroTask, EveryModelLearnsTheSameInEveryRun) {
  for (const ModelEntry& entry : hetero_model_registry()) {
    const TrainOptions options = node_options(entry.name, 20);
    const TrainedRelations one = train(options, device()),
                           two = train(options, device(), /*cuda_graph=*/false);
    EXPECT_GT(one.summary.best.val, 0.5) << entry.name;  // chance is a quarter
    ASSERT_EQ(one.state.size(), two.state.size());
    for (std::size_t i = 0; i < one.state.size(); ++i)
      EXPECT_TRUE(same_bits(one.state[i].second, two.state[i].second))
          << entry.name << " " << one.state[i].first;
  }
}

TEST_P(TrainHeteroTask, DecomposedWeightsLearnTheSameInEveryRun) {
  for (const bool blocks : {false, true}) {
    SCOPED_TRACE(blocks);
    TrainOptions options = node_options("rgcn", 20);
    (blocks ? options.blocks : options.bases) = 4;
    const TrainedRelations one = train(options, device()),
                           two = train(options, device(), /*cuda_graph=*/false);
    EXPECT_GT(one.summary.best.val, 0.5);  // chance is a quarter
    EXPECT_EQ(one.summary.last.val_loss, two.summary.last.val_loss);
    const auto weight = std::ranges::find(one.state, "convs.0.weight", &StateDict::value_type::first);
    ASSERT_NE(weight, one.state.end());
    EXPECT_EQ(weight->second.shape(), blocks ? Shape({8, 4, 4, 4}) : Shape({4, 16, 16}));
  }
}

TEST_P(TrainHeteroTask, BatchesOfAllNeighboursPredictTheWholeGraph) {
  for (const ModelEntry& entry : hetero_model_registry()) {
    SCOPED_TRACE(entry.name);
    TrainOptions options = node_options(entry.name, 1);
    options.batch = 50, options.fanout = "-1,-1";
    options.trunk.norm = TrunkNorm::kLayer;
    const NodeRun run = make_hetero_run(small_citations(), options, device());
    run.model.module->eval();
    const NoGrad no_grad;
    const Tensor whole = run.model.forward().value();
    for (const std::vector<std::int64_t>& ids : {std::vector<std::int64_t>{7, 0, 30}, {227}}) {
      const Tensor nodes = Tensor::from(ids, device());
      const SampledBatch batch = run.model.mini_batches->sampler.sample(nodes);
      EXPECT_TRUE(
          near(run.model.predict({.batch = &batch}).value(), doubles(gather_rows(whole, nodes)), 1e-5, 1e-5));
    }
  }
}

// --pre-linear 0: the first layer reads the features of all types as they are.
TEST_P(TrainHeteroTask, FeaturesAreReadAsTheyAre) {
  const HeteroDataset data =
      synthesize_hetero({.preset = "mag", .nodes = 600, .features = 8, .classes = 4, .all_features = true});
  for (const ModelEntry& entry : hetero_model_registry()) {
    SCOPED_TRACE(entry.name);
    TrainOptions options = node_options(entry.name, 20);
    options.trunk.pre_linear = 0;
    options.batch = 50, options.fanout = "-1,-1";
    const NodeRun run = make_hetero_run(data, options, device());
    EXPECT_GT(make_trainer(run, {.epochs = options.epochs}).fit().best.val, 0.5);  // chance is a quarter
    run.model.module->eval();
    const NoGrad no_grad;
    const Tensor nodes = Tensor::from(std::vector<std::int64_t>{7, 0, 30}, device());
    const SampledBatch batch = run.model.mini_batches->sampler.sample(nodes);
    EXPECT_TRUE(near(run.model.predict({.batch = &batch}).value(),
                     doubles(gather_rows(run.model.forward().value(), nodes)), 1e-5, 1e-5));
    EXPECT_ERROR(make_hetero_run(small_citations(), options, device()),
                 "--pre-linear 0 is for features of all node types: author has none");
  }
}

TEST_P(TrainHeteroTask, FeaturesAsTheyAreAreHeldOnce) {
  const HeteroDataset data = synthesize_hetero(
      {.preset = "mag", .nodes = 2000, .features = 10'000, .classes = 4, .all_features = true});
  TrainOptions options = node_options("rgcn", 1);
  options.trunk.pre_linear = 0;
  const std::int64_t bytes = 4 * data.num_nodes() * 10'000, before = memory_stats(device()).current;
  const NodeRun run = make_hetero_run(data, options, device());
  EXPECT_EQ(run.task.name, "mag-like");
  EXPECT_EQ(run.task.x.dim(0), data.num_nodes());
  std::int64_t largest = 0;
  for (const Dataset& type : data.types) largest = std::max(largest, 4 * type.num_nodes * 10'000);
  // A GPU has the largest type twice beside the result, as it was read and scaled; the host converts in
  // place.
  const std::int64_t beside = device().is_cuda() ? 2 * largest + bytes / 16 : bytes / 4 * 3;
  EXPECT_LT(run.task.convert_peak_bytes - before, bytes + beside);
}

TEST_P(TrainHeteroTask, BatchesLearnTheSameInEveryRun) {
  for (const std::string_view model : {"rgcn", "rgat"}) {
    TrainOptions options = node_options(model, 12);
    options.batch = 64, options.fanout = "5,3";
    const TrainedRelations one = train(options, device()), two = train(options, device());
    EXPECT_GT(one.summary.best.val, 0.5) << model;  // chance is a quarter
    for (std::size_t i = 0; i < one.state.size(); ++i)
      EXPECT_TRUE(same_bits(one.state[i].second, two.state[i].second)) << model << " " << one.state[i].first;
    options.eval_sampled = true;
    EXPECT_GT(train(options, device()).summary.best.val, 0.5) << model;
  }
}

// A step updates the trainable rows that its batch reads.
TEST(TrainHeteroRows, AreLazyInMiniBatches) {
  for (const std::int64_t batch : {0, 64}) {
    TrainOptions options = node_options("rgcn", 1);
    options.batch = batch;
    const NodeRun run = make_hetero_run(small_citations(), options, kCpu);
    std::vector<std::pair<std::string, Variable>> named = run.model.module->named_parameters();
    std::size_t at = 0, lazy = 0;
    for (const ParameterGroup& group : run.model.groups)
      for (std::size_t i = 0; i < group.parameters.size(); ++i, ++at) {
        EXPECT_EQ(group.options.lazy, batch > 0 && named[at].first.starts_with("embeddings."))
            << named[at].first;
        EXPECT_EQ(group.reads.size(), group.options.lazy ? group.parameters.size() : 0) << named[at].first;
        lazy += group.options.lazy;
      }
    EXPECT_EQ(at, named.size());
    EXPECT_EQ(lazy, batch > 0 ? 3U : 0U);
  }
}

// Gradients of the rows of a batch, and of all rows for an optimizer of the program's own: the same bits.
TEST_P(TrainHeteroTask, BatchesLearnByRowWhatTheyLearnByTable) {
  TrainOptions options = node_options("rgcn", 3);
  options.batch = 64, options.fanout = "5,3";
  const TrainedRelations by_row = train(options, device());
  options.optimizer.make = [](std::vector<ParameterGroup> groups) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Adam>(std::move(groups));
  };
  for (const ParameterGroup& group : make_hetero_run(small_citations(), options, device()).model.groups)
    EXPECT_TRUE(group.reads.empty());
  const TrainedRelations by_table = train(options, device());
  ASSERT_EQ(by_row.state.size(), by_table.state.size());
  for (std::size_t i = 0; i < by_table.state.size(); ++i)
    EXPECT_TRUE(same_bits(by_row.state[i].second, by_table.state[i].second)) << by_table.state[i].first;
}

// Blocks in which types have no nodes, and destinations no edges.
TEST_P(TrainHeteroTask, BatchesOfOneNodeAreTrained) {
  for (const ModelEntry& entry : hetero_model_registry()) {
    TrainOptions options = node_options(entry.name, 1);
    options.batch = 1, options.fanout = "1,1", options.undirected = false;
    const TrainedRelations result = train(options, device());
    EXPECT_TRUE(std::isfinite(result.summary.last.val_loss)) << entry.name;
  }
}

/// Logits that rodeo_predict writes.
Tensor predicted(const std::string& dataset, const std::string& weights, const TempDir& dir) {
  predict(PredictOptions{.dataset = dataset,
                         .weights = weights,
                         .out = dir / "p.h5",
                         .device = "cpu",
                         .logits = true,
                         .embeddings = true});
  const Hdf5File out(dir / "p.h5");
  const Tensor logits = out.array("logits").read(DType::kF32);
  EXPECT_EQ(out.array("embedding").shape(), (Shape{logits.dim(0), 16}));
  return logits;
}

TEST(TrainHeteroPredict, ScalesAndScoresAsTraining) {
  const TempDir dir;
  HeteroDataset data = small_citations();
  save_hetero_dataset(data, dir / "mag.h5");
  for (const std::string_view model : {"rgcn", "hgt"}) {
    TrainOptions options = node_options(model, 2);
    if (model == "rgcn") options.bases = 2;
    options.split = "50/25/25", options.normalize_features = FeatureScaling::kStandard;
    options.dataset = dir / "mag.h5";
    options.export_file = dir / str(model, ".safetensors");
    RunObserver observer;
    Recorder recorder(options, /*writes=*/true);
    const TrainedRun out = train_run({.file = options.dataset}, options, kCpu, {}, recorder, observer);
    ASSERT_EQ(out.summary.best_epoch, 2);
    out.run.model.module->eval();
    const NoGrad no_grad;
    EXPECT_TRUE(
        same_bits(predicted(options.dataset, options.export_file, dir), out.run.model.forward().value()));
  }
  const std::string weights = dir / "rgcn.safetensors";
  EXPECT_ERROR(
      predict({.dataset = dir / "mag.h5", .weights = weights, .out = {}, .correct_and_smooth = true}),
      "--correct-and-smooth is for graphs of one node type, and " + weights + " are weights of rgcn");
  save_dataset(tiny_dataset(), dir / "one.h5");
  EXPECT_ERROR(
      predict({.dataset = dir / "one.h5", .weights = weights, .out = {}}),
      dir / "one.h5" + ": holds one type of nodes, and " + weights + " are weights of rgcn, for several");
  const auto error = [&](const HeteroDataset& other) {
    save_hetero_dataset(other, dir / "other.h5");
    return error_of([&] { predict({.dataset = dir / "other.h5", .weights = weights, .out = {}}); });
  };
  const std::string names = data.relation_name(data.relations[0]);
  HeteroDataset renamed = data, more = data, wider = data;
  renamed.relations[0].name = "other";
  EXPECT_NE(error(renamed).find("the weights are for " + names), std::string::npos);
  const auto is_bare = [](const Dataset& type) { return !type.has_features(); };
  std::ranges::find_if(more.types, is_bare)->num_nodes += 1;
  EXPECT_NE(error(more).find("they know those nodes alone"), std::string::npos);
  Dataset& paper = wider.types[static_cast<std::size_t>(wider.target)];
  paper.num_features = 9, paper.x = Tensor::zeros({paper.num_nodes, 9});
  EXPECT_EQ(error(wider), "mag-like: paper has 9 features, the weights are for 8");
}

TEST_P(TrainHeteroTask, AFileIsTrainedWithAllThatARunWrites) {
  const TempDir dir;
  save_hetero_dataset(small_citations(), dir / "mag.h5");
  TrainOptions options = node_options("rgcn", 3);
  options.dataset = dir / "mag.h5";
  options.export_file = dir / "w.safetensors", options.csv = dir / "e.csv", options.report = dir / "r.html";
  options.log = dir / "l.jsonl", options.per_class = true;
  options.checkpoint = dir / "checkpoint";
  RunObserver observer;
  {
    Recorder recorder(options, /*writes=*/true);
    const TrainedRun out = train_run({.file = options.dataset}, options, device(), {}, recorder, observer);
    EXPECT_EQ(out.summary.epochs, 3);
    EXPECT_TRUE(out.run.model.text.starts_with("R-GCN, 2 layers, ")) << out.run.model.text;
    EXPECT_EQ(out.run.model.predict({}).shape(), (Shape{out.run.task.label.dim(0), 4}));
  }
  for (const std::string& file : {options.export_file, options.csv, options.report, options.log})
    EXPECT_TRUE(std::filesystem::exists(file)) << file;
  options.epochs = 5, options.resume = true;
  options.log.clear(), options.export_file.clear(), options.csv.clear(), options.report.clear();
  Recorder recorder(options, /*writes=*/true);
  const TrainedRun resumed = train_run({.file = options.dataset}, options, device(), {}, recorder, observer);
  options.checkpoint.clear(), options.resume = false;
  Recorder fresh(options, /*writes=*/true);
  const TrainedRun whole = train_run({.file = options.dataset}, options, device(), {}, fresh, observer);
  EXPECT_EQ(resumed.summary.last.val_loss, whole.summary.last.val_loss);
  EXPECT_NO_THROW(dry_run(options, device(), {}));
}

TEST(TrainHeteroOptions, SayWhatTheyAreNotFor) {
  const TempDir dir;
  HeteroDataset data = small_citations();
  save_hetero_dataset(data, dir / "mag.h5");
  save_dataset(tiny_dataset(), dir / "one.h5");
  const auto error = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"rodeo_train", "--model", "rgcn", "--dataset", dir / "mag.h5"});
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    TrainOptions defaults;
    defaults.choose_model = true;
    return error_of([&] { parse_train_options(static_cast<int>(argv.size()), argv.data(), defaults); });
  };
  const std::string why = " is not for --model rgcn, of graphs of several node types: ";
  EXPECT_EQ(error({"--batch", "64", "--batch-by", "parts"}),
            "--batch-by parts" + why + "batches are nodes, or edges, and sampled neighbours");
  EXPECT_EQ(error({"--batch", "64", "--graph-on", "host"}),
            "--graph-on host" + why + "the graph is on the device");
  EXPECT_EQ(
      error({"--batch", "64", "--norm", "batch"}),
      "--norm batch is not for --batch with --model rgcn: a batch may have one node of a type, or none; "
      "give --norm layer");
  EXPECT_EQ(error({"--blocks", "5"}), "--blocks must divide --hidden, got 5 and 64");
  EXPECT_EQ(error({"--blocks", "4", "--bases", "2"}),
            "--bases and --blocks are two decompositions: give one of them");
  EXPECT_EQ(error({"--ranks", "2", "--aggregation", "halo"}),
            "--aggregation" + why + "ranks gather the rows of all nodes");
  EXPECT_EQ(error({"--reorder", "rcm"}), "--reorder" + why + "nodes keep their order");
  const TrainOptions options = node_options("rgcn", 2), gcn = published_options("gcn");
  EXPECT_ERROR(
      make_run(DataSource{.file = dir / "one.h5"}, options, kCpu),
      dir /
          "one.h5: holds one type of nodes, and --model rgcn is for several: choose one of gcn, gat, "
          "sage and the others");
  EXPECT_ERROR(make_run(DataSource{.file = dir / "mag.h5"}, gcn, kCpu),
               dir /
                   "mag.h5: holds node types and relations, and --model gcn is for one type of nodes: choose "
                   "rgcn, rgat, hgt or hetero-sage");
  TrainOptions one_way = options;
  one_way.undirected = false;
  data.relations = {data.relations[0], data.relations[3]};
  EXPECT_ERROR(
      make_hetero_run(data, one_way, kCpu),
      "mag-like: no relation leads to the nodes of the target type, paper: give --undirected, which adds "
      "the reverse of each relation");
}

}  // namespace
}  // namespace rodeo::test
