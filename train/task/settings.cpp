#include "train/task/settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "train/task/model_options.h"

namespace rodeo {
namespace {

using Json = nlohmann::ordered_json;
using Role = Setting::Role;

Json parse_object(std::string_view text, const std::string& where) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    fail(where, ": is not JSON", error.what() ? str(": ", error.what()) : "");
  }
  check(json.is_object(), where, ": must be an object of options and values");
  return json;
}

/// Collects settings; what is not set is left out.
class Table {
 public:
  template <class T>
  void add(Role role, const char* name, const T& value) {
    all.push_back({name, Json(value).dump(-1, ' ', false, Json::error_handler_t::replace), role});
  }
  void add_text(Role role, const char* name, std::string_view text) {
    if (!text.empty()) add(role, name, std::string(text));
  }
  std::vector<Setting> all;
};

void add_model(Table& table, const TrainOptions& o) {
  const ModelTraits& traits = traits_of(o.model);
  table.add_text(Role::kModel, "model", name(o.model));
  if (traits.perceptron) {
    table.add(Role::kModel, "hidden", o.hidden);
    table.add(Role::kModel, "layers", o.layers);
    table.add(Role::kModel, "dropout", o.dropout);
    table.add(Role::kModel, "input-dropout", o.input_dropout.value_or(o.dropout));
  }
  if (traits.heads) {
    table.add(Role::kModel, "heads", o.heads);
    table.add(Role::kModel, "out-heads", o.out_heads);
    table.add(Role::kModel, "attn-dropout", o.attention_dropout);
    table.add(Role::kModel, "negative-slope", o.negative_slope);
  }
  if (traits.aggr) table.add_text(Role::kModel, "aggr", name(o.aggr));
  if (traits.train_eps) table.add(Role::kModel, "train-eps", o.train_eps);
  if (traits.hops) table.add(Role::kModel, "hops", o.hops);
  if (traits.teleport) {
    table.add(Role::kModel, "alpha", o.alpha);
    table.add(Role::kModel, "edge-dropout", o.edge_dropout);
  }
}

/// Those of its kind alone.
void add_schedule(Table& table, const LrScheduleOptions& o) {
  using Kind = LrScheduleOptions::Kind;
  const bool step = o.kind == Kind::kStep, cosine = o.kind == Kind::kCosine,
             plateau = o.kind == Kind::kPlateau;
  table.add_text(Role::kTraining, "lr-schedule", name(o.kind));
  if (step) table.add(Role::kTraining, "lr-step", o.step);
  if (step || plateau) table.add(Role::kTraining, "lr-factor", o.factor);
  if (cosine) table.add(Role::kTraining, "lr-period", o.period);
  if (cosine || plateau) table.add(Role::kTraining, "lr-least", o.least);
  if (plateau) table.add(Role::kTraining, "lr-patience", o.patience);
}

/// What earlier versions did, which did not write it down, or under another name.
bool is_as_before(const Setting& setting, const Json& before) {
  if (setting.name == "precision")
    return setting.json == (before.value("tf32", false) ? "\"tf32\"" : "\"fp32\"");
  return (setting.name == "lr-schedule" && setting.json == "\"none\"") ||
         (setting.name == "clip-norm" && setting.json == "0.0") ||
         (setting.name == "reorder" && setting.json == "\"none\"");
}

}  // namespace

std::vector<Setting> settings_of(const TrainOptions& o) {
  const ModelTraits& traits = traits_of(o.model);
  Table table;
  table.add_text(Role::kRun, "dataset", o.dataset);
  table.add_text(Role::kTraining, "split", o.split);
  table.add(Role::kModel, "undirected", o.undirected);
  table.add(Role::kModel, "normalize-features", o.normalize_features ? "row" : "none");
  add_model(table, o);
  table.add(Role::kRun, "epochs", o.epochs);
  table.add(Role::kTraining, "lr", o.lr);
  table.add(Role::kTraining, "weight-decay", o.weight_decay);
  table.add(Role::kTraining, "seed", o.seed);
  add_schedule(table, o.schedule);
  table.add(Role::kTraining, "clip-norm", o.clip_norm);
  table.add_text(Role::kRun, "on-nan", o.stop_at_nan ? "stop" : "continue");
  table.add(Role::kRun, "eval-every", o.eval_every);
  table.add(Role::kRun, "patience", o.patience);
  table.add_text(Role::kRun, "device", o.device);
  if (traits.attention) table.add_text(Role::kRun, "attention", name(o.attention));
  if (traits.spmm) table.add_text(Role::kRun, "spmm", name(o.spmm));
  table.add_text(Role::kRun, "features", name(o.features));
  if (o.model == ModelKind::kGcn) table.add(Role::kRun, "prune-rows", o.prune_rows);
  table.add_text(Role::kTraining, "reorder", name(o.reorder));  // masks are drawn by place
  table.add_text(Role::kTraining, "precision", name(o.precision));
  table.add(Role::kRun, "no-graph", !o.graph);
  table.add_text(Role::kRun, "checkpoint", o.checkpoint);
  table.add(Role::kRun, "checkpoint-every", o.checkpoint_every);
  table.add(Role::kRun, "resume", o.resume);
  table.add_text(Role::kRun, "export", o.export_file);
  table.add_text(Role::kRun, "log", o.log);
  table.add_text(Role::kRun, "csv", o.csv);
  table.add_text(Role::kRun, "tensorboard", o.tensorboard);
  table.add_text(Role::kRun, "report", o.report);
  table.add_text(Role::kRun, "trace", o.trace);
  table.add(Role::kRun, "profile", o.profile);
  table.add(Role::kRun, "debug", o.debug);
  if (traits.spmm) table.add(Role::kRun, "explain", o.explain);
  table.add(Role::kRun, "quiet", o.quiet);
  return table.all;
}

std::string to_json(const std::vector<Setting>& settings, bool lines) {
  std::string text = lines ? "{\n" : "{";
  for (std::size_t i = 0; i < settings.size(); ++i)
    text += str(lines ? "  " : "", Json(settings[i].name).dump(), ": ", settings[i].json,
                i + 1 < settings.size() ? "," : "",
                lines                     ? "\n"
                : i + 1 < settings.size() ? " "
                                          : "");
  return text + (lines ? "}\n" : "}");
}

std::vector<std::string> arguments_of(std::string_view json, const std::string& where) {
  std::vector<std::string> arguments;
  const Json object = parse_object(json, where);
  for (const auto& [key, value] : object.items()) {
    check(!key.empty() && key.find_first_of("=\n ") == std::string::npos && key[0] != '-', where,
          ": unknown key '", key, "'");
    check(key != "config" && key != "print-config" && key != "help" && key != "version" && key != "dry-run" &&
              key != "list-devices" && key != "completion",
          where, ": '", key, "' belongs on the command line");
    check(value.is_string() || value.is_number() || value.is_boolean(), where, ": '", key,
          "' must be text, a number, true or false");
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    arguments.push_back(str("--", key, "=", text));
  }
  return arguments;
}

TrainOptions model_options(std::string_view json, const std::string& where) {
  const Json object = parse_object(json, where);
  check(object.contains("model") && object["model"].is_string(), where, ": names no model");
  try {
    TrainOptions expected = published_options(parse_model(object["model"].get<std::string>()));
    for (const auto& [key, value] : object.items()) {
      const auto all = settings_of(expected);
      check(std::any_of(all.begin(), all.end(),
                        [&key = key](const Setting& s) { return s.name == key && s.role == Role::kModel; }),
            "'", key, "' is no option of the model ", name(expected.model));
    }
    std::vector<std::string> arguments = arguments_of(json, where);
    std::vector<const char*> argv = {"model", "--dataset=none"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    TrainOptions any;
    any.choose_model = true;
    return parse_train_options(static_cast<int>(argv.size()), argv.data(), any);
  } catch (const Error& error) {
    fail(where, ": ", error.what());
  }
}

void check_same_training(std::string_view then, const TrainOptions& now, const std::string& where) {
  const Json before = parse_object(then, where);
  const std::vector<Setting> settings = settings_of(now);
  const auto text = [](const Json& value) { return value.is_null() ? "no value" : value.dump(); };
  for (const Setting& setting : settings) {
    if (setting.role == Role::kRun) continue;
    if (!before.contains(setting.name) && is_as_before(setting, before)) continue;
    const Json old = before.contains(setting.name) ? before[setting.name] : Json();
    check(old.dump() == setting.json, where, ": was trained with --", setting.name, " ", text(old),
          ", not with ", setting.json, ": a run is resumed with the options it began with");
  }
  // What this run has not set at all: --split.
  for (const auto& [key, value] : before.items())
    check(std::any_of(settings.begin(), settings.end(),
                      [&key = key](const Setting& s) { return s.name == key; }) ||
              key != "split",
          where, ": was trained with --", key, " ", text(value),
          ": a run is resumed with the options it began with");
}

}  // namespace rodeo
