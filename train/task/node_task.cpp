#include "train/task/node_task.h"

#include "datasets/subset.h"

namespace rodeo {

std::string metric_name(const NodeTask& task) {
  if (!task.metric.empty()) return task.metric;
  return task.label.rank() == 2 ? "micro-F1" : "accuracy";
}

Tensor in_file_order(const NodeTask& task, const Tensor& rows) {
  return task.order.defined() ? take(rows.to(kCpu), inverse_order(task.order)) : rows.to(kCpu);
}

}  // namespace rodeo
