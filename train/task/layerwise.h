/// Logits of all nodes of a model that trains on mini-batches: exact, layer by layer, or of samples.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/communicator.h"
#include "datasets/neighbor_sampler.h"
#include "ops/features.h"
#include "train/mini_batches.h"

namespace rodeo {

/// A model in evaluation mode, cut into functions of some rows.
struct LayerwiseModel {
  /// x [rows, in] -> the input of layer 0; null: x itself.
  std::function<Variable(const Features& x)> inputs = {};
  /// h [sources, columns] -> [destinations, columns]; block.edge_ids are edges of the graph.
  /// initial: rows of the input of layer 0 for h's, with reads_initial; else undefined.
  std::vector<std::function<Variable(const Block& block, const Features& h, const Variable& initial)>> layers;
  bool reads_initial = false;     // needs `inputs`
  bool gathers_inputs = false;    // x is in host memory: a chunk reads each of its rows once
  ReadFeatures read_inputs = {};  // if set, rows of x come from it, read ahead; x is not used
  bool reads_all_layers = false;  // false: `outputs` is given the last layer's output alone
  /// Outputs of layers, of the same rows -> logits; null: the last output.
  std::function<Variable(const std::vector<Variable>&)> outputs = {};
};

/// Computes one layer for all nodes, a chunk of rows with all their edges at a time, before the next layer.
/// On the device are the input and the output of one layer for all nodes (of every layer with
/// reads_all_layers), 12 bytes a node, and what one chunk needs. Deterministic.
class LayerwiseEvaluation {
 public:
  static constexpr std::int64_t kChunk = std::int64_t{1} << 19;

  /// graph [n, n], or sharded over `ranks`; x [n, in] on its device. A chunk has as many rows as have `chunk`
  /// rows and edges together, at least one. Over ranks, which have all of these, a rank computes a share of
  /// the chunks and sends their rows to the others. Throws Error for a model without layers and for chunk
  /// < 1.
  LayerwiseEvaluation(const Adjacency& graph, Tensor x, LayerwiseModel model, std::int64_t chunk = kChunk,
                      Communicator ranks = {});

  /// [n, classes], the same bits over any ranks; not differentiable. Over ranks a collective call.
  Variable logits() const;
  std::int64_t num_chunks() const { return std::ssize(begin_) - 1; }

 private:
  Tensor x_, nodes_;  // nodes_: 0, 1, ... n - 1
  LayerwiseModel model_;
  NeighborSampler sampler_;
  std::vector<std::int64_t> begin_;  // the first row of each chunk, then n
  Communicator ranks_;
};

/// [num_nodes, classes]: logits of `nodes`, from samples of training.sampler that are the same in every call
/// and differ from those of training; 0 for all other nodes. nodes: i64 [k], repeated ones count once.
/// Deterministic, and the same bits over any training.ranks: a collective call. Not differentiable.
///   forward  logits [targets, classes] of a batch, or of more rows behind
Variable sampled_logits(const MiniBatchTraining& training,
                        const std::function<Variable(const SampledBatch&)>& forward,
                        const std::vector<Tensor>& nodes, std::int64_t num_nodes);

}  // namespace rodeo
