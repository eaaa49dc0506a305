#include "train/task/apply_options.h"

#include <algorithm>

#include "core/quoting.h"
#include "train/task/option_table.h"

namespace rodeo {
namespace {

struct RenamedOption {
  std::string_view before, now;
};
constexpr RenamedOption kRenamed[] = {{"no-graph", "no-cuda-graph"}};

}  // namespace

void apply_options(const std::vector<GivenOption>& given, TrainOptions& options) {
  const std::vector<TrainOption> table = option_table(options);
  const auto find = [&](std::string_view name) {  // the last counts
    const auto found =
        std::find_if(given.rbegin(), given.rend(), [&](const auto& g) { return g.name == name; });
    return found == given.rend() ? nullptr : &*found;
  };
  for (const GivenOption& option : given)
    check(std::any_of(table.begin(), table.end(), [&](const auto& row) { return row.name == option.name; }),
          option.file, option.file.empty() ? "" : ": ", "unknown key '", printable(option.name),
          "'; see --help");
  for (const TrainOption& row : table) {
    const GivenOption* option = find(row.name);
    if (!option) continue;
    try {
      row.set(options, option->text);
    } catch (const Error& error) {
      check(option->file.empty(), option->file, ": ", printable(error.what()));
      throw;
    }
  }
  if (!find("lr-period") || options.schedule.period == 0) options.schedule.period = options.epochs;
  try {
    check_options(table, options, given);
  } catch (const Error& error) {
    const std::string_view message = error.what();  // begins with the option that is wrong
    for (const TrainOption& row : table)
      if (const GivenOption* option = find(row.name); option && message.starts_with(str("--", row.name, " ")))
        check(option->file.empty(), option->file, ": ", message);
    throw;
  }
}

std::string_view current_option_name(std::string_view name) {
  for (const RenamedOption& renamed : kRenamed)
    if (renamed.before == name) return renamed.now;
  return name;
}

std::string rename_warning(std::string_view old_name) {
  return str("--", old_name, " was renamed to --", current_option_name(old_name),
             "; the old name will be removed in the next release");
}

}  // namespace rodeo
