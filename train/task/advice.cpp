#include "train/task/advice.h"

#include <fmt/format.h>

#include "core/quoting.h"

namespace rodeo {

std::vector<std::string> data_warnings(const NodeTask& task, const TrainOptions& options) {
  std::vector<std::string> warnings;
  if (task.one_way_edges > 0)
    warnings.push_back(
        fmt::format("the graph is not symmetric: {} of {} edges ({:.3g} %) have no reverse edge. Messages go "
                    "from source to "
                    "destination only; unless that is meant, --undirected adds the missing direction",
                    task.one_way_edges, task.num_edges,
                    100 * static_cast<double>(task.one_way_edges) / static_cast<double>(task.num_edges)));
  if (options.normalize_features && task.feature_norm < kSmallFeatureNorm)
    warnings.push_back(
        fmt::format("--normalize-features row spreads a sum of 1 over about {:.0f} features a node. Such "
                    "small inputs train "
                    "slowly: compare --normalize-features none",
                    1 / (task.feature_norm * task.feature_norm)));
  return warnings;
}

std::string class_text(const std::vector<std::string>& class_names, std::int64_t c) {
  if (class_names.empty()) return std::to_string(c);
  return fmt::format("{} ({})", c, printable(class_names.at(static_cast<std::size_t>(c))));
}

std::string describe_majority(const NodeTask& task) {
  return fmt::format("{:.4f} of the test {} are of the largest class, {}", task.majority,
                     task.parts_of.empty() ? "nodes" : task.parts_of,
                     class_text(task.class_names, task.majority_class));
}

std::string convergence_note(const TrainSummary& summary, const TrainOptions& options) {
  if (summary.stopped || summary.best_epoch != summary.epochs || summary.epochs < options.epochs) return {};
  return fmt::format(
      "the best epoch is the last: training has not converged. Try more --epochs{} a larger --lr{}",
      options.normalize_features ? "," : " or",
      options.normalize_features ? " or --normalize-features none" : "");
}

}  // namespace rodeo
