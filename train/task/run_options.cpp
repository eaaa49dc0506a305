#include "train/task/option_parts.h"

namespace rodeo {

void add_run_options(OptionGroup training) {
  training.integer(kTraining | kShort, "seed", &TrainOptions::seed, 0,
                   "Seed of the initial weights, dropout and --split");
  training.integer(kRun, "seeds", &TrainOptions::seeds, 1,
                   "Train N times, with --seed and the numbers after it, and print mean and deviation; with "
                   "--splits all N times on each split");
  training.integer(kRun | kCommand, "parallel", &TrainOptions::parallel, 1,
                   "Train N at a time of the runs of --seeds, --splits and folds, on one device");
  training.add(
      kRun | kNode, "splits", "all: train with each split of the file's masks, once or with each of --seeds",
      "all", [](const TrainOptions& o) { return o.all_splits ? OptionValue("all") : OptionValue(); },
      [](TrainOptions& o, const std::string& text) {
        check_option_has_value("splits", text);
        check(text == "all", "--splits must be all, got '", text, "'; --split K takes one of them");
        o.all_splits = true;
      });
  training.integer(kRun, "eval-every", &TrainOptions::eval_every, 1, "Epochs between evaluations");
  training.integer(kRun | kShort, "patience", &TrainOptions::patience, 0,
                   "Stop after N epochs without a better validation result; 0: never");
  training.two_words(kRun, "stop-on", &TrainOptions::stop_on_loss, "loss", "accuracy",
                     "What --patience looks at: validation accuracy, or loss (the rule of Kipf & Welling)");
}

void check_run_options(const TrainOptions& o) {
  check(!o.stop_on_loss || o.patience > 0, "--stop-on loss needs --patience N, the epochs to wait");
}

}  // namespace rodeo
