#include "train/io/run_state.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/quoting.h"
#include "core/text.h"
#include "core/version.h"
#include "train/io/json_text.h"
#include "train/io/settings.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

// Versions that read 1 would repeat the batches of the epoch (2), or take scaled targets for targets (3).
constexpr int kFormat = 1, kWithinEpoch = 2, kScaled = 3;
constexpr const char* kKey = "rodeo";

template <class T>
constexpr const char* kKind = "a number";
template <>
constexpr const char* kKind<bool> = "true or false";
template <>
constexpr const char* kKind<std::string> = "text";

/// A table of the JSON that describes a file. A missing or wrong member is an Error that names it.
struct Description {
  const Json& json;
  std::string where;  // "w.safetensors: its description"

  const Json& at(const char* key) const {
    const auto found = json.find(key);
    check(found != json.end(), where, " has no '", key, "'");
    return *found;
  }
  template <class T>
  T get(const char* key) const {
    const Json& value = at(key);
    constexpr bool kFlag = std::is_same_v<T, bool>, kText = std::is_same_v<T, std::string>;
    const bool fits = kFlag ? value.is_boolean() : kText ? value.is_string() : value.is_number();
    check(fits, where, " has ", json_text(value), " as '", key, "', which must be ", kKind<T>);
    return value.get<T>();
  }
  /// A NaN is written as null.
  double number(const char* key) const { return at(key).is_null() ? Statistics::kNone : get<double>(key); }
  /// A list of texts or of numbers; empty without the member.
  template <class T>
  std::vector<T> list(const char* key) const {
    constexpr bool kText = std::is_same_v<T, std::string>;
    if (!json.contains(key)) return {};
    const Json& values = json[key];
    const auto fits = [](const Json& v) { return kText ? v.is_string() : v.is_number(); };
    check(values.is_array() && std::all_of(values.begin(), values.end(), fits), where, " has ",
          json_text(values), " as '", key, "', which must be a list of ", kText ? "texts" : "numbers");
    return values.get<std::vector<T>>();
  }
  /// The columns of `mean` and `deviation`; undefined without them.
  ColumnScale scale(const char* mean, const char* deviation, std::int64_t columns) const {
    const auto shift = list<float>(mean), by = list<float>(deviation);
    if (shift.empty() && by.empty()) return {};
    const auto usable = [](float d) { return std::isfinite(d) && d > 0; };
    check(std::ssize(shift) == columns && std::ssize(by) == columns &&
              std::all_of(by.begin(), by.end(), usable),
          where, " has ", shift.size(), " values as '", mean, "' and ", by.size(), " as '", deviation,
          "', which must be ", columns, ", and deviations above 0");
    return {shift, by};
  }
  Description table(const char* key) const { return {at(key), str(where, ", '", key, "',")}; }
  Evaluation evaluation(const char* key) const {
    const Description e = table(key);
    return {e.number("train"), e.number("val"), e.number("test"), e.number("val_loss")};
  }
};

/// Calls read(description).
template <class F>
void read_description(const SafeTensors& file, const std::string& where, F&& read) {
  const auto text = file.metadata.find(kKey);
  check(text != file.metadata.end(), where, ": was not written by Rodeo: it has no metadata '", kKey, "'");
  const Json json = Json::parse(text->second, nullptr, /*allow_exceptions=*/false);
  check(json.is_object(), where, ": its description (metadata '", kKey, "') is not a JSON object");
  const Description description{json, where + ": its description"};
  const int format = description.get<int>("format");
  check(format >= kFormat && format <= kScaled, where, ": is of format ", format, ", this version reads ",
        kFormat, " to ", kScaled);
  read(description);
}

/// The members "feature_mean" and "feature_deviation" of `what` "feature"; none without columns.
void pack_scale(const ColumnScale& scale, const std::string& what, Json& json) {
  if (!scale.defined()) return;
  json[what + "_mean"] = scale.mean();
  json[what + "_deviation"] = scale.deviation();
}

void pack_types(const TrainedTypes& trained, Json& json) {
  for (const auto& [type, nodes, features, scale] : trained.types) {
    Json& out = json["node_types"].emplace_back(
        Json{{"name", type}, {"nodes", nodes}, {"features", features}, {"scaling", name(scale.scaling)}});
    pack_scale(scale.columns, "feature", out);
  }
  json["relations"] = trained.relations;
  json["target_type"] = trained.target;
}

TrainedTypes read_types(const Description& d) {
  TrainedTypes out{.types = {},
                   .relations = d.list<std::string>("relations"),
                   .target = d.get<std::string>("target_type")};
  for (const Json& json : d.at("node_types")) {
    check(json.is_object(), d.where, " has ", json_text(json), " as a node type");
    const Description type{json, d.where + ", 'node_types',"};
    const auto features = type.get<std::int64_t>("features");
    out.types.push_back({type.get<std::string>("name"), type.get<std::int64_t>("nodes"), features, {}});
    FeatureScale& scale = out.types.back().scale;
    scale.scaling = parse_name<FeatureScaling>(type.where + " 'scaling'", type.get<std::string>("scaling"));
    scale.columns = type.scale("feature_mean", "feature_deviation", features);
    check(scale.columns.defined() == is_standard(scale.scaling), type.where,
          " feature_mean and scaling standard belong together");
  }
  return out;
}

Json description() {
  return {{"format", kFormat}, {"version", RODEO_VERSION}, {"commit", RODEO_COMMIT}};
}

// One row of the history. The last column is missing in files of version 0.2.
constexpr std::int64_t kColumns = 13, kBestEpoch = 11;

void append(std::vector<double>& rows, const EpochReport& r) {
  const double none = Statistics::kNone;
  const Evaluation e = r.evaluation.value_or(kNotEvaluated);
  const PartTimes p = r.parts.value_or(PartTimes{none, none, none, none});
  rows.insert(rows.end(), {static_cast<double>(r.epoch), r.loss, r.ms, e.train, e.val, e.test, e.val_loss,
                           r.evaluation_ms, p.sparse, p.gemm, p.other, static_cast<double>(r.best_epoch),
                           p.communication});
}

// A row has no best evaluation of its own: it is taken from an earlier row.
EpochReport report_of(const double* row, bool has_communication, const std::vector<EpochReport>& before) {
  EpochReport r;
  r.epoch = static_cast<int>(row[0]);
  r.loss = row[1];
  r.ms = row[2];
  if (!std::isnan(row[3])) r.evaluation = {row[3], row[4], row[5], row[6]};
  r.evaluation_ms = row[7];
  if (!std::isnan(row[8])) r.parts = {row[8], row[9], row[10], has_communication ? row[12] : 0};
  r.best_epoch = static_cast<int>(row[kBestEpoch]);
  if (r.best_epoch == r.epoch)
    r.best = r.evaluation.value_or(Evaluation{});
  else if (!before.empty())
    r.best = before.back().best;
  return r;
}

constexpr std::string_view kSteps = ".steps";

// The tensors of an optimizer are adam.steps, adam.m.conv1.weight and so on.
void pack_optimizer(const OptimizerState& state, const std::vector<std::string>& names, SafeTensors& packed) {
  for (std::size_t i = 0; i < names.size(); ++i)
    for (const auto& [slot, tensors] : state.slots)
      if (tensors.at(i).defined())
        packed.tensors.emplace_back(str(state.optimizer, ".", slot, ".", names[i]), tensors[i]);
  packed.tensors.emplace_back(state.optimizer + std::string(kSteps), state.steps);
}

OptimizerState read_optimizer(const SafeTensors& packed, const std::vector<std::string>& names,
                              const std::string& where) {
  OptimizerState state;
  for (const auto& [name, tensor] : packed.tensors)
    if (const std::size_t dot = name.find('.'); dot != std::string::npos && name.substr(dot) == kSteps) {
      state.optimizer = name.substr(0, dot);
      state.steps = tensor;
    }
  check(state.steps.defined(), where, ": has no steps of an optimizer, such as adam.steps");
  const std::string prefix = state.optimizer + ".";
  for (const auto& [name, tensor] : packed.tensors) {
    const std::size_t dot = name.find('.', prefix.size());
    if (!name.starts_with(prefix) || dot == std::string::npos) continue;
    const auto parameter = std::find(names.begin(), names.end(), name.substr(dot + 1));
    if (parameter == names.end()) continue;
    const std::string slot = name.substr(prefix.size(), dot - prefix.size());
    auto found = std::find_if(state.slots.begin(), state.slots.end(),
                              [&](const OptimizerState::Slot& s) { return s.name == slot; });
    if (found == state.slots.end())
      found = state.slots.insert(found, {slot, std::vector<Tensor>(names.size())});
    found->tensors[static_cast<std::size_t>(parameter - names.begin())] = tensor;
  }
  return state;
}

const Tensor* find(const StateDict& state, const std::string& name) {
  for (const auto& [own, value] : state)
    if (own == name) return &value;
  return nullptr;
}

}  // namespace

std::string describe_weights(const WeightsInfo& info) {
  Json json = description();
  json["model"] = settings_of(info.options, OptionRole::kModel);
  json["dataset"] = info.dataset;
  json["num_features"] = info.num_features;
  json["num_classes"] = info.num_classes;
  json["multi_label"] = info.multi_label;
  if (info.regression) json["regression"] = true;
  json["metric"] = name(info.options.metric);
  json["epoch"] = info.epoch;
  if (info.evaluation) json["evaluation"] = *info.evaluation;
  if (!info.class_names.empty()) json["class_names"] = info.class_names;
  pack_scale(info.features, "feature", json);
  if (info.targets.defined()) json["format"] = kScaled;
  pack_scale(info.targets, "target", json);
  if (!info.types.types.empty()) pack_types(info.types, json);
  if (!info.split.empty()) json["split"] = info.split, json["seed"] = info.seed;
  return json_text(json);
}

SafeTensors pack_weights(const StateDict& state, const WeightsInfo& info) {
  return {state, {{"format", "pt"}, {kKey, describe_weights(info)}}};
}

bool is_described(const SafeTensors& weights) {
  return weights.metadata.contains(kKey);
}

WeightsInfo read_info(const SafeTensors& weights, const std::string& where) {
  WeightsInfo info;
  read_description(weights, where, [&](const Description& d) {
    info.options = model_options(d.at("model").dump(), where);
    info.dataset = d.get<std::string>("dataset");
    info.num_features = d.get<std::int64_t>("num_features");
    info.num_classes = d.get<std::int64_t>("num_classes");
    info.multi_label = d.get<bool>("multi_label");
    info.regression = d.json.contains("regression") && d.get<bool>("regression");
    if (d.json.contains("metric"))
      info.options.metric = parse_name<NodeMetric>(where + ": 'metric'", d.get<std::string>("metric"));
    info.epoch = d.get<int>("epoch");
    if (d.json.contains("evaluation")) info.evaluation = d.evaluation("evaluation");
    info.class_names = d.list<std::string>("class_names");
    info.features = d.scale("feature_mean", "feature_deviation", info.num_features);
    info.targets = d.scale("target_mean", "target_deviation", info.num_classes);
    check(info.features.defined() == is_standard(info.options.normalize_features), where,
          ": feature_mean and --normalize-features standard belong together");
    if (has_relations(info.options)) info.types = read_types(d);
    if (d.json.contains("split"))
      info.split = d.get<std::string>("split"), info.seed = d.get<std::uint64_t>("seed");
    check(info.class_names.empty() || static_cast<std::int64_t>(info.class_names.size()) == info.num_classes,
          where, ": has ", info.class_names.size(), " names of ", info.num_classes, " classes");
  });
  return info;
}

StateDict fit_weights(const StateDict& expected, const StateDict& found, const std::string& where,
                      const std::string& model, const std::string& hint) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> problems;
  StateDict out;
  for (const auto& [name, want] : expected) {
    const Tensor* got = find(found, name);
    if (!got)
      problems.push_back(str("expected ", name, " ", want.shape(), ", found none"));
    else if (got->shape() != want.shape() || is_float(got->dtype()) != is_float(want.dtype()))
      problems.push_back(
          str("expected ", name, " ", want.shape(), ", found ", got->dtype(), " ", got->shape()));
    else
      out.emplace_back(name, is_float(want.dtype()) ? got->to(want.dtype()) : *got);
  }
  for (const auto& [name, value] : found)
    if (!find(expected, name) && !name.ends_with("num_batches_tracked"))
      problems.push_back(str("unexpected ", printable(name), " ", value.shape()));
  if (problems.empty()) return out;
  const std::string more =
      problems.size() > kShown ? str("; and ", problems.size() - kShown, " more") : std::string();
  problems.resize(std::min(problems.size(), kShown));
  fail(where, ": does not fit ", model, ": ", join(problems, "; "), more, hint);
}

SafeTensors pack_state(const RunState& state, const std::vector<std::string>& names) {
  SafeTensors packed;
  pack_optimizer(state.trainer.optimizer, names, packed);
  if (!state.trainer.schedule.empty())
    packed.tensors.emplace_back("lr_schedule", Tensor::from(state.trainer.schedule));
  std::vector<double> rows;
  for (const EpochReport& report : state.history) append(rows, report);
  packed.tensors.emplace_back(
      "history", Tensor::from(rows, {static_cast<std::int64_t>(state.history.size()), kColumns}));
  Json json = description();
  json["epoch"] = state.trainer.epoch;
  if (state.trainer.batch > 0) {
    json["format"] = kWithinEpoch;
    json["batch"] = state.trainer.batch;
    packed.tensors.emplace_back("batch_loss", Tensor::from(std::vector{state.trainer.batch_loss}));
  }
  json["best_epoch"] = state.trainer.best_epoch;
  json["nodes"] = state.num_nodes;
  json["edges"] = state.num_edges;
  json["lowest_loss_epoch"] = state.trainer.lowest_loss_epoch;
  json["lowest_loss"] = state.trainer.lowest_loss;
  json["best"] = state.trainer.best;
  json["last"] = state.trainer.last;
  packed.metadata = {{kKey, json.dump()}, {"settings", state.settings}};
  return packed;
}

RunState read_state(const SafeTensors& packed, const std::vector<std::string>& names,
                    const std::string& where) {
  RunState state;
  read_description(packed, where, [&](const Description& d) {
    state.trainer.epoch = d.get<int>("epoch");
    if (d.json.contains("batch")) state.trainer.batch = d.get<int>("batch");
    state.trainer.best_epoch = d.get<int>("best_epoch");
    state.num_nodes = d.get<std::int64_t>("nodes");
    state.num_edges = d.get<std::int64_t>("edges");
    state.trainer.best = d.evaluation("best");
    state.trainer.last = d.evaluation("last");
    // Checkpoints before 0.3 do not have these.
    const bool has_lowest = d.json.contains("lowest_loss_epoch");
    state.trainer.lowest_loss_epoch = has_lowest ? d.get<int>("lowest_loss_epoch") : state.trainer.best_epoch;
    state.trainer.lowest_loss = has_lowest ? d.number("lowest_loss") : state.trainer.best.val_loss;
  });
  const auto settings = packed.metadata.find("settings");
  check(settings != packed.metadata.end(), where, ": has no settings");
  state.settings = settings->second;
  state.trainer.optimizer = read_optimizer(packed, names, where);
  check(packed.has("history"), where, ": has no history");
  check(state.trainer.batch >= 0, where, ": has ", state.trainer.batch, " as 'batch'");
  if (state.trainer.batch > 0) {
    check(packed.has("batch_loss") && packed.at("batch_loss").dtype() == DType::kF64 &&
              packed.at("batch_loss").numel() == 1,
          where, ": batch_loss must be f64 [1]");
    state.trainer.batch_loss = packed.at("batch_loss").to_vector<double>()[0];
  }
  if (packed.has("lr_schedule")) {
    check(packed.at("lr_schedule").dtype() == DType::kF64, where, ": lr_schedule must be f64");
    state.trainer.schedule = packed.at("lr_schedule").to_vector<double>();
  }
  const Tensor& history = packed.at("history");
  check(history.dtype() == DType::kF64 && history.rank() == 2 &&
            (history.dim(1) == kColumns || history.dim(1) == kColumns - 1),
        where, ": history must be f64 [epochs, ", kColumns, "]");
  const std::int64_t columns = history.dim(1);
  const auto is_epoch = [&](double value) {
    return value >= 0 && value <= state.trainer.epoch && value == std::floor(value);
  };
  for (std::int64_t i = 0; i < history.dim(0); ++i) {
    const double* row = history.data<double>() + i * columns;
    check(is_epoch(row[0]) && is_epoch(row[kBestEpoch]), where, ": history[", i, "] is of no epoch up to ",
          state.trainer.epoch);
  }
  for (std::int64_t i = 0; i < history.dim(0); ++i)
    state.history.push_back(
        report_of(history.data<double>() + i * columns, columns == kColumns, state.history));
  return state;
}

std::vector<std::string> names_of(const std::vector<Variable>& parameters, const Module& model) {
  std::vector<std::string> names;
  for (const Variable& parameter : parameters) {
    std::string found;
    for (const auto& [name, own] : model.named_parameters())
      if (own.value().shares_memory_with(parameter.value())) found = name;
    check(!found.empty(), "[train] a trained parameter is none of the model's");
    names.push_back(found);
  }
  return names;
}

}  // namespace rodeo
