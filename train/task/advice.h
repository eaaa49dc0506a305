/// Remarks on results that look right and are not. One line each, for terminal, log and report.
#pragma once

#include <string>
#include <vector>

#include "train/task/node_task.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo {

/// "2", and where the dataset has names of classes "2 (dog)", printable.
std::string class_text(const std::vector<std::string>& class_names, std::int64_t c);

/// "0.8000 of the test nodes are of the largest class, 0". task.majority_class must be at least 0.
std::string describe_majority(const NodeTask& task);

/// A remark on a result. Of several runs, their number stands before `what`, in place of `why`.
struct Note {
  std::string what;    // "not converged"
  std::string why;     // ": the best epoch is 197 of 200"
  std::string advice;  // a sentence without its full stop
  std::string text() const { return what + why + ". " + advice; }
};

/// The result that needs no training: the share of the largest class for accuracy, 0.5 for areas under a
/// curve, 0 for R^2; NaN for other metrics.
double chance_level(const NodeTask& task);

/// At most one note on a run that was not stopped; the first that holds:
/// - "diverged": the last test metric is at most chance_level(), and the last validation loss above twice
/// that
///   of equal probabilities for all classes, ln(classes).
/// - "no better than chance": the last test metric, or that of the best epoch, is at most chance_level().
/// - "not converged": no early stop, and the best epoch is one of the last kLateEpochs of all (at least one).
std::vector<Note> run_notes(const NodeTask& task, const TrainSummary& summary, const TrainOptions& options);
constexpr double kLateEpochs = 0.05;

}  // namespace rodeo
