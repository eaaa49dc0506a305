// What --normalize-features auto takes on each side of its edges, and what it is good for.
#include "train/task/feature_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ops/dense_csr.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/tiny.h"
#include "train/report/class_report.h"
#include "train/task/graph_task.h"
#include "train/task/node_model.h"

namespace rodeo::test {
namespace {

using enum FeatureScaling;
using Values = std::vector<float>;

FeatureFacts facts_of(const Values& values, std::int64_t columns) {
  const Tensor x = Tensor::from(values, {std::ssize(values) / columns, columns});
  return sample_features({x, {}}, x.dim(0), columns);
}

TEST(TrainFeatureScale, EdgesOfTheRule) {
  FeatureFacts counts;
  counts.rows = 4, counts.zeros = 0.5, counts.spread = 100, counts.largest_column = 0.49;
  const auto with = [&](auto change, bool sparse = false) {
    FeatureFacts facts = counts;
    change(facts);
    return choose_scaling(facts, sparse);
  };
  const auto same = [](FeatureFacts&) {};
  counts.variation = 0.449;
  EXPECT_EQ(with(same).scaling, kRow);
  EXPECT_EQ(with(same).reason, "not negative, 50.0 % zeros");
  EXPECT_EQ(with(same, true).scaling, kRow);
  const auto varied = [](FeatureFacts& f) { f.variation = 0.45; };
  EXPECT_EQ(with(varied).scaling, kUnit);
  EXPECT_EQ(with(varied).reason, "not negative, 50.0 % zeros, sums of rows vary by 45 %");
  EXPECT_EQ(with(varied, true).scaling, kUnit);
  const auto negative = [](FeatureFacts& f) { f.has_negative = true; };
  const auto dense = [](FeatureFacts& f) { f.zeros = 0.499; };
  const auto spread = [](FeatureFacts& f) { f.spread = 100.1; };
  const auto one_column = [](FeatureFacts& f) { f.largest_column = 0.5; };
  EXPECT_EQ(with(negative).scaling, kStandard);
  EXPECT_EQ(with(negative).reason, "negative values");
  EXPECT_EQ(with(dense).scaling, kStandard);
  EXPECT_EQ(with(dense).reason, "not negative, but 49.9 % zeros");
  EXPECT_EQ(with(spread).scaling, kStandard);
  EXPECT_EQ(with(spread).reason, "a row is spread over about 100 values");
  EXPECT_EQ(with(one_column).scaling, kStandard);
  EXPECT_EQ(with(one_column).reason, "one column has most of the sum");
  for (const auto& change : {std::function<void(FeatureFacts&)>(negative), {one_column}})
    EXPECT_EQ(with(change, true).scaling, kNone);
  EXPECT_EQ(with(spread, true).scaling, kUnit);
  EXPECT_EQ(with([](FeatureFacts& f) { f.is_unit = true; }).reason, "rows have a norm of 1 already");
  EXPECT_EQ(with([](FeatureFacts& f) { f.is_unit = f.has_negative = true; }).scaling, kNone);
  EXPECT_EQ(choose_scaling({}, false).reason, "all are zero");
}

TEST(TrainFeatureScale, FactsOfRows) {
  const FeatureFacts f = facts_of({2, 2, 0, 0, /**/ 0, 0, 0, 0, /**/ 0, 3, 0, -1, /**/ 1, 1, 1, 1}, 4);
  EXPECT_EQ(f.rows, 3);  // a row of zeros says nothing
  EXPECT_TRUE(f.has_negative);
  EXPECT_FALSE(f.is_unit);
  EXPECT_DOUBLE_EQ(f.zeros, 1 - 8. / 12);
  EXPECT_DOUBLE_EQ(f.spread, 2);  // of 2, 1.6 and 4
  EXPECT_DOUBLE_EQ(f.largest_column, 6. / 12);
  EXPECT_TRUE(facts_of({0.6f, 0.8f, -1, 0}, 2).is_unit);       // norms
  EXPECT_TRUE(facts_of({0.5f, 0.5f, 0.2f, 0.8f}, 2).is_unit);  // sums
  EXPECT_FALSE(facts_of({0.5f, 0.5f, 0.6f, 0.8f}, 2).is_unit);
  EXPECT_TRUE(facts_of({1.0009f, 0}, 2).is_unit);
  EXPECT_FALSE(facts_of({1.0011f, 0}, 2).is_unit);
  EXPECT_EQ(facts_of({0, 0, 0, 0}, 2).rows, 0);
}

TEST(TrainFeatureScale, StoredSparseIsSampledAlike) {
  const Dataset words = tiny_dataset();
  const WeightedAdjacency entries = dense_to_csr(words.x);
  const FeatureFacts dense = sample_features({words.x, {}}, 300, 30),
                     sparse = sample_features(
                         SparseFeatures{entries.adj.csr().row_ptr, entries.adj.csr().col, entries.weight},
                         30);
  EXPECT_EQ(dense.rows, sparse.rows);
  EXPECT_DOUBLE_EQ(dense.zeros, sparse.zeros);
  EXPECT_DOUBLE_EQ(dense.spread, sparse.spread);
  EXPECT_DOUBLE_EQ(dense.largest_column, sparse.largest_column);
  EXPECT_EQ(choose_scaling(dense, false).scaling, kRow);
}

using TrainScales = OnDevice;
RODEO_ON_ALL_DEVICES(TrainScales);

// A column without variance is shifted alone. NaN are left out.
TEST_P(TrainScales, ColumnsOfKnownNumbers) {
  const float none = NAN;
  const Tensor x =
      Tensor::from(Values{1, 7, 0.1f, none, /**/ 3, 7, 0.1f, 4, /**/ 5, 7, 0.1f, none}, {3, 4}, device());
  ColumnSums sums(4);
  sums.add(x.slice(0, 1));
  sums.add(x.slice(1, 3));
  const ColumnScale scale = sums.scale().to(device());
  EXPECT_EQ(scale.mean(), (Values{3, 7, 0.1f, 4}));
  EXPECT_EQ(scale.deviation(), (Values{static_cast<float>(std::sqrt(8. / 3)), 1, 1, 1}));
  const Tensor y = scale.apply(x);
  EXPECT_NEAR(y.to_vector<float>()[0], -2 / std::sqrt(8. / 3), 1e-6);
  EXPECT_EQ(y.to_vector<float>()[1], 0);
  EXPECT_EQ(y.to_vector<float>()[2], 0);
  EXPECT_TRUE(std::isnan(y.to_vector<float>()[3]));
  EXPECT_NEAR(scale.undo(y).to_vector<float>()[8], 5, 1e-6);
  ColumnSums small(1);  // what is no variance depends on the mean
  small.add(Tensor::from(Values{1e-4f, 1.002e-4f, 1.004e-4f}, {3, 1}, device()));
  EXPECT_NEAR(small.scale().deviation()[0], 1.633e-7, 1e-9);
  ColumnSums rounded(1);  // 1e6 and the next f32 numbers: no variance, but rounding
  rounded.add(Tensor::from(Values{1e6f, 1000000.0625f, 1000000.125f}, {3, 1}, device()));
  EXPECT_EQ(rounded.scale().deviation(), Values{1});
  EXPECT_FALSE(ColumnSums(0).scale().mean().size());
  EXPECT_EQ(ColumnScale().apply(x).data<float>(), x.data<float>());
}

double accuracy(Dataset dataset, const TrainOptions& options, Device device, std::string* text = nullptr) {
  const NodeRun run = make_run(std::move(dataset), options, device);
  if (text) *text = run.task.features;
  return make_trainer(run, {.epochs = 100}).fit([](const EpochReport&) {}).best.test;
}

/// A graph with communities and no features.
Dataset bare_communities() {
  Dataset dataset = tiny_dataset(400);
  dataset.x = {};
  return dataset;
}

void set_columns(Dataset& dataset, std::int64_t columns,
                 const std::function<double(std::int64_t, std::int64_t)>& at) {
  dataset.num_features = columns;
  dataset.x = Tensor::empty({dataset.num_nodes, columns});
  for (std::int64_t i = 0; i < dataset.num_nodes; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      dataset.x.data<float>()[i * columns + j] = static_cast<float>(at(i, j));
}

// Age, income and height; words of which a row has hundreds; and means plus noise, as the reddit preset.
TEST_P(TrainScales, AutoTrainsOrdinaryTables) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise;
  Dataset table = bare_communities();
  const auto* label = table.y.data<std::int64_t>();
  set_columns(table, 3, [&](std::int64_t i, std::int64_t j) {
    const double c = static_cast<double>(label[i] * (j == 0 ? 3 : j == 1 ? 5 : 2) % 7);
    return j == 0   ? std::round(20 + 8 * c + 4 * noise(random))
           : j == 1 ? std::round(20000 + 9000 * c + 4000 * noise(random))
                    : 150 + 6 * c + 3 * noise(random);
  });
  Dataset words = bare_communities();
  set_columns(words, 800, [&](std::int64_t i, std::int64_t j) {
    const double p = j % 7 == label[i] ? 0.5 : 0.2;
    return std::uniform_real_distribution<double>()(random) < p ? 1 : 0;
  });
  Dataset stored = words;  // as the same values in a file of sparse features
  const WeightedAdjacency entries = dense_to_csr(std::exchange(stored.x, {}));
  stored.x_sparse = {entries.adj.csr().row_ptr, entries.adj.csr().col, entries.weight};
  SyntheticOptions size = synthetic_preset("reddit");
  size.nodes = 400, size.edges = 4000, size.features = 40, size.classes = 7;
  const struct {
    const char* name;
    Dataset dataset;
    const char* text;
    bool loses;  // by rows
  } cases[] = {{"table", table, "not negative, but 0.0 % zeros)", true},
               {"words", words, "standardised by column (auto: a row is spread over about", true},
               {"words stored as sparse", stored, "standardised by column (auto: a row is spread", true},
               {"reddit", synthesize(size), "standardised by column (auto: negative values)", false}};
  TrainOptions options;
  for (const auto& [name, dataset, text, loses] : cases) {
    SCOPED_TRACE(name);
    std::string chosen;
    const double found = accuracy(dataset, options, device(), &chosen);
    EXPECT_NE(chosen.find(text), std::string::npos) << chosen;
    TrainOptions row = options;
    row.normalize_features = kRow;
    EXPECT_GT(found, 0.75);
    EXPECT_TRUE(!loses || found > accuracy(dataset, row, device()) + 0.1);
  }
}

// Rows of many words, some of few: divided by their sums they are too small for 200 epochs with weight decay.
TEST_P(TrainScales, UnitRowsTrainWhatRowSumsDoNot) {
  std::mt19937 random(3);
  Dataset dataset = tiny_dataset(400);
  const auto* label = dataset.y.data<std::int64_t>();
  set_columns(dataset, 1400, [&](std::int64_t i, std::int64_t j) {
    const double length = i % 3 == 0 ? 0.3 : i % 3 == 1 ? 1 : 2.5;
    const double p = length * (j % 7 == label[i] ? 0.06 : 0.04);
    return std::uniform_real_distribution<double>()(random) < p ? 1 : 0;
  });
  TrainOptions options, row;
  row.normalize_features = kRow;
  std::string text;
  const double found = accuracy(dataset, options, device(), &text);
  EXPECT_NE(text.find("rows of norm 1 (auto: not negative"), std::string::npos) << text;
  EXPECT_GT(found, accuracy(dataset, row, device()) + 0.08);
}

TEST_P(TrainScales, UnitRowsStoredSparseAndDense) {
  const Tensor x = Tensor::from(Values{3, 0, 4, /**/ 0, 0, 0, /**/ 0, 2, 0}, {3, 3}, device());
  const Values unit{0.6f, 0, 0.8f, 0, 0, 0, 0, 1, 0};
  FeatureScale scale;
  scale.scaling = kUnit;
  const WeightedAdjacency entries = dense_to_csr(x);
  EXPECT_TRUE(near(scale.apply(Features(x)).dense().value(), {unit.begin(), unit.end()}, 1e-6));
  const Features sparse = scale.apply(sparse_features(entries.adj, entries.weight));
  EXPECT_TRUE(near(csr_to_dense(sparse.entries(), sparse.values()), {unit.begin(), unit.end()}, 1e-6));
}

TEST_P(TrainScales, RowsAgainstItsAdviceAreNamed) {
  const Dataset words = tiny_dataset();
  Dataset negative = words;
  negative.x = words.x.clone();
  negative.x.data<float>()[0] = -1;
  for (const FeatureScaling scaling : {kRow, kUnit}) {
    TrainOptions options;
    options.normalize_features = scaling;
    EXPECT_TRUE(make_run(words, options, device()).task.warnings.empty());
    EXPECT_EQ(make_run(negative, options, device()).task.warnings,
              std::vector<std::string>{
                  str("--normalize-features ", scaling, ": auto would take standard: negative values")});
  }
}

TEST_P(TrainScales, StandardIsOfTheTrainingNodesOrAll) {
  Dataset dataset = tiny_dataset();
  set_columns(dataset, 2, [](std::int64_t i, std::int64_t j) { return j == 0 ? 1000 + i : i % 5; });
  TrainOptions options;
  const auto means = [&](FeatureScaling scaling, Precision precision = Precision::kFp32,
                         std::int64_t batch = 0) {
    options.normalize_features = scaling;
    options.precision = precision;
    options.batch = batch;
    return make_run(dataset, options, device()).task.feature_scale.columns.mean();
  };
  double train = 0;
  for (const std::int64_t i : dataset.split.train.to_vector<std::int64_t>())
    train += static_cast<double>(1000 + i);
  const auto expected = static_cast<float>(train / static_cast<double>(dataset.split.train.numel()));
  EXPECT_EQ(means(kStandard)[0], expected);
  EXPECT_EQ(means(kAuto, Precision::kBf16), means(kStandard));
  EXPECT_EQ(means(kAuto, Precision::kFp32, 32), means(kStandard));
  EXPECT_EQ(means(kStandardAll), (Values{1149.5, 2}));
  options.features = FeatureForm::kSparse;
  options.batch = 0;
  EXPECT_ERROR(means(kStandard),
               "--features sparse: --normalize-features standard shifts columns, which fills zeros");
  options.normalize_features = kAuto;
  EXPECT_FALSE(make_run(dataset, options, device()).task.feature_scale.columns.defined());
}

// Amounts of another size than what a network's outputs are at first.
TEST_P(TrainScales, TargetsOfAnySizeAreLearnt) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise;
  Dataset dataset = bare_communities();
  const std::int64_t n = dataset.num_nodes;
  set_columns(dataset, 2, [&](std::int64_t, std::int64_t j) {
    return j == 0 ? 100 + 20 * noise(random) : 4 + noise(random);
  });
  dataset.y = Tensor::empty({n, 1});
  dataset.num_classes = 1;
  for (std::int64_t i = 0; i < n; ++i)
    dataset.y.data<float>()[i] =
        3000 * dataset.x.data<float>()[2 * i] + 20000 * dataset.x.data<float>()[2 * i + 1];
  TrainOptions options;
  options.model = "sage";
  options.dropout = 0;
  const NodeRun run = make_run(dataset, options, device());
  const TrainSummary summary = make_trainer(run, {.epochs = 150}).fit([](const EpochReport&) {});
  EXPECT_GT(summary.best.test, 0.8);
  EXPECT_LT(summary.best.val_loss, 1);  // in units of the variance
  for (const auto& [metric, value] : run.model.parts.metrics->details())
    EXPECT_TRUE(metric != "mse" || value > 1e6) << "of the targets themselves";
  EXPECT_NEAR(outputs_of(run).logits.data<float>()[0], dataset.y.data<float>()[0], 1e5);  // for the report
}

// Two nodes of each graph. Graphs for validation and test have other values.
TEST(TrainFeatureScale, OfASetIsThatOfItsTrainingGraphs) {
  Dataset set;
  set.num_nodes = 6, set.num_features = 1;
  set.x = Tensor::from(Values{2, 4, 100, 300, -7, -9}, {6, 1});
  set.graph_ptr = Tensor::from<std::int64_t>({0, 2, 4, 6});
  const auto graph = [](std::int64_t g) { return Tensor::from(std::vector{g}); };
  set.split = {graph(0), graph(1), graph(2)};
  TrainOptions options;
  options.normalize_features = kStandard;
  NodeTask task;
  add_graph_features(task, set, options, kCpu);
  EXPECT_EQ(task.x.input().value().to_vector<float>(), (Values{-1, 1, 97, 297, -10, -12}));
}

}  // namespace
}  // namespace rodeo::test
