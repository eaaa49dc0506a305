#include "train/commands/parse_options.h"

#include <algorithm>
#include <cxxopts.hpp>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/host/terminal.h"
#include "core/quoting.h"
#include "train/commands/arguments.h"
#include "train/commands/completion.h"
#include "train/commands/device_text.h"
#include "train/commands/help.h"
#include "train/commands/recorder.h"
#include "train/commands/run_command.h"
#include "train/io/atomic_file.h"
#include "train/io/settings.h"
#include "train/task/model_registry.h"
#include "train/task/option_parts.h"
#include "train/task/option_table.h"
#include "train/task/option_value.h"

namespace rodeo {
namespace {

cxxopts::Options describe_options(const std::string& program, const TrainOptions& defaults) {
  cxxopts::Options options(program, "Trains a graph neural network on one graph.\n");
  options.set_width(static_cast<std::size_t>(help_width()))
      .custom_help(defaults.choose_model ? "--model NAME --dataset FILE [options]"
                                         : "--dataset FILE [options]")
      .allow_unrecognised_options();
  for (const TrainOption& option : option_table(defaults))
    if (option.name != "model" || defaults.choose_model)
      add_option(options, option.group, option.name, option.help, option.hint, option.default_text);
  for (const CommandOption& option : kCommandOptions)
    add_option(options, option.group, option.name, option.help, option.hint);
  return options;
}

/// The headings of --help: what most runs need first, parts of models and optimizers that few do last.
const std::vector<std::string> kHeadings = {"Data",  "Model",  "Training", "Mini-batches", "Execution",
                                            "Files", "Output", "Trunk",    "Optimization"};

/// One table of options for each model that the command trains.
std::vector<ModelTable> completion_tables(const std::string& program, const TrainOptions& defaults) {
  if (!defaults.choose_model) return {{"", describe_options(program, defaults)}};
  std::vector<ModelTable> tables;
  for (const auto registry : {model_registry(), hetero_model_registry()})
    for (const ModelEntry& model : registry) {
      TrainOptions of_model = published_options(model.name);
      of_model.choose_model = true;
      tables.push_back({std::string(model.name), describe_options(program, of_model)});
    }
  return tables;
}

/// Replaces old option names by the current ones, with a warning for each.
Arguments rename_options(int argc, const char* const* argv, std::vector<std::string>& warnings) {
  Arguments arguments{{argv, argv + argc}};
  for (std::string& text : arguments.texts) {
    if (!text.starts_with("--")) continue;
    const std::string name = text.substr(2, text.find('=') - 2);
    const std::string_view current = current_option_name(name);
    if (current == name) continue;
    warnings.push_back(rename_warning(name));
    text.replace(2, name.size(), current);
  }
  return arguments;
}

/// The options of --config FILE; none without it.
std::vector<GivenOption> read_config(const Arguments& arguments, std::vector<std::string>& warnings) {
  const std::string file = arguments.last_value("config");
  if (file.empty() || file.starts_with("--")) return {};
  constexpr std::size_t kMaxBytes = 1 << 20;
  const std::string text = read_file(file, kMaxBytes);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  check(begin != text.npos && (text[begin] == '{' || text[begin] == '['), file,
        ": is no file of settings: --config takes JSON, as --print-config prints it, {\"epochs\": 100}");
  std::vector<GivenOption> given = read_settings(text, file);
  for (GivenOption& option : given) {
    const std::string_view current = current_option_name(option.name);
    if (current == option.name) continue;
    warnings.push_back(str(file, ": ", rename_warning(option.name)));
    option.name = current;
  }
  return given;
}

/// The value that counts of an option that decides which others there are; its text is empty if there is
/// none. `settings`: those that the command line overrides.
GivenOption last_given(std::string_view name, const Arguments& arguments,
                       const std::vector<GivenOption>& settings) {
  GivenOption last{std::string(name), "", ""};
  for (const GivenOption& option : settings)
    if (option.name == name) last = option;
  if (const std::string given = arguments.last_value(name); !given.empty()) last = {last.name, given, ""};
  if (last.text.starts_with("--")) last.text.clear();
  return last;
}

/// parse(), whose Error names the file of the option.
template <class Parse>
auto in_file(const std::string& file, Parse&& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    check(file.empty(), file, ": ", printable(error.what()));
    throw;
  }
}

/// The defaults of the model and the task that are chosen on the command line or in a file.
TrainOptions defaults_of_model(const Arguments& arguments, const std::vector<GivenOption>& settings,
                               const TrainOptions& defaults) {
  const GivenOption of_task = last_given("task", arguments, settings);
  const TaskKind task = of_task.text.empty() ? TaskKind::kNode : in_file(of_task.file, [&] {
    return parse_name<TaskKind>("--task", of_task.text);
  });
  if (!defaults.choose_model) {
    for (const GivenOption& option : settings)
      check(option.name != "model" || option.text == defaults.model, option.file, ": 'model' must be ",
            defaults.model, " for this command, got '", printable(option.text), "'");
    return task == TaskKind::kNode ? defaults : published_options(defaults.model, task);
  }
  const GivenOption model = last_given("model", arguments, settings);
  const std::string name = model.text.empty() ? TrainOptions().model : model.text;
  return in_file(model.file, [&] {
    TrainOptions options = published_options(name, task);
    options.choose_model = true;
    return options;
  });
}

/// --help and other options that print a text; empty without one.
std::string notice_of(const cxxopts::ParseResult& parsed, const cxxopts::Options& description,
                      const std::string& program, const TrainOptions& options, const TrainOptions& defaults) {
  const auto flag = [&](const char* name) { return parsed[name].as<bool>(); };
  if (flag("help")) {
    const std::vector<std::string>& words = parsed.unmatched();
    if (std::find(words.begin(), words.end(), "kernels") != words.end())
      return description.help({std::string(kKernels)});
    std::vector<std::string> headings = kHeadings;
    const std::vector<std::string> filled = description.groups();
    std::erase_if(headings, [&](const std::string& heading) {  // a model may have none of its options
      return std::find(filled.begin(), filled.end(), heading) == filled.end();
    });
    return str(description.help(headings), "\n", wrap(more_help(options), help_width()), "\n\n",
               help_examples(program, defaults.choose_model), "\n", wrap(exit_code_help(), help_width()),
               "\n");
  }
  if (flag("h")) return short_help(program, defaults.choose_model, option_table(options));
  if (flag("list-devices")) return list_devices();
  if (parsed.count("completion") > 0) {
    const auto& shell = parsed["completion"].as<std::string>();
    check_option_has_value("completion", shell);
    return completion_script(shell, program, completion_tables(program, defaults));
  }
  return flag("version") ? version_line(program) : "";
}

}  // namespace

TrainOptions parse_train_options(int argc, const char* const* argv, const TrainOptions& defaults) {
  check_dashes(argc, argv);
  std::vector<std::string> warnings;
  const Arguments arguments = rename_options(argc, argv, warnings);
  std::vector<GivenOption> given = read_config(arguments, warnings);
  TrainOptions options = defaults_of_model(arguments, given, defaults);
  options.warnings = std::move(warnings);

  const std::string program = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "train";
  cxxopts::Options description = describe_options(program, options);
  const cxxopts::ParseResult parsed = arguments.parse(description);
  options.notice = notice_of(parsed, description, program, options, defaults);
  if (!options.notice.empty()) return options;
  options.dry_run = parsed["dry-run"].as<bool>();

  std::vector<GivenOption> from_command_line = given_options(parsed, option_table(options));
  std::vector<std::string> strays = parsed.unmatched();
  if (strays.size() == 1 && !strays[0].empty() && strays[0][0] != '-' && parsed.count("dataset") == 0) {
    from_command_line.push_back({"dataset", strays[0], ""});
    strays.clear();
  }
  given.insert(given.end(), from_command_line.begin(), from_command_line.end());
  const auto is_given = [&](std::string_view name) {
    return std::any_of(given.begin(), given.end(), [&](const auto& s) { return s.name == name; });
  };
  for (const GivenOption& option : given) check_other_value(option);
  apply_options(given, options);
  for (const std::string& stray : strays)
    if (stray.starts_with("-")) fail(unknown_option(stray, options.model, option_names(description)));
  check(strays.empty(), "unexpected argument '", strays.empty() ? "" : strays[0], "'; see --help");
  check(!options.choose_model || is_given("model"), "--model NAME is required: one of ", model_names(),
        "; see --help");
  const bool print_config = parsed["print-config"].as<bool>();
  check(print_config || is_given("dataset"), "--dataset FILE is required; see --help");
  check_files(options, {{"--dataset", options.dataset}, {"--config", arguments.last_value("config")}});
  if (print_config) options.notice = json_text(settings_of(options), 2) + "\n";
  return options;
}

}  // namespace rodeo
