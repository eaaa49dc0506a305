#include "train/task/option_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/support/devices.h"
#include "train/commands/repeat.h"
#include "train/io/settings.h"
#include "train/task/model_registry.h"

namespace rodeo::test {
namespace {

bool has_task(std::string_view model, TaskKind task) {
  return task != TaskKind::kGraph || model == "gin" || model == "gcn";
}

/// Calls f(table) for the options of each model in each task.
template <class F>
void for_each_table(F&& f) {
  for (const ModelEntry& model : model_registry())
    for (const auto& [task, text] : kEnumNames<TaskKind>.rows)
      if (has_task(model.name, task)) f(option_table(published_options(model.name, task)));
}

bool has(const std::vector<TrainOption>& table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const TrainOption& row) { return row.name == name; });
}

TEST(TrainOptionTable, ANameIsThereOnce) {
  for_each_table([](const std::vector<TrainOption>& table) {
    std::set<std::string_view> names;
    for (const CommandOption& option : kCommandOptions) EXPECT_TRUE(names.insert(option.name).second);
    for (const TrainOption& row : table) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  });
}

TEST(TrainOptionTable, AnOptionIsOfItsTasks) {
  const auto node = option_table(published_options("gcn", TaskKind::kNode)),
             link = option_table(published_options("gcn", TaskKind::kLink)),
             graph = option_table(published_options("gcn", TaskKind::kGraph));
  EXPECT_TRUE(has(node, "lr") && has(link, "lr") && has(graph, "lr"));
  EXPECT_TRUE(has(node, "split") && !has(link, "split") && !has(graph, "split"));
  EXPECT_TRUE(!has(node, "hits") && has(link, "hits") && !has(graph, "hits"));
  EXPECT_TRUE(has(node, "loss") && !has(link, "loss") && has(graph, "loss"));
}

TEST(TrainOptionTable, OptionsOfTheCommandLineAreNoSettings) {
  for (const CommandOption& option : kCommandOptions)
    EXPECT_ERROR(read_settings(str("{\"", option.name, "\": true}"), "c.json"),
                 str("c.json: '", option.name, "' belongs on the command line"));
}

// Each that --log does not replace is refused, whatever its type; files may have a name for each run.
TEST(TrainOptionTable, OptionsOfOneRunAreNotOfSeveral) {
  TrainOptions defaults = published_options("gcn");
  defaults.seeds = 2;
  EXPECT_NO_THROW(runs_of(defaults));
  int checked = 0;
  for (const TrainOption& row : option_table(defaults)) {
    if (!row.is(OptionFlag::kOneRun)) continue;
    TrainOptions options = defaults;
    row.set(options, row.is_flag() ? "true" : "x");
    EXPECT_ERROR(runs_of(options),
                 row.is_flag() ? str("--", row.name, " is for one run: not with --seeds and --splits")
                               : str("--", row.name,
                                     " x is of 2 runs: put {seed} into its name, so that each has its own"));
    options.log = "log.jsonl";
    if (!row.is_flag()) row.set(options, "x{seed}");
    if (!row.is_flag() || row.is(OptionFlag::kLogged)) {
      EXPECT_NO_THROW(runs_of(options));
    }
    ++checked;
  }
  EXPECT_EQ(checked, 9);
}

// The version that wrote such a checkpoint did not have the option.
TEST(TrainOptionTable, ANewOptionHasItsDefaultInOldCheckpoints) {
  const auto without = [](const TrainOptions& options, std::string_view name) {
    Json settings = settings_of(options);
    EXPECT_EQ(settings.erase(std::string(name)), 1u);
    return json_text(settings);
  };
  TrainOptions options = published_options("gcn");
  const std::string old = without(options, "label-smoothing");
  EXPECT_NO_THROW(check_same_training(old, options, "old"));
  options.label_smoothing = 0.1;
  EXPECT_ERROR(check_same_training(old, options, "old"),
               "old: was trained with --label-smoothing no value, not with 0.1: a run is resumed with the "
               "options it began with");
  options = published_options("gcn");
  options.precision = Precision::kTf32;
  const std::string renamed = without(options, "precision");
  EXPECT_THROW(check_same_training(renamed, options, "old"), Error);
  EXPECT_NO_THROW(check_same_training("{\"tf32\": true, " + renamed.substr(1), options, "old"));
}

}  // namespace
}  // namespace rodeo::test
