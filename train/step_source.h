/// What the steps of a training epoch read.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/adjacency.h"
#include "core/node_partition.h"
#include "datasets/neighbor_sampler.h"
#include "ops/graph_batch.h"
#include "ops/negative_edges.h"
#include "train/criterion.h"

namespace rodeo {

/// Graphs of a set, and over ranks which rows of a batch the rank has.
struct GraphStep {
  GraphBatch graphs;
  const NodePartition* partition = nullptr;  // of the nodes of the batch; null: one rank
  std::int64_t first_graph = 0;              // the rank's, among those of the batch
};

/// What one step reads. Where `batch`, `graphs` and `pairs` are null, it is the whole graph.
struct StepInput {
  Examples examples = {};  // of the rank's predictions
  std::vector<std::int64_t> of_all =
      {};                 // over ranks: the examples of all; empty: the rank's are the same in each step
  bool counts = true;     // false: the rank repeats what another one computes, with weight 0
  bool is_fixed = false;  // all such inputs are the same memory, and launch the same kernels
  const SampledBatch* batch = nullptr;  // sampled neighbourhoods of examples, or of both nodes of pairs
  const GraphStep* graphs = nullptr;
  const NodePairs* pairs =
      nullptr;  // rows of the model's output that are scored: examples, then as many negatives
};

/// The batches of an epoch together.
struct BatchTotals {
  std::int64_t batches = 0;
  std::int64_t edges = 0;  // sampled, of all layers
  std::int64_t nodes = 0;  // whose features layer 0 reads
  // Milliseconds, where parts are timed; else 0. `gather` has the kernels that read features, `train` has the
  // copies to padded batches and all other kernels.
  double sample_ms = 0, gather_ms = 0, train_ms = 0;
  // Milliseconds that the training stream waited for the next batch; 0 where parts are timed one after the
  // other. On the CPU, where nothing overlaps, the time of sampling.
  double wait_ms = 0;
};

/// Which part of an epoch runs, and how.
struct EpochStart {
  std::int64_t epoch = 1;
  std::int64_t done = 0;     // batches that ran before
  bool times_parts = false;  // sampling and training run one after the other, and the host waits for each
};

/// Says what each step of an epoch reads. It knows nothing of models and losses. Deterministic: an epoch is a
/// function of seeds, its number and the number of ranks.
class StepSource {
 public:
  virtual ~StepSource() = default;

  /// Prepares an epoch. Throws Error where it has no more batches than start.done.
  virtual void begin_epoch(const EpochStart& start) = 0;
  /// The next step; null behind the last one. Valid until the next call.
  virtual const StepInput* next() = 0;
  /// Releases what the epoch holds on the device, also after an error.
  virtual void end_epoch() {}

  /// The memory that fixed steps read; null: no step is fixed.
  virtual const StepInput* fixed() const { return nullptr; }
  /// Whether an epoch is several steps. Else it is one fixed step.
  virtual bool has_batches() const { return true; }
  /// Batches of the epoch over all ranks, and those that are done with the step that next() returned.
  virtual std::int64_t num_batches() const { return 1; }
  virtual std::int64_t num_done() const { return 1; }
  /// The examples of an epoch over all ranks, whose terms its loss is the mean of; empty where an epoch is
  /// one step.
  virtual std::vector<std::int64_t> examples() const { return {}; }
  /// Over ranks: whether the steps of a rank are a computation of its own. Then it draws its own dropout
  /// masks, and running statistics are averaged.
  virtual bool ranks_are_independent() const { return false; }
  /// Totals of the epoch so far; the trainer adds the times of its own. Null: nothing is counted.
  virtual BatchTotals* totals() { return nullptr; }
  /// The matrices of features whose reads are timed apart.
  virtual std::vector<Tensor> features() const { return {}; }
};

/// Every epoch is one step over the whole graph, whose loss is over the training set.
class WholeGraph : public StepSource {
 public:
  WholeGraph() { input_.is_fixed = true; }
  void begin_epoch(const EpochStart&) override { is_given_ = false; }
  const StepInput* next() override { return std::exchange(is_given_, true) ? nullptr : &input_; }
  const StepInput* fixed() const override { return &input_; }
  bool has_batches() const override { return false; }

 private:
  StepInput input_;
  bool is_given_ = false;
};

}  // namespace rodeo
