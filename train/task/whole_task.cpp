#include "train/task/whole_task.h"

#include <utility>

#include "ops/all_gather.h"
#include "train/rank_sums.h"

namespace rodeo {

NodeTask of_all_ranks(const NodeTask& task) {
  NodeTask whole = task;
  if (!task.partition) return whole;
  whole.label = all_gather(*task.partition, task.label);
  whole.split = split_of_all(*task.partition, task.split);
  whole.partition = nullptr;
  return whole;
}

std::function<Variable()> of_all_ranks(const NodeTask& task, std::function<Variable()> forward) {
  if (!task.partition) return forward;
  return [nodes = task.partition, forward = std::move(forward)] {
    return all_gather_replicated(*nodes, forward());
  };
}

}  // namespace rodeo
