// Models of bf16 activations and f32 parameters, against themselves in f32.
#include <cmath>

#include "datasets/dataset.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/tiny.h"
#include "train/task/feature_scale.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/trainer.h"

namespace rodeo::test {
namespace {

class TrainPrecision : public OnDevice {
 protected:
  static TrainOptions options_of(std::string_view model, Precision precision) {
    TrainOptions options = published_options(model);
    options.precision = precision;
    return options;
  }
};
RODEO_ON_ALL_DEVICES(TrainPrecision);

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

/// |a - b| / |b|
double distance(const Tensor& a, const Tensor& b) {
  std::vector<double> difference = doubles(a);
  const std::vector<double> want = doubles(b);
  for (std::size_t i = 0; i < want.size(); ++i) difference[i] -= want[i];
  return norm(difference) / norm(want);
}

struct Step {
  Tensor logits;
  std::vector<std::pair<std::string, Tensor>> gradients;
};

/// A training step: its masks, but for those of edges that are drawn one by one, are those of f32.
Step step(const NodeRun& run) {
  run.model.module->zero_grad();
  const Variable logits = run.model.forward();
  logits.backward(random_tensor(logits.shape(), DType::kBF16, logits.device(), 4).to(logits.dtype()));
  Step out{logits.value(), {}};
  for (const auto& [name, parameter] : run.model.module->named_parameters())
    out.gradients.emplace_back(name, parameter.grad());
  return out;
}

TEST_P(TrainPrecision, EveryModelIsNearItselfInF32) {
  for (const ModelEntry& entry : model_registry())
    for (const FeatureForm form : {FeatureForm::kDense, FeatureForm::kSparse})
      for (const std::optional<double> input_dropout : {std::optional<double>(), std::optional<double>(0)}) {
        SCOPED_TRACE(str(entry.name, " ", name(form), " ", input_dropout.value_or(-1)));
        TrainOptions wide = options_of(entry.name, Precision::kFp32),
                     narrow = options_of(entry.name, Precision::kBf16);
        wide.features = narrow.features = form;
        wide.input_dropout = narrow.input_dropout = input_dropout;
        if (form == FeatureForm::kSparse && !dense_features_reason(wide).empty()) continue;
        const NodeRun a = make_run(tiny_dataset(), narrow, device()),
                      b = make_run(tiny_dataset(), wide, device());
        EXPECT_EQ(a.task.x.dtype(), DType::kBF16);
        const Step got = step(a), want = step(b);
        EXPECT_EQ(got.logits.dtype(), DType::kBF16);
        // A number is rounded by up to 2^-9 of itself, 2^-10 in the mean square; a path through two layers
        // (of APPNP ten hops) has about ten roundings, and batch normalisation or a softmax amplify them.
        EXPECT_LT(distance(got.logits, want.logits), 0.02);
        ASSERT_EQ(got.gradients.size(), want.gradients.size());
        // GIN's batch normalisation centres its columns: rounding decides where its ReLU begins. PNA's
        // variance is a difference of means, and rounding decides which neighbour is the largest.
        const double own_bound = entry.name == "gin" || entry.name == "pna" ? 0.15 : 0.06;
        double all = 0;
        for (const auto& [name, gradient] : want.gradients) all = std::hypot(all, norm(doubles(gradient)));
        for (std::size_t i = 0; i < got.gradients.size(); ++i) {
          const auto& [name, gradient] = got.gradients[i];
          EXPECT_EQ(gradient.dtype(), DType::kF32) << name;
          // Where terms nearly cancel, as in an attention's vectors, there is no precision relative to the
          // sum.
          const double own = norm(doubles(want.gradients[i].second));
          EXPECT_LT(distance(gradient, want.gradients[i].second) * own, own_bound * own + 0.02 * all) << name;
        }
      }
}

TEST_P(TrainPrecision, EdgeWeightsAndPrunedRows) {
  Dataset data = tiny_dataset();
  data.edge_weight = random_tensor({data.num_edges()}, DType::kF32, kCpu, 9);
  const auto positive = data.edge_weight.data<float>();
  for (std::int64_t e = 0; e < data.num_edges(); ++e) positive[e] = 1.5f + positive[e];
  for (const bool pruned : {false, true}) {
    TrainOptions wide = options_of("gcn", Precision::kFp32), narrow = options_of("gcn", Precision::kBf16);
    wide.prune_rows = narrow.prune_rows = pruned;
    const NodeRun a = make_run(data, narrow, device()), b = make_run(data, wide, device());
    const Step got = step(a), want = step(b);
    EXPECT_LT(distance(got.logits, want.logits), 0.02);
    for (std::size_t i = 0; i < got.gradients.size(); ++i)
      EXPECT_LT(distance(got.gradients[i].second, want.gradients[i].second), 0.08) << got.gradients[i].first;
  }
}

struct TrainedModel {
  TrainSummary summary;
  std::vector<Tensor> parameters;
};

TrainedModel train(std::string_view model, Precision precision, Device device) {
  TrainOptions options = published_options(model);
  options.precision = precision;
  const NodeRun run = make_run(tiny_dataset(600), options, device);
  Trainer trainer = make_trainer(run, {.epochs = 60});
  TrainedModel out{trainer.fit(), {}};
  for (const Variable& p : run.model.module->parameters()) out.parameters.push_back(p.value().clone());
  return out;
}

TEST_P(TrainPrecision, TrainsAsWellWithF32ParametersAndRepeatsItsBits) {
  for (const std::string_view model : {"gcn", "gat", "gin"}) {
    SCOPED_TRACE(model);
    const TrainedModel narrow = train(model, Precision::kBf16, device()),
                       wide = train(model, Precision::kFp32, device());
    EXPECT_NEAR(narrow.summary.best.test, wide.summary.best.test, 0.08);  // of 150 nodes
    EXPECT_GT(narrow.summary.best.val, 0.5);
    const TrainedModel again = train(model, Precision::kBf16, device());
    EXPECT_EQ(narrow.summary.last.val_loss, again.summary.last.val_loss);
    for (std::size_t i = 0; i < narrow.parameters.size(); ++i) {
      EXPECT_EQ(narrow.parameters[i].dtype(), DType::kF32);
      EXPECT_TRUE(same_bits(narrow.parameters[i], again.parameters[i])) << i;
    }
  }
}

}  // namespace
}  // namespace rodeo::test
