/// Mini-batches of whole graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/communicator.h"
#include "core/node_partition.h"
#include "ops/graph_batch.h"
#include "train/step_source.h"

namespace rodeo {

/// Cuts graphs for ranks: rank r has graphs[begins[r]] ... graphs[begins[r + 1] - 1]. Their nodes and edges
/// are about equally many. Cuts are at multiples of 4, which dropout masks need (RandomKey::first_row), so
/// that a rank may have no graph.
std::vector<std::int64_t> cut_graphs(const std::vector<std::int64_t>& graphs, const GraphSet& set, int ranks);

struct GraphStepsOptions {
  std::size_t batch_graphs = 0;  // of all ranks
  std::uint64_t seed = 0;
};

/// Batches of graphs in a new order each epoch. Over several ranks each has the whole set, and a fraction of
/// each batch; batch normalisation is over the nodes of all ranks, and dropout masks are those of one rank.
/// The last batch joins the one before if it is a single graph, which may have a single node: batch
/// normalisation cannot train on that.
class GraphSteps : public StepSource {
 public:
  GraphSteps(GraphSet set, std::vector<std::int64_t> training, const GraphStepsOptions& options,
             Communicator ranks = {});

  void begin_epoch(const EpochStart& start) override;
  const StepInput* next() override;
  void end_epoch() override { step_ = {}; }
  std::int64_t num_batches() const override { return std::ssize(batches_); }
  std::int64_t num_done() const override { return static_cast<std::int64_t>(next_); }
  std::vector<std::int64_t> examples() const override { return training_; }

 private:
  GraphSet set_;
  std::vector<std::int64_t> training_;
  GraphStepsOptions options_;
  Communicator ranks_;
  std::vector<std::vector<std::int64_t>> batches_;  // of the epoch
  std::size_t next_ = 0;
  GraphStep step_;
  std::optional<NodePartition> partition_;  // of step_
  StepInput input_;
};

}  // namespace rodeo
