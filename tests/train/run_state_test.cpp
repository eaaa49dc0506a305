#include "train/io/run_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

using Json = nlohmann::ordered_json;

SafeTensors weights() {
  WeightsInfo info;
  info.options = published_options("gcn");
  info.dataset = "cora";
  info.class_names = {"a", "b", "c"};
  info.num_features = 5;
  info.num_classes = 3;
  info.epoch = 7;
  info.evaluation = Evaluation{0.9, 0.8, 0.7, 0.6};
  info.options.normalize_features = FeatureScaling::kStandard;
  info.features = ColumnScale({0, 0.1f, 2, 3, 4}, {1, 0.1f, 3, 4, 5});
  info.targets = ColumnScale({1, 2, 3}, {1e-3f, 1, 1e9f});
  info.split = "60/20/20";
  info.seed = 18446744073709551615U;
  return pack_weights({}, info);
}

/// The state of a run after `epoch` epochs, with an optimizer of no parameters.
RunState state_after(int epoch) {
  RunState state;
  state.trainer.epoch = epoch;
  state.trainer.optimizer = {"adam", {}, Tensor::from<std::int64_t>({epoch})};
  return state;
}

SafeTensors checkpoint() {
  RunState state = state_after(7);
  state.settings = "{}";
  return pack_state(state, {});
}

/// The error of `read` for `file` with another description.
template <class Read>
std::string error_with(SafeTensors file, const Json& description, Read&& read) {
  file.metadata["rodeo"] = description.dump();
  return error_of([&] { read(file); });
}

/// Takes each member away, then makes it a list.
template <class Read>
void check_members(const SafeTensors& file, const std::vector<std::string>& optional, Read&& read) {
  const Json whole = Json::parse(file.metadata.at("rodeo"));
  EXPECT_NO_THROW(read(file));
  for (const auto& [key, value] : whole.items()) {
    SCOPED_TRACE(key);
    if (key == "version" || key == "commit") continue;  // for people
    Json without = whole, wrong = whole;
    without.erase(key);
    wrong[key] = Json::array({1});
    if (std::find(optional.begin(), optional.end(), key) == optional.end()) {
      EXPECT_EQ(error_with(file, without, read), "f: its description has no '" + key + "'");
    }
    const std::string error = error_with(file, wrong, read);
    EXPECT_EQ(error.substr(0, 3), "f: ") << error;
    EXPECT_EQ(error.find("json.exception"), std::string::npos) << error;
  }
}

TEST(TrainRunState, MissingMembersOfWeightsAreNamed) {
  check_members(weights(),
                {"metric", "evaluation", "class_names", "feature_mean", "feature_deviation", "target_mean",
                 "target_deviation", "split"},
                [](const SafeTensors& file) { read_info(file, "f"); });
}

TEST(TrainRunState, ScalesAreReadBackWithTheirBits) {
  const WeightsInfo info = read_info(weights(), "f");
  EXPECT_EQ(info.features.mean(), (std::vector<float>{0, 0.1f, 2, 3, 4}));
  EXPECT_EQ(info.features.deviation(), (std::vector<float>{1, 0.1f, 3, 4, 5}));
  EXPECT_EQ(info.targets.deviation(), (std::vector<float>{1e-3f, 1, 1e9f}));
  EXPECT_EQ(info.split, "60/20/20");
  EXPECT_EQ(info.seed, 18446744073709551615U);
  const auto read = [](const SafeTensors& file) { read_info(file, "f"); };
  Json json = Json::parse(weights().metadata.at("rodeo"));
  json["feature_deviation"][1] = 0;
  EXPECT_EQ(
      error_with(weights(), json, read),
      "f: its description has 5 values as 'feature_mean' and 5 as 'feature_deviation', which must be 5, and "
      "deviations above 0");
  json.erase("feature_mean");
  json.erase("feature_deviation");
  EXPECT_EQ(error_with(weights(), json, read),
            "f: feature_mean and --normalize-features standard belong together");
}

TEST(TrainRunState, MissingMembersOfCheckpointsAreNamed) {
  check_members(checkpoint(), {"lowest_loss_epoch"},
                [](const SafeTensors& file) { read_state(file, {}, "f"); });
}

TEST(TrainRunState, WrongMembersAreShown) {
  const auto read = [](const SafeTensors& file) { read_info(file, "f"); };
  Json json = Json::parse(weights().metadata.at("rodeo"));
  json["num_classes"] = "three";
  EXPECT_EQ(error_with(weights(), json, read),
            "f: its description has \"three\" as 'num_classes', which must be a number");
  json["num_classes"] = 3;
  json["evaluation"].erase("val");
  EXPECT_EQ(error_with(weights(), json, read), "f: its description, 'evaluation', has no 'val'");
  EXPECT_EQ(error_with(weights(), Json::array(), read),
            "f: its description (metadata 'rodeo') is not a JSON object");
  SafeTensors others = weights();
  others.metadata.erase("rodeo");
  EXPECT_EQ(error_of([&] { read(others); }), "f: was not written by Rodeo: it has no metadata 'rodeo'");
}

TEST(TrainRunState, NotANumberIsReadBack) {
  RunState state = state_after(1);
  state.trainer.lowest_loss_epoch = 1;
  state.trainer.lowest_loss = state.trainer.last.val_loss = std::numeric_limits<double>::quiet_NaN();
  const RunState back = read_state(pack_state(state, {}), {}, "f");
  EXPECT_TRUE(std::isnan(back.trainer.lowest_loss));
  EXPECT_TRUE(std::isnan(back.trainer.last.val_loss));
}

TEST(TrainRunState, EveryNumberIsReadBack) {
  RunState state = state_after(3);
  state.settings = "{\"a\":1}", state.num_nodes = 11, state.num_edges = 12;
  TrainerState& t = state.trainer;
  t.batch = 2, t.batch_loss = 2.5, t.best_epoch = 2, t.lowest_loss_epoch = 1, t.lowest_loss = 0.125;
  t.best = {.train = 0.1, .val = 0.2, .test = 0.3, .val_loss = 0.4};
  t.last = {.train = 0.5, .val = 0.6, .test = 0.7, .val_loss = 0.8};
  t.schedule = {1, 2};
  for (const int epoch : {1, 2, 3}) {
    EpochReport r;
    r.epoch = epoch, r.loss = 10 + epoch, r.ms = 20 + epoch, r.best_epoch = std::min(epoch, 2);
    if (epoch < 3)
      r.evaluation = {.train = 1. * epoch, .val = 2. * epoch, .test = 3. * epoch, .val_loss = 4. * epoch};
    if (epoch < 3) r.evaluation_ms = 30 + epoch;
    if (epoch == 2) r.parts = {.sparse = 1, .gemm = 2, .other = 3, .communication = 4};
    state.history.push_back(r);
  }
  const RunState back = read_state(pack_state(state, {}), {}, "f");
  EXPECT_EQ(back.settings, state.settings);
  EXPECT_EQ(back.num_nodes, 11);
  EXPECT_EQ(back.num_edges, 12);
  EXPECT_EQ(back.trainer.epoch, 3);
  EXPECT_EQ(back.trainer.batch, 2);
  EXPECT_EQ(back.trainer.batch_loss, 2.5);
  EXPECT_EQ(back.trainer.best_epoch, 2);
  EXPECT_EQ(back.trainer.lowest_loss_epoch, 1);
  EXPECT_EQ(back.trainer.lowest_loss, 0.125);
  EXPECT_EQ(back.trainer.schedule, (std::vector<double>{1, 2}));
  const auto values = [](const Evaluation& e) { return std::vector{e.train, e.val, e.test, e.val_loss}; };
  EXPECT_EQ(values(back.trainer.best), values(t.best));
  EXPECT_EQ(values(back.trainer.last), values(t.last));
  ASSERT_EQ(back.history.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const EpochReport &r = back.history[i], &want = state.history[i];
    SCOPED_TRACE(want.epoch);
    EXPECT_EQ(r.epoch, want.epoch);
    EXPECT_EQ(r.loss, want.loss);
    EXPECT_EQ(r.ms, want.ms);
    EXPECT_EQ(r.best_epoch, want.best_epoch);
    ASSERT_EQ(r.evaluation.has_value(), i < 2);
    if (i < 2) {
      EXPECT_EQ(values(*r.evaluation), values(*want.evaluation));
      EXPECT_EQ(r.evaluation_ms, want.evaluation_ms);
    } else {
      EXPECT_TRUE(std::isnan(r.evaluation_ms));
    }
    EXPECT_EQ(values(r.best), values(*state.history[std::min<std::size_t>(i, 1)].evaluation));
  }
  EXPECT_FALSE(back.history[0].parts.has_value());
  const PartTimes parts = back.history[1].parts.value();
  EXPECT_EQ((std::vector{parts.sparse, parts.gemm, parts.other, parts.communication}),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST(TrainRunState, WrongTensorsOfCheckpointsAreNamed) {
  RunState state = state_after(3);
  state.trainer.batch = 1;
  EpochReport report;
  report.epoch = 3;
  state.history = {report};
  const auto error = [&](const char* name, const Tensor& value) {
    SafeTensors packed = pack_state(state, {});
    std::erase_if(packed.tensors, [&](const auto& entry) { return entry.first == name; });
    if (value.defined()) packed.tensors.emplace_back(name, value);
    return error_of([&] { read_state(packed, {}, "f"); });
  };
  const std::string shape = "f: history must be f64 [epochs, 13]", loss = "f: batch_loss must be f64 [1]";
  EXPECT_EQ(error("history", {}), "f: has no history");
  EXPECT_EQ(error("history", Tensor::zeros({1, 13})), shape);
  EXPECT_EQ(error("history", Tensor::zeros({1, 14}, DType::kF64)), shape);
  EXPECT_EQ(error("history", Tensor::zeros({1, 11}, DType::kF64)), shape);
  EXPECT_EQ(error("history", Tensor::zeros({13}, DType::kF64)), shape);
  EXPECT_EQ(error("batch_loss", {}), loss);
  EXPECT_EQ(error("batch_loss", Tensor::zeros({1})), loss);
  EXPECT_EQ(error("batch_loss", Tensor::zeros({2}, DType::kF64)), loss);
  EXPECT_EQ(error("lr_schedule", Tensor::zeros({2})), "f: lr_schedule must be f64");
  const auto rows = [](std::int64_t column, double value) {
    const Tensor history = Tensor::zeros({2, 13}, DType::kF64);
    history.data<double>()[13 + column] = value;
    return history;
  };
  for (const std::int64_t column : {0, 11}) {
    for (const double value : {4.0, -1.0, 1.5})
      EXPECT_EQ(error("history", rows(column, value)), "f: history[1] is of no epoch up to 3") << value;
    SafeTensors packed = pack_state(state_after(3), {});
    for (auto& [name, tensor] : packed.tensors)
      if (name == "history") tensor = rows(column, 3);
    EXPECT_EQ(read_state(packed, {}, "f").history.size(), 2u) << "the last epoch is one";
  }
}

// Version 0.2 wrote no time of communication.
TEST(TrainRunState, HistoryMayLackCommunication) {
  RunState state = state_after(2);
  for (const int epoch : {1, 2}) {
    EpochReport report;
    report.epoch = epoch;
    report.parts = {1, 2, 3, 4};
    state.history.push_back(report);
  }
  SafeTensors packed = pack_state(state, {});
  EXPECT_EQ(read_state(packed, {}, "a run").history[1].parts->communication, 4);
  const Tensor whole = packed.at("history"), old = Tensor::empty({2, 12}, DType::kF64);
  for (int row = 0; row < 2; ++row)
    for (int i = 0; i < 12; ++i) old.data<double>()[row * 12 + i] = whole.data<double>()[row * 13 + i];
  for (auto& [name, tensor] : packed.tensors)
    if (name == "history") tensor = old;
  const RunState read = read_state(packed, {}, "a run");
  EXPECT_EQ(read.history[1].epoch, 2);
  EXPECT_EQ(read.history[1].parts->other, 3);
  EXPECT_EQ(read.history[1].parts->communication, 0);
}

// The layout of versions that had Adam alone.
TEST(TrainRunState, ReadsAdamOfEarlierVersions) {
  SafeTensors packed = checkpoint();
  const Tensor m = Tensor::from<float>({1, 2}), v = Tensor::from<float>({3, 4}),
               other = Tensor::from<float>({5}), steps = Tensor::from<std::int64_t>({7, 0, 7});
  packed.tensors = {{"adam.m.conv1.weight", m},
                    {"adam.v.conv1.weight", v},
                    {"adam.m.of_another_model", other},
                    {"adam.steps", steps},
                    {"history", packed.at("history")}};
  const std::vector<std::string> names{"conv1.weight", "conv2.weight"};
  const OptimizerState state = read_state(packed, names, "f").trainer.optimizer;
  EXPECT_EQ(state.optimizer, "adam");
  ASSERT_EQ(state.slots.size(), 2u);
  EXPECT_EQ(state.slots[0].name, "m");
  EXPECT_TRUE(same_bits(state.slots[0].tensors.at(0), m));
  EXPECT_EQ(state.slots[1].name, "v");
  EXPECT_TRUE(same_bits(state.slots[1].tensors.at(0), v));
  EXPECT_FALSE(state.slots[0].tensors.at(1).defined());
  EXPECT_TRUE(same_bits(state.steps, steps));

  RunState same;
  same.trainer.optimizer = state;
  const SafeTensors again = pack_state(same, names);  // new files have these names, too
  for (const char* name : {"adam.m.conv1.weight", "adam.v.conv1.weight", "adam.steps"})
    EXPECT_TRUE(again.has(name) && same_bits(again.at(name), packed.at(name))) << name;
  EXPECT_EQ(again.tensors.size(), 4u);
}

TEST(TrainRunState, KeepsTheStateOfAnyOptimizer) {
  RunState run = state_after(2);
  const Tensor a = Tensor::from<float>({1}), b = Tensor::from<double>({2});
  run.trainer.optimizer = {"sgd", {{"momentum", {a, {}, b}}}, Tensor::from<std::int64_t>({2, 0, 1, 2})};
  const std::vector<std::string> names{"momentum", "steps", "conv.lin.bias"};
  SafeTensors packed = pack_state(run, names);
  EXPECT_TRUE(packed.has("sgd.momentum.conv.lin.bias"));
  const OptimizerState back = read_state(packed, names, "f").trainer.optimizer;
  EXPECT_EQ(back.optimizer, "sgd");
  ASSERT_EQ(back.slots.size(), 1u);
  EXPECT_EQ(back.slots[0].name, "momentum");
  EXPECT_TRUE(same_bits(back.slots[0].tensors.at(0), a) && same_bits(back.slots[0].tensors.at(2), b));
  EXPECT_FALSE(back.slots[0].tensors.at(1).defined());
  std::erase_if(packed.tensors, [](const auto& entry) { return entry.first == "sgd.steps"; });
  EXPECT_ERROR(read_state(packed, names, "f"), "f: has no steps of an optimizer, such as adam.steps");
}

TEST(TrainRunState, HistoryIsOfEpochsOfTheRun) {
  RunState state = state_after(2);
  for (const int epoch : {1, 2}) {
    EpochReport report;
    report.epoch = epoch;
    state.history.push_back(report);
  }
  const SafeTensors packed = pack_state(state, {});
  EXPECT_EQ(read_state(packed, {}, "a run").history.size(), 2u);
  double* last = packed.at("history").data<double>() + 13;
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), 1e300, -1, 1.5, 3};
  for (const double epoch : bad) {
    last[0] = epoch;
    EXPECT_ERROR(read_state(packed, {}, "a run"), "a run: history[1] is of no epoch up to 2");
  }
  last[0] = 2;
  for (const double best : bad) {
    last[11] = best;
    EXPECT_ERROR(read_state(packed, {}, "a run"), "a run: history[1] is of no epoch up to 2");
  }
}

// A version that reads 1 alone would take scaled targets for targets, or repeat the batches of an epoch.
TEST(TrainRunState, FormatsAreTheOldestThatCanBeRead) {
  const auto format = [](const SafeTensors& file) {
    return Json::parse(file.metadata.at("rodeo")).at("format").get<int>();
  };
  EXPECT_EQ(format(weights()), 3);
  WeightsInfo plain;
  plain.options = published_options("gcn");
  plain.features = ColumnScale({1}, {2});
  EXPECT_EQ(format(pack_weights({}, plain)), 1);
  RunState state = state_after(7);
  EXPECT_EQ(format(pack_state(state, {})), 1);
  state.trainer.batch = 1;
  EXPECT_EQ(format(pack_state(state, {})), 2);
}

}  // namespace
}  // namespace rodeo::test
