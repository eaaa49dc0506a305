/// What the ranks of a training run add up. Deterministic, like Communicator; on CUDA the work is enqueued
/// and can be captured.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator.h"
#include "core/node_partition.h"
#include "core/tensor.h"
#include "datasets/split.h"
#include "ops/row_reads.h"

namespace rodeo {

/// Sums over ranks. With one rank every function is the identity. All functions are collective calls, but for
/// those that say what an Exchange is of.
class Exchange {
 public:
  /// One rank.
  Exchange() = default;
  /// Ranks that have all examples: each computes a part of a step, and all predictions.
  explicit Exchange(Communicator ranks) : ranks_(std::move(ranks)) {}
  /// Ranks that have the nodes of a partition each, and predict those.
  explicit Exchange(std::shared_ptr<const NodePartition> nodes)
      : ranks_(nodes->ranks()), nodes_(std::move(nodes)) {}

  bool is_one_rank() const { return ranks_.size() == 1; }
  const Communicator& ranks() const { return ranks_; }
  /// Null where each rank has all examples.
  const NodePartition* partition() const { return nodes_.get(); }
  std::int64_t first_row() const { return nodes_ ? nodes_->first_row() : 0; }
  /// Where the random keys of a step begin on a rank that draws numbers of its own.
  std::uint64_t first_stream() const;

  double sum(double value, Device device) const;
  /// Sums tensors in place: any shapes, floating; one collective for each dtype.
  void sum(const std::vector<Tensor>& tensors) const;
  /// Replaces gradients of rows by their sums: the ranks gather the rows of all. A rank may have none.
  void sum(const std::vector<std::shared_ptr<RowReads>>& reads) const;
  /// Replaces buffers, f64 or f32, by the sum of fraction * buffer over ranks.
  void average(const std::vector<Tensor>& buffers, double fraction) const;
  /// Whether `own` is true on any rank; called once a step or an epoch. Asks the others, and waits for
  /// `device`, about 20 times a second at most, and returns false in between.
  bool any(bool own, Device device);

 private:
  Communicator ranks_;
  std::shared_ptr<const NodePartition> nodes_;
  int calls_ = 0, interval_ = 1;  // of any() since it asked, and until it asks again
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

/// Metrics of all nodes from those of the rank's nodes, where they are means (Criterion::metrics_are_means).
class MetricsOverRanks {
 public:
  /// sets: of the rank's nodes. A collective call.
  MetricsOverRanks(const Exchange& exchange, const Split& sets, Device device);
  /// Criterion::metrics() of the rank -> sums over the nodes of all ranks, of which means() makes metrics.
  Tensor sums(const Exchange& exchange, const Tensor& metrics) const;
  /// On the host. Accuracies have the bits of one rank.
  std::vector<double> means(std::vector<double> sums) const;
  /// Training, validation and test nodes of all ranks.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

 private:
  Tensor counts_;  // f64 [3, 2]: the rank's nodes of each set
  std::vector<std::int64_t> sizes_;
};

/// The nodes of a split of all ranks, numbered over all nodes.   own: of the rank's nodes, numbered from its
/// first one. A collective call.
Split split_of_all(const NodePartition& nodes, const Split& own);

}  // namespace rodeo
