/// Which rank has which nodes of a graph that is trained over several ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "core/communicator.h"

namespace rodeo {

/// Rank r has rows[r] nodes, and the ranks' nodes follow each other: a tensor over nodes is [num_rows(), ...]
/// on each rank. Equal on all ranks. A rank may have no nodes.
class NodePartition {
 public:
  /// `rows` has a value for each rank. Throws Error if it has not, or where the first node of a rank with
  /// nodes is no multiple of `alignment`. Dropout masks need 4 (RandomKey::first_row).
  NodePartition(Communicator ranks, std::vector<std::int64_t> rows, std::int64_t alignment = 4);

  const Communicator& ranks() const { return ranks_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// First row and number of rows of this rank.
  std::int64_t first_row() const { return first_row_; }
  std::int64_t num_rows() const { return rows_[static_cast<std::size_t>(ranks_.rank())]; }
  /// The sum of rows over all ranks.
  std::int64_t num_nodes() const { return num_nodes_; }

 private:
  Communicator ranks_;
  std::vector<std::int64_t> rows_;
  std::int64_t first_row_ = 0, num_nodes_ = 0;
};

/// RAII guard: operators of this thread that compute statistics over nodes (batch_norm) do so over all ranks.
class ScopedPartition {
 public:
  /// `nodes` must outlive the guard; null: one rank.
  explicit ScopedPartition(const NodePartition* nodes);
  ~ScopedPartition();
  ScopedPartition(const ScopedPartition&) = delete;
  ScopedPartition& operator=(const ScopedPartition&) = delete;

 private:
  const NodePartition* outer_;
};
/// The partition of the innermost ScopedPartition of this thread; null without one.
const NodePartition* current_partition();

}  // namespace rodeo
