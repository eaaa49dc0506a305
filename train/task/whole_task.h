/// What an objective over several ranks reads: labels, split and logits of all nodes, on every rank.
#pragma once

#include <functional>

#include "core/variable.h"
#include "train/task/node_task.h"

namespace rodeo {

/// The task with the labels and the split of all ranks, and no partition; on one rank the task itself. A
/// collective call.
NodeTask of_all_ranks(const NodeTask& task);
/// Logits of all nodes, from a function that returns those of the rank's. On one rank `forward` itself. A
/// call of the result is a collective call.
std::function<Variable()> of_all_ranks(const NodeTask& task, std::function<Variable()> forward);

}  // namespace rodeo
