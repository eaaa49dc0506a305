// Each model with each --aggr, form of features, --batch and task that it offers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "datasets/synthetic_graphs.h"
#include "tests/support/devices.h"
#include "tests/support/tiny.h"
#include "train/task/memory_estimate.h"
#include "train/task/model_registry.h"
#include "train/task/node_model.h"
#include "train/task/option_table.h"

namespace rodeo::test {
namespace {

class TrainCombinations : public OnDevice {};
RODEO_ON_ALL_DEVICES(TrainCombinations);

/// All texts of an option to try; none where the model does not have it.
std::vector<GivenOption> choices(const std::vector<TrainOption>& table, const char* name,
                                 const std::vector<const char*>& texts) {
  std::vector<GivenOption> all;
  if (std::any_of(table.begin(), table.end(), [&](const TrainOption& row) { return row.name == name; }))
    for (const char* text : texts) all.push_back({name, text, ""});
  return all.empty() ? std::vector<GivenOption>{{"epochs", "2", ""}} : all;
}

TEST_P(TrainCombinations, TrainForTwoEpochs) {
  const Dataset nodes = tiny_dataset(60), graphs = synthesize_graphs({.graphs = 12, .max_nodes = 14});
  int trained = 0;
  for (const ModelEntry& model : model_registry())
    for (const auto& [task, task_name] : kEnumNames<TaskKind>.rows) {
      if (task == TaskKind::kGraph && !model.graphs) continue;
      const TrainOptions published = published_options(model.name, task);
      const auto table = option_table(published);
      for (const GivenOption& aggr : choices(table, "aggr", {"mean", "max", "min", "sum"}))
        for (const GivenOption& features : choices(table, "features", {"auto", "dense", "sparse"}))
          for (const GivenOption& batch :
               choices(task == TaskKind::kGraph ? decltype(table)() : table, "batch", {"0", "16"}))
            for (const char* hidden : {"8", "40"}) {  // narrower and wider than the features
              std::vector<GivenOption> given = {aggr, features, batch};
              if (model.conv->traits.hidden_layers()) given.push_back({"hidden", hidden, ""});
              std::string text = str(model.name, " --task ", task_name);
              for (const GivenOption& option : given) text += str(" --", option.name, " ", option.text);
              TrainOptions options = published;
              options.epochs = 2;
              options.fold = 0, options.folds = 3;
              try {
                apply_options(given, options);
              } catch (const Error& error) {  // of the options alone, which it names
                EXPECT_EQ(std::string(error.what()).rfind("--", 0), 0u) << text << ": " << error.what();
                EXPECT_EQ(features.text, "sparse") << text << ": " << error.what();
                continue;
              }
              try {
                const NodeRun run = make_run(task == TaskKind::kGraph ? graphs : nodes, options, device());
                if (task == TaskKind::kNode && features.text == "dense" && batch.text == "0" &&
                    *hidden == '8') {
                  EXPECT_GT(estimate_step_bytes(run, options), 0) << text;
                }
                Trainer trainer = make_trainer(run, trainer_options(options));
                EXPECT_TRUE(std::isfinite(trainer.fit().last.test)) << text;
                ++trained;
              } catch (const Error& error) {
                ADD_FAILURE() << text << ": " << error.what();
              }
            }
    }
  EXPECT_GT(trained, 150);
}

}  // namespace
}  // namespace rodeo::test
