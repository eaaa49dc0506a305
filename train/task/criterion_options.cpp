#include "train/task/criteria.h"
#include "train/task/option_parts.h"

namespace rodeo {

void add_criterion_options(OptionGroup training) {
  training.choice(
      kTraining | kNode | kGraph, "metric", &TrainOptions::metric,
      "What decides the best epoch and --patience, and is printed. accuracy: micro-F1 with several "
      "labels each, R^2 of numbers; ap: average precision. roc-auc and ap: of the second of two classes, "
      "else the mean over classes. mse and mae: of numbers, with a minus sign");
  training.choice(kTraining | kNode | kGraph, "loss", &TrainOptions::loss,
                  "Loss where labels are numbers: mean squared or absolute error");
  training.text(kTraining | kNode | kGraph, "class-weights", &TrainOptions::class_weights, "balanced|W,W,...",
                "Weights of the classes in the loss. balanced: inversely to their share of the training set",
                check_class_weights);
  training.probability(kTraining | kNode | kGraph, "label-smoothing", &TrainOptions::label_smoothing,
                       "Share of the target that is spread over all classes");
  training.choice(kTraining | kLink, "link-metric", &TrainOptions::link_metric,
                  "What decides the best epoch: ROC-AUC, average precision, mean reciprocal rank or Hits@K");
  training.integer(kTraining | kLink, "hits", &TrainOptions::hits, 1, "K of Hits@K");
}

}  // namespace rodeo
