#include "core/node_partition.h"

#include <utility>

#include "core/error.h"

namespace rodeo {

NodePartition::NodePartition(Communicator ranks, std::vector<std::int64_t> rows, std::int64_t alignment)
    : ranks_(std::move(ranks)), rows_(std::move(rows)) {
  check(static_cast<int>(rows_.size()) == ranks_.size(),
        "[node_partition] rows must have a value for each of ", ranks_.size(), " ranks, got ", rows_.size());
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    const std::int64_t count = rows_[static_cast<std::size_t>(rank)];
    check(count >= 0, "[node_partition] rows must not be negative, got ", count, " for rank ", rank);
    check(count == 0 || num_nodes_ % alignment == 0,
          "[node_partition] the first node of a rank must be a multiple of ", alignment, ", got ", num_nodes_,
          " for rank ", rank, ": cut the rows at multiples of ", alignment);
    if (rank == ranks_.rank()) first_row_ = num_nodes_;
    num_nodes_ += count;
  }
}

namespace {
thread_local const NodePartition* current = nullptr;
}

ScopedPartition::ScopedPartition(const NodePartition* nodes) : outer_(std::exchange(current, nodes)) {}
ScopedPartition::~ScopedPartition() {
  current = outer_;
}
const NodePartition* current_partition() {
  return current;
}

}  // namespace rodeo
