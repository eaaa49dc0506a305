#include "train/task/node_task.h"

#include <algorithm>

#include "datasets/subset.h"

namespace rodeo {

void find_majority(const Tensor& label, const Tensor& test, NodeTask& task) {
  if (label.dtype() != DType::kI64 || test.numel() == 0) return;
  std::vector<std::int64_t> count(static_cast<std::size_t>(task.num_classes));
  for (const std::int64_t i : test.to_vector<std::int64_t>())
    ++count.at(static_cast<std::size_t>(label.data<std::int64_t>()[i]));
  const auto largest = std::ranges::max_element(count);
  task.majority_class = largest - count.begin();
  task.majority = static_cast<double>(*largest) / static_cast<double>(test.numel());
}

Tensor in_file_order(const NodeTask& task, const Tensor& rows) {
  return task.order.defined() ? take(rows.to(kCpu), inverse_order(task.order)) : rows.to(kCpu);
}

}  // namespace rodeo
