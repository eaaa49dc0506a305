// rodeo_predict: weights of any origin, and files by their suffix.
#include "train/commands/predict.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "datasets/hdf5_file.h"
#include "datasets/synthetic_graphs.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tiny.h"
#include "train/commands/prediction_file.h"
#include "train/commands/train_run.h"
#include "train/io/atomic_file.h"
#include "train/io/run_state.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"

namespace rodeo {
namespace {

using test::TempDir;
constexpr std::size_t kLimit = 10'000'000;

PredictOptions parse_prediction(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "rodeo_predict");
  return parse_predict_options(static_cast<int>(arguments.size()), arguments.data());
}

PredictOptions parse_with(std::vector<const char*> more) {
  std::vector<const char*> arguments = {"--dataset", "g.h5", "--weights", "w", "--out", "p.csv"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return parse_prediction(arguments);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream text(read_file(path, kLimit));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// A dataset with names and the weights of an untrained GCN, without Rodeo's description.
struct Foreign {
  TempDir dir;
  PredictOptions options;
  StateDict state;

  Foreign() {
    Dataset data = test::tiny_dataset(40);
    for (std::int64_t c = 0; c < data.num_classes; ++c) data.class_names.push_back(str("class, ", c));
    for (std::int64_t i = 0; i < data.num_nodes; ++i) data.node_names.push_back(str("n", i));
    save_dataset(data, dir / "g.h5");
    TrainOptions model = published_options("gcn");
    model.hidden = 5;
    state = make_run(std::move(data), model, kCpu).model.module->state_dict();
    options.dataset = dir / "g.h5";
    options.weights = dir / "w.safetensors";
    options.out = dir / "p.csv";
    options.device = "cpu";
    options.quiet = true;
    options.model = model;
    write_safetensors(options.weights, {state, {}});
  }
  std::string error() const {
    return test::error_of([&] { predict(options); });
  }
};

TEST(TrainPredict, WeightsOfOthersWithTheirModel) {
  Foreign f;
  predict(f.options);
  const std::vector<std::string> lines = lines_of(f.options.out);
  ASSERT_EQ(lines.size(), 41u);
  EXPECT_EQ(lines[0], "node,class,name");
  f.options.out = f.dir / "p.h5";
  predict(f.options);
  const Hdf5File file(f.options.out);
  const auto predicted = file.array("class").read(DType::kI64).to_vector<std::int64_t>();
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_EQ(lines[i + 1], str("n", i, ",", predicted[i], ",\"class, ", predicted[i], "\""));
  EXPECT_TRUE(file.has("node_names"));
  EXPECT_TRUE(file.text("class_names").has_value());

  // Doubles, as a script may save them, and a counter that PyTorch adds, give the same.
  StateDict wide;
  for (const auto& [name, value] : f.state) wide.emplace_back(name, value.to(DType::kF64));
  wide.emplace_back("norm.num_batches_tracked", Tensor::zeros({1}, DType::kI64));
  write_safetensors(f.options.weights, {wide, {}});
  f.options.out = f.dir / "p.tsv";
  f.options.probabilities = true;
  predict(f.options);
  const std::vector<std::string> again = lines_of(f.options.out);
  EXPECT_EQ(again[0].substr(0, 31), "node\tclass\tname\tprobability_0\tp");
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_EQ(again[i + 1].find(str("n", i, "\t", predicted[i], "\tclass, ", predicted[i], "\t0.")), 0u);
}

TEST(TrainPredict, NamesAndShapesThatDoNotFitAreListed) {
  Foreign f;
  const std::string where = f.options.weights + ": ", text = ": GCN, 2 layers, ";
  f.options.model->hidden = 6;
  const std::string shapes = f.error();
  EXPECT_EQ(shapes.find(where + "does not fit GCN, 2 layers, 6 hidden"), 0u) << shapes;
  for (const char* part : {"expected conv1.bias [6], found f32 [5]; ", "expected conv2.lin.weight [",
                           "; give --model, --hidden, --classes and so on as in training"})
    EXPECT_NE(shapes.find(part), std::string::npos) << shapes;
  f.options.model->hidden = 5;
  f.state[0].first = "convs.0\n.bias";
  write_safetensors(f.options.weights, {f.state, {}});
  const std::string names = f.error();
  EXPECT_NE(names.find(", found none"), std::string::npos) << names;
  EXPECT_NE(names.find("unexpected convs.0\\n.bias ["), std::string::npos) << names;
  f.options.model.reset();
  EXPECT_EQ(f.error(),
            where +
                "does not say which model it is of, because Rodeo did not write it: give --model NAME "
                "and its options");
  StateDict many;
  for (int i = 0; i < 30; ++i) many.emplace_back(str("p", i), Tensor::zeros({1}));
  const std::string long_list = test::error_of([&] { fit_weights(many, {}, "w", "M", ""); });
  EXPECT_NE(long_list.find("; and 18 more"), std::string::npos) << long_list;
  EXPECT_ERROR(
      fit_weights({{"a", Tensor::zeros({2})}}, {{"a", Tensor::zeros({2}, DType::kI64)}}, "w", "M", "."),
      "w: does not fit M: expected a [2], found i64 [2].");
}

TEST(TrainPredict, ClassesComeFromTheOptionOrTheLabels) {
  Foreign f;
  Dataset data = load_dataset(f.options.dataset);
  const std::int64_t classes = data.num_classes;
  data.y = {};
  data.class_names.clear();
  data.split = {};
  save_dataset(data, f.options.dataset);
  EXPECT_EQ(f.error(), f.options.dataset + ": has no labels: give the number of classes by --classes N");
  f.options.classes = classes;
  predict(f.options);
  EXPECT_EQ(lines_of(f.options.out)[0], "node,class");
}

TEST(TrainPredict, TheDescriptionKeepsClassNames) {
  WeightsInfo info;
  info.options = published_options("gcn");
  info.num_features = info.num_classes = 2;
  info.class_names = {"a\xff", "b"};
  SafeTensors packed = pack_weights({}, info);
  EXPECT_TRUE(is_described(packed));
  EXPECT_EQ(read_info(packed, "w").class_names, (std::vector<std::string>{"a\xef\xbf\xbd", "b"}));
  info.num_classes = 3;
  EXPECT_ERROR(read_info(pack_weights({}, info), "w"), "w: has 2 names of 3 classes");
}

/// Trains GCN by a command's options with --export. Returns the run's test metric, as the console has it.
std::string train_and_export(const TrainOptions& options) {
  Recorder recorder(options, true, true);
  RunObserver observer;
  const TrainedRun run = train_run({.file = options.dataset}, options, kCpu, {}, recorder, observer);
  return fmt::format("{:.4f}", run.summary.best.test);
}

std::string predict_text(const PredictOptions& options) {
  testing::internal::CaptureStdout();
  try {
    predict(options);
  } catch (const Error& error) {
    return testing::internal::GetCapturedStdout() + error.what();
  }
  return testing::internal::GetCapturedStdout();
}

// Features are standardised, the split is drawn, and targets are scaled: all by the weights' description.
TEST(TrainPredict, ScoresAreThoseOfTraining) {
  const TempDir dir;
  TrainOptions options = published_options("gcn");
  options.dataset = dir / "g.h5";
  options.export_file = dir / "w.safetensors";
  options.epochs = 30;
  options.split = "40/30/30";
  options.seed = 3;
  PredictOptions of;
  of.dataset = options.dataset;
  of.weights = options.export_file;
  of.device = "cpu";
  const std::pair<std::string, std::pair<NodeMetric, const char*>> cases[] = {
      {"classes", {NodeMetric::kAccuracy, "accuracy "}},
      {"classes", {NodeMetric::kMacroF1, "macro-F1 "}},
      {"classes", {NodeMetric::kRocAuc, "ROC-AUC "}},
      {"several", {NodeMetric::kAccuracy, "micro-F1 "}},
      {"several", {NodeMetric::kAp, "average precision "}},
      {"numbers", {NodeMetric::kAccuracy, "R^2 "}},
      {"numbers", {NodeMetric::kMae, "-MAE "}}};
  for (const auto& [kind_name, by] : cases) {
    const char* const kind = kind_name.c_str();
    const char* const metric = by.second;
    options.metric = by.first;
    SCOPED_TRACE(kind_name + metric);
    Dataset data = test::tiny_dataset(200);
    data.name = "one";
    data.x = test::random_tensor({200, 6}, DType::kF32, kCpu, 1);
    data.num_features = 6;
    float* x = data.x.data<float>();
    std::vector<float> numbers;
    std::vector<std::uint8_t> several;
    for (std::int64_t i = 0; i < 200; ++i) {
      x[6 * i] = 4000 + 900 * x[6 * i] + 300 * static_cast<float>(data.y.data<std::int64_t>()[i]);
      numbers.push_back(50 * x[6 * i] + 7);
      several.push_back(x[6 * i] > 5000), several.push_back(x[6 * i] < 6000);
    }
    if (*kind == 's') data.y = Tensor::from(several, {200, 2}), data.num_classes = 2;
    if (*kind == 'n') data.y = Tensor::from(numbers, {200, 1}), data.num_classes = 1;
    save_dataset(data, of.dataset);
    const std::string score = train_and_export(options);
    of.out = {};
    const std::string text = predict_text(of);
    EXPECT_NE(text.find(metric), std::string::npos) << text;
    EXPECT_NE(text.find(score + " on 60 test nodes"), std::string::npos) << score << "\n" << text;
    EXPECT_EQ(text.find("written"), std::string::npos);

    // Another dataset is scored by the masks of its file.
    data.name = "two";
    save_dataset(data, of.dataset);
    EXPECT_NE(predict_text(of).find(" on 50 test nodes"), std::string::npos);
    of.out = dir / "p.csv";
    of.logits = of.embeddings = true;
    EXPECT_NE(predict_text(of).find("written"), std::string::npos);
    std::string head = lines_of(of.out)[0];
    const std::size_t hidden = head.find(",embedding_0");
    EXPECT_TRUE(head.ends_with(",embedding_15"));
    head.resize(std::min(hidden, head.size()));
    EXPECT_EQ(head, *kind == 'c'   ? "node,class,logit_0,logit_1,logit_2,logit_3,logit_4,logit_5,logit_6"
                    : *kind == 's' ? "node,class,logit_0,logit_1"
                                   : "node,value_0,logit_0");
    of.logits = of.embeddings = false;
    if (*kind == 'n') {
      const std::string first = lines_of(of.out)[1];
      EXPECT_GT(std::stod(first.substr(first.find(',') + 1)), 1000) << "targets in their own units";
    }
    if (by.first == NodeMetric::kRocAuc) {  // predictions are written where it is not defined
      data.y.fill(0);
      save_dataset(data, of.dataset);
      const std::string noted = predict_text(of);
      EXPECT_NE(noted.find("roc-auc is not defined"), std::string::npos) << noted;
      EXPECT_NE(noted.find("written"), std::string::npos) << noted;
      of.out = {};
      EXPECT_NE(predict_text(of).find("give --out FILE"), std::string::npos);
    }
    data.y = {};
    data.split = {};
    save_dataset(data, of.dataset);
    of.out = {};
    EXPECT_NE(predict_text(of).find("has no labels to compare the predictions with: give --out FILE"),
              std::string::npos);
  }
}

TEST(TrainPredict, GraphsOfTheTestFoldAreScored) {
  const TempDir dir;
  TrainOptions options = published_options("gin", TaskKind::kGraph);
  options.dataset = dir / "g.h5";
  options.export_file = dir / "w.safetensors";
  options.epochs = 3;
  options.folds = 5;
  options.fold = 1;
  Dataset set = synthesize_graphs({.graphs = 60});
  save_dataset(set, options.dataset);
  const std::string score = train_and_export(options);
  PredictOptions of;
  of.dataset = options.dataset;
  of.weights = options.export_file;
  of.device = "cpu";
  EXPECT_NE(predict_text(of).find(score + " on 12 test graphs"), std::string::npos) << predict_text(of);
  set.name = "another";
  save_dataset(set, of.dataset);
  EXPECT_NE(predict_text(of).find(" on 60 graphs with a label"), std::string::npos);
}

// Degrees of a graph that has other ones, in as many columns as the weights read.
TEST(TrainPredict, InputFeaturesAreMadeAsInTraining) {
  const TempDir dir;
  for (const char* kind : {"degree", "random", "ones", "onehot"}) {
    SCOPED_TRACE(kind);
    Dataset data = test::tiny_dataset(200);
    data.x = {};
    data.num_features = 0;
    TrainOptions options = published_options("gcn");
    options.dataset = dir / "g.h5";
    options.export_file = dir / "w.safetensors";
    options.epochs = 5;
    save_dataset(data, options.dataset);
    EXPECT_NE(test::error_of([&] { train_and_export(options); })
                  .find("g.h5: /x is missing: training needs features [nodes, features]. --input-features "
                        "degree, onehot, random or ones makes some"),
              std::string::npos);
    options.input_features = parse_name<InputFeatures>("--input-features", kind);
    const std::string score = train_and_export(options);
    PredictOptions of;
    of.dataset = options.dataset;
    of.weights = options.export_file;
    of.device = "cpu";
    EXPECT_NE(predict_text(of).find(score + " on 50 test nodes"), std::string::npos) << predict_text(of);
    Dataset other = test::tiny_dataset(200, 1);
    other.x = {};
    save_dataset(other, of.dataset);
    EXPECT_NE(predict_text(of).find(" on 50 test nodes"), std::string::npos);
    options.batch = 20;  // made before batches gather rows
    options.model = "sage";
    train_and_export(options);
  }
}

TEST(TrainPredict, TheSuffixIsTheFormat) {
  const TempDir dir;
  Prediction several;
  several.classes = Tensor::from<std::uint8_t>({1, 0, 1, 0, 0, 0}, {2, 3});
  several.probability = Tensor::zeros({2, 3});
  several.node_id = Tensor::from<std::int64_t>({7, 5});
  several.class_names = {"x", "y", "z"};
  open_prediction(dir / "p.csv", false)->write(several);
  EXPECT_EQ(lines_of(dir / "p.csv"), (std::vector<std::string>{"node,class,name", "7,0;2,x;z", "5,,"}));
  Prediction all;
  all.row = "graph";
  all.classes = Tensor::from<std::int64_t>({1, 0});
  all.probability = Tensor::from<float>({0.25f, 0.75f, 0.5f, 0.5f}, {2, 2});
  all.logits = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  all.embedding = Tensor::from<float>({5, 6, 7, 8, 9, 10}, {2, 3});
  const std::string more = "logit_0\tlogit_1\tembedding_0\tembedding_1\tembedding_2";
  open_prediction(dir / "q.tsv", true)->write(all);
  EXPECT_EQ(lines_of(dir / "q.tsv"),
            (std::vector<std::string>{"graph\tclass\tprobability_0\tprobability_1\t" + more,
                                      "0\t1\t0.25\t0.75\t1\t2\t5\t6\t7", "1\t0\t0.5\t0.5\t3\t4\t8\t9\t10"}));
  open_prediction(dir / "q.tsv", false)->write(all);
  EXPECT_EQ(lines_of(dir / "q.tsv")[0], "graph\tclass\t" + more);
  Prediction numbers;
  numbers.value = Tensor::from<float>({1.5f, -2, 0, 7}, {2, 2});
  numbers.class_names = {"height", "age, years"};
  numbers.node_names = {"ann", "bob"};
  open_prediction(dir / "n.csv", false)->write(numbers);
  EXPECT_EQ(lines_of(dir / "n.csv"),
            (std::vector<std::string>{"node,height,\"age, years\"", "ann,1.5,-2", "bob,0,7"}));
  for (const char* suffix : {".txt", ".H5", ""})
    EXPECT_EQ(test::error_of([&] { open_prediction(str("p", suffix), false); }),
              str("--out p", suffix, ": ", *suffix ? str("unknown suffix '", suffix, "'") : "has no suffix",
                  ": expected .h5, .hdf5, .csv or .tsv"));
  EXPECT_THROW(open_prediction(dir / "none/p.csv", false), Error);
}

TEST(TrainPredict, Options) {
  EXPECT_FALSE(parse_with({}).model.has_value());
  const PredictOptions o =
      parse_with({"--model", "gat", "--hidden", "4", "--heads=2", "--undirected", "--classes", "3"});
  ASSERT_TRUE(o.model.has_value());
  EXPECT_EQ(o.model->model, "gat");
  EXPECT_EQ(o.model->hidden, 4);
  EXPECT_EQ(o.model->heads, 2);
  EXPECT_TRUE(o.model->undirected);
  EXPECT_EQ(o.classes, 3);
  EXPECT_FALSE(parse_with({"--model", "gat", "--undirected=false"}).model->undirected);
  EXPECT_TRUE(parse_with({"--logits=true"}).logits);
  EXPECT_FALSE(parse_with({"--logits=false"}).logits);
  EXPECT_EQ(parse_with({"--model=gcn"}).model->hidden, published_options("gcn").hidden);
  EXPECT_ERROR(
      parse_with({"--hidden", "4"}),
      "--hidden needs --model NAME; without it, weights that Rodeo wrote say which model they are of");
  EXPECT_ERROR(parse_with({"--classes", "0"}), "--classes must be an integer of at least 1, got '0'");
  EXPECT_NE(test::error_of([&] {
              parse_with({"--model", "nn"});
            }).find("unknown model 'nn'"),
            std::string::npos);
  EXPECT_NE(test::error_of([&] {
              parse_with({"--model", "gcn", "--heads", "2"});
            }).find("'--heads'"),
            std::string::npos);
  EXPECT_ERROR(parse_with({"--model", "gcn", "--dropout", "0"}),
               "--dropout is an option of training: predictions do not depend on it");
  EXPECT_EQ(parse_prediction({"--dataset", "g.h5", "--weights", "w"}).out, "");
  for (const char* flag : {"--quiet", "--probabilities", "--logits", "--embeddings"})
    EXPECT_ERROR(parse_prediction({"--dataset", "g.h5", "--weights", "w", flag}),
                 "--quiet, --probabilities, --logits and --embeddings need --out FILE: without it, the score "
                 "is printed alone");
  EXPECT_ERROR(parse_prediction({"--dataset", "g.h5", "--weights", "w", "--edges", "e"}),
               "--out FILE is required; see --help");
  EXPECT_ERROR(parse_with({"--edges", "e", "--logits"}),
               "--logits and --embeddings are not for --edges, which writes scores of pairs");
  EXPECT_EQ(parse_prediction({"--dataset", "g.h5", "--label-propagation"}).weights, "");
  EXPECT_ERROR(parse_with({"--label-propagation"}), "--label-propagation has no model: not with --weights");
  EXPECT_NE(parse_prediction({"--model", "appnp", "--help"}).notice.find("--hops N"), std::string::npos);
}

}  // namespace
}  // namespace rodeo
