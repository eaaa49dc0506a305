/// Mini-batches of whole graphs, and the losses and metrics of their classes or targets.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator.h"
#include "datasets/split.h"
#include "models/graph_classifier.h"
#include "ops/graph_batch.h"
#include "train/task/regression_objective.h"

namespace rodeo {

/// `ids` in an order drawn from (seed, stream).
std::vector<std::int64_t> shuffled(const std::vector<std::int64_t>& ids, std::uint64_t seed,
                                   std::uint64_t stream);

/// Cuts graphs for ranks: rank r has graphs[begins[r]] ... graphs[begins[r + 1] - 1]. Their nodes and edges
/// are about equally many. Cuts are at multiples of 4, which dropout masks need (RandomKey::first_row), so
/// that a rank may have no graph.
std::vector<std::int64_t> cut_graphs(const std::vector<std::int64_t>& graphs, const GraphSet& set, int ranks);

/// The functions of a TrainObjective on a set of graphs. Over several ranks each has the whole set. A batch
/// is one of all ranks: each computes a share of it, and loss() is the rank's part of the loss. Batch
/// normalisation is over the nodes of all ranks. Dropout masks are those of one rank.
class GraphObjective {
 public:
  GraphClassifier* model = nullptr;
  GraphSet set;
  GcnGraph whole;             // of the set; for GIN only adj
  Tensor x, f, label, every;  // f: edge features, undefined unless the model reads them
  std::vector<std::int64_t> host_label, training;
  std::shared_ptr<const TargetErrors> errors;  // of labels that are numbers; else null
  std::vector<float> targets;                  // [graphs, columns] of these
  RegressionLoss kind = RegressionLoss::kMse;
  Split split;
  std::uint64_t seed = 0;
  std::size_t batch_graphs = 0;  // of all ranks
  Communicator ranks;

  /// The number of batches.
  int begin_epoch(int epoch);
  /// [], of the next batch. A collective call.
  Variable loss();
  /// Logits of all graphs; over several ranks not differentiable. A collective call.
  Variable predict();
  /// TrainObjective::evaluate. A collective call.
  Tensor evaluate();

 private:
  using Ids = std::vector<std::int64_t>;
  /// What the model reads of some graphs.
  struct Input {
    GcnGraph graph;
    Tensor x, f, offsets;
  };

  Input input_of(const GraphBatch& batch) const;
  Variable logits_of(const Input& input) const;
  /// The mean loss of these graphs, at least one.
  Variable mean_loss(const Variable& logits, const Ids& graphs) const;
  Variable target_loss(const Variable& predicted, const Ids& graphs) const;
  /// What the mean over graphs [begin, end) counts: graphs, or known targets.
  std::int64_t count_terms(const Ids& graphs, std::int64_t begin, std::int64_t end) const;

  std::vector<Ids> batches_;  // of the current epoch
  std::size_t next_ = 0;
  std::vector<std::int64_t> evaluated_;  // the graphs of each rank in evaluations: how many
  Input own_;                            // the rank's
};

}  // namespace rodeo
