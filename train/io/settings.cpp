#include "train/io/settings.h"

#include <algorithm>
#include <type_traits>

#include "core/error.h"
#include "core/quoting.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

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

Json to_json(const OptionValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return Json();
        else
          return Json(v);
      },
      value);
}

/// Whether a checkpoint without an option, of a version that did not have it or had it under another name,
/// was trained with this value: a new option's default changes nothing.
bool is_implied(const std::string& name, const Json& value, const Json& defaults, const Json& checkpoint) {
  if (name == "precision") return value == (checkpoint.value("tf32", false) ? "tf32" : "fp32");
  return defaults.contains(name) && defaults[name] == value;
}

}  // namespace

Json settings_of(const TrainOptions& options, OptionRole most) {
  Json settings = Json::object();
  for (const TrainOption& option : option_table(options))
    if (const Json value = to_json(option.get(options)); option.kind.role <= most && !value.is_null())
      settings[std::string(option.name)] = value;
  return settings;
}

std::vector<GivenOption> read_settings(std::string_view json, const std::string& file) {
  std::vector<GivenOption> given;
  const Json object = parse_object(json, file);
  for (const auto& [key, value] : object.items()) {
    check(!key.empty() && key.find_first_of("=\n ") == std::string::npos && key[0] != '-', file,
          ": unknown key '", printable(key), "'");
    check(!is_command_option(key), file, ": '", key, "' belongs on the command line");
    check(value.is_string() || value.is_number() || value.is_boolean(), file, ": '", key,
          "' must be text, a number, true or false");
    given.push_back({key, value.is_string() ? value.get<std::string>() : value.dump(), file});
  }
  return given;
}

TrainOptions model_options(std::string_view json, const std::string& file) {
  const Json object = parse_object(json, file);
  check(object.contains("model") && object["model"].is_string(), file, ": names no model");
  const std::vector<GivenOption> given = read_settings(json, file);
  TrainOptions options;
  try {
    const bool has_task = object.contains("task") && object["task"].is_string();
    options = published_options(
        object["model"].get<std::string>(),
        has_task ? parse_name<TaskKind>("--task", object["task"].get<std::string>()) : TaskKind::kNode);
  } catch (const Error& error) {
    fail(file, ": ", printable(error.what()));
  }
  const std::vector<TrainOption> table = option_table(options);
  for (const GivenOption& option : given)
    check(std::any_of(table.begin(), table.end(),
                      [&](const auto& row) { return row.name == option.name && row.is(OptionRole::kModel); }),
          file, ": '", printable(option.name), "' is no option of the model ", options.model);
  apply_options(given, options);
  return options;
}

void check_same_training(std::string_view then, const TrainOptions& now, const std::string& where) {
  constexpr const char* kRule = ": a run is resumed with the options it began with";
  const Json before = parse_object(then, where), settings = settings_of(now, OptionRole::kTraining),
             defaults = settings_of(published_options(now.model, now.task));
  const auto text = [](const Json& value) { return value.is_null() ? "no value" : json_text(value); };
  for (const auto& [name, value] : settings.items()) {
    if (!before.contains(name) && is_implied(name, value, defaults, before)) continue;
    const Json old = before.contains(name) ? before[name] : Json();
    check(json_text(old) == json_text(value), where, ": was trained with --", name, " ", text(old),
          ", not with ", text(value), kRule);
  }
  if (before.contains("split"))
    check(settings.contains("split"), where, ": was trained with --split ", text(before["split"]), kRule);
}

}  // namespace rodeo
