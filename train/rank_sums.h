/// What a training step adds up over ranks. Deterministic, like Communicator; on CUDA the work is enqueued
/// and can be captured.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/node_partition.h"
#include "core/variable.h"
#include "datasets/split.h"

namespace rodeo {

/// The nodes of a split of all ranks, numbered over all nodes.   own: of the rank's nodes, numbered from its
/// first one. A collective call.
Split split_of_all(const NodePartition& nodes, const Split& own);

class RankSums {
 public:
  /// For mini-batches: each rank computes the losses of its share of a batch, and metrics of all data.
  RankSums(Communicator ranks, std::vector<Variable> parameters, Device device);
  /// For an objective that every rank computes of all nodes: gradients are summed, losses and metrics are
  /// not.
  RankSums(std::shared_ptr<const NodePartition> nodes, std::vector<Variable> parameters, Device device);
  /// label and split of the rank's nodes, on the device of the parameters. A collective call.
  RankSums(std::shared_ptr<const NodePartition> nodes, std::vector<Variable> parameters, Tensor label,
           Split split);

  std::int64_t num_train() const { return total_[0]; }
  std::int64_t num_val() const { return total_[1]; }
  std::int64_t first_row() const { return nodes_ ? nodes_->first_row() : 0; }
  /// Where the keys of a step begin, so that ranks which compute rows of their own draw their own numbers.
  std::uint64_t first_stream() const;

  /// Backpropagates the mean loss over the training nodes of all ranks, and sums the parameters' gradients.
  ///   logits [nodes of the rank, classes];  returns the loss []
  Tensor backward(const Variable& logits);
  /// The same from rows of logits with labels of their own: those of `train`, the rank's training nodes.
  Tensor backward(const Variable& logits, const Tensor& label, const Tensor& train);
  /// Sums the parameters' gradients over ranks, and `beside` with them where it is defined: any shape, f64 or
  /// f32.
  void sum_gradients(const Tensor& beside = {});
  /// Replaces buffers, f64 or f32, by the sum of share buffer over ranks.
  void average(const std::vector<Tensor>& buffers, double share) const;
  /// Sums over the nodes of all ranks, of which finish() makes classification_metrics(): f64 [3, 2].
  Tensor metrics(const Tensor& logits) const;
  /// On the host. Accuracies have the bits of one rank.
  std::vector<double> finish(std::vector<double> sums) const;
  /// Whether `own` is true on any rank; called once an epoch. Asks the others, and waits for the device,
  /// about 20 times a second at most, and returns false in between.
  bool any(bool own);

 private:
  void sum(const std::vector<Tensor>& tensors) const;

  Communicator ranks_;
  std::shared_ptr<const NodePartition> nodes_;  // null for mini-batches
  std::vector<Variable> parameters_;
  Device device_;
  Tensor label_;  // undefined: an objective of all nodes
  Split split_;
  std::vector<std::int64_t> total_;  // train, val and test nodes of all ranks
  Tensor loss_share_;                // []: the rank's share of the training nodes
  Tensor counts_;                    // f64 [3, 2]: the rank's nodes of each set
  Tensor all_label_;                 // several labels per node: those of all nodes; an F1 is no mean
  Split all_split_;
  int calls_ = 0, interval_ = 1;  // of any() since it asked, and until it asks again
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace rodeo
