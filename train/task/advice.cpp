#include "train/task/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/quoting.h"

namespace rodeo {

std::string class_text(const std::vector<std::string>& class_names, std::int64_t c) {
  if (class_names.empty()) return std::to_string(c);
  return fmt::format("{} ({})", c, printable(class_names.at(static_cast<std::size_t>(c))));
}

std::string describe_majority(const NodeTask& task) {
  return fmt::format("{:.4f} of the test {} are of the largest class, {}", task.majority,
                     task.parts_of.empty() ? "nodes" : task.parts_of,
                     class_text(task.class_names, task.majority_class));
}

double chance_level(const NodeTask& task) {
  const std::string& metric = task.metric;
  if (metric == "accuracy") return task.majority;  // NaN where it is not known
  if (metric == "AUC" || metric == "ROC-AUC") return 0.5;
  return metric == "R^2" ? 0 : Statistics::kNone;
}

std::vector<Note> run_notes(const NodeTask& task, const TrainSummary& s, const TrainOptions& o) {
  if (s.stopped || s.epochs == 0) return {};
  const double chance = chance_level(task);
  const bool ends_at_chance = s.last.test <= chance, never_above = s.best.test <= chance;
  const bool classes = task.majority_class >= 0 && task.num_classes > 1;
  const double guess = classes ? std::log(static_cast<double>(task.num_classes)) : Statistics::kNone;
  const auto late = std::max(1, static_cast<int>(kLateEpochs * o.epochs));
  const bool is_late = s.epochs == o.epochs && s.best_epoch > s.epochs - late;
  if (chance >= 1)
    return {{"nothing to learn", ": all of the test nodes are of one class",
             "Look at the labels, or at --split"}};
  if (ends_at_chance && s.last.val_loss > 2 * guess)
    return {{"diverged",
             fmt::format(
                 ": the last validation loss is {:.4g}, and {:.4f} for equal probabilities of all classes",
                 s.last.val_loss, guess),
             fmt::format("Try an --lr below {:g}", o.lr)}};
  if (ends_at_chance || never_above) {
    std::string advice = fmt::format("Try an --lr {}{:g}", never_above ? "other than " : "below ", o.lr);
    if (never_above && o.task != TaskKind::kGraph) advice += ", another --normalize-features";
    if (s.epochs < o.epochs)
      advice += fmt::format(", a --patience above {}", o.patience);
    else if (is_late)
      advice += fmt::format(", more --epochs than {}", o.epochs);
    return {{"no better than chance",
             fmt::format(": test {} {:.4f} {}, and {:.4f} without training", task.metric,
                         never_above ? s.best.test : s.last.test,
                         never_above ? "at the best epoch" : "after the last epoch", chance),
             advice}};
  }
  if (!is_late) return {};
  return {{"not converged", fmt::format(": the best epoch is {} of {}", s.best_epoch, s.epochs),
           o.task == TaskKind::kGraph ? "Try more --epochs or a larger --lr"
                                      : "Try more --epochs, a larger --lr or another --normalize-features"}};
}

}  // namespace rodeo
