#include "train/commands/sweep_plan.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "core/device.h"
#include "core/error.h"
#include "core/quoting.h"
#include "train/commands/repeat.h"
#include "train/io/atomic_file.h"
#include "train/report/sweep_report.h"
#include "train/task/option_table.h"

namespace rodeo {
namespace {

/// Options that --sweep cannot pass on to a run.
void check_trial(const TrainOptions& options) {
  check_files_of_runs(options, "--sweep");
  check(options.gpus <= 1 && options.ranks <= 1,
        "--sweep trains in one process: not with --gpus and --ranks; --parallel trains several at a time");
}

/// The last value of each option that is not in `names`, in the order of the options.
std::vector<GivenOption> shared_by_all(const std::vector<GivenOption>& given, const Sweep& sweep) {
  std::vector<GivenOption> shared;
  for (const GivenOption& option : given) {
    if (std::find(sweep.names.begin(), sweep.names.end(), option.name) != sweep.names.end()) {
      check(!option.file.empty(), "--", option.name, " is on the command line, and ", sweep.file,
            " tries values of it: leave one of them out");
      continue;
    }
    const auto before = std::find_if(shared.begin(), shared.end(),
                                     [&](const GivenOption& other) { return other.name == option.name; });
    if (before == shared.end())
      shared.push_back(option);
    else
      *before = option;
  }
  return shared;
}

/// In single quotes if a shell would read it as anything else than one word.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "_./:,@%+=-";
  const bool plain = std::all_of(text.begin(), text.end(), [&](unsigned char c) {
    return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != kPlain.npos;
  });
  if (plain && !text.empty()) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string words_of(const GivenOption& option, bool is_flag) {
  const std::string name = " --" + option.name;
  if (is_flag) return option.text == "true" || option.text == "1" ? name : name + "=false";
  return str(name, option.text.starts_with("-") ? "=" : " ", shell_word(option.text));
}

}  // namespace

SweepPlan plan_sweep(const TrainOptions& command, const ParseTrial& parse) {
  constexpr std::size_t kMostBytes = 1 << 20;
  SweepPlan plan;
  plan.sweep = read_sweep(read_file(command.sweep, kMostBytes), command.sweep);
  plan.plot = command.sweep_plot;
  plan.results = !command.sweep_results.empty()
                     ? command.sweep_results
                     : std::filesystem::path(command.sweep).replace_extension(".results.jsonl").string();
  plan.first = plan.sweep.trials.size();
  for (std::size_t t = 0; t < plan.sweep.trials.size(); ++t) {
    plan.options.emplace_back();
    plan.failures.emplace_back();
    try {
      std::vector<GivenOption> given;
      plan.options[t] = parse(plan.sweep.options, plan.sweep.trials[t], given);
      check_trial(plan.options[t]);
      if (plan.first > t) plan.given = std::move(given);
      plan.first = std::min(plan.first, t);
    } catch (const Error& error) {
      plan.failures[t] = error.what();
    }
  }
  check(plan.first < plan.options.size(), plan.failures[0]);
  plan.given = shared_by_all(plan.given, plan.sweep);
  return plan;
}

std::string describe_sweep(const SweepPlan& plan) {
  std::string text = str(plan.options.size(), " trials, results in ", plan.results, "\n");
  for (std::size_t t = 0; t < plan.options.size(); ++t)
    text += str("  ", describe_trial(plan.sweep.names, texts_of(plan.sweep.trials[t])),
                plan.failures[t].empty() ? "" : ": " + printable(plan.failures[t]), "\n");
  return text;
}

std::string command_of_trial(const SweepPlan& plan, std::size_t trial, const std::string& program,
                             int threads) {
  const TrainOptions& options = plan.options[trial];
  const bool shares_threads = options.parallel > 1 && !parse_device(options.device).is_cuda();
  const std::vector<TrainOption> table = option_table(options);
  std::string command = shell_word(program), config;
  const auto add = [&](const GivenOption& option) {
    const auto row =
        std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.name == option.name; });
    command += words_of(option, row->is_flag());
  };
  for (const GivenOption& option : plan.given)
    if (!option.file.empty() && option.file != plan.sweep.file) config = option.file;
  if (!config.empty()) command += " --config " + shell_word(config);
  for (const GivenOption& option : plan.given) {
    const std::string_view name = option.name;
    if (option.file == config && !config.empty()) continue;
    if (name == "parallel" || name == "quiet" || name == "log" || (name == "threads" && shares_threads))
      continue;
    add(option);
  }
  for (const GivenOption& option : plan.sweep.trials[trial]) add(option);
  return command + (shares_threads ? str(" --threads ", threads) : "");
}

}  // namespace rodeo
