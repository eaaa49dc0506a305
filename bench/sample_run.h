/// Epochs on sampled mini-batches: of GraphSAGE on one rank or several, and of the models of several node
/// types.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "datasets/hetero_dataset.h"
#include "datasets/neighbor_sampler.h"
#include "models/sage.h"
#include "ops/peer_rows.h"
#include "ops/row_cache.h"
#include "train/task/options.h"
#include "train/trainer.h"

namespace rodeo::bench {

struct SampleSettings {
  std::string graph;
  std::string model = "sage";
  std::int64_t batch = 0;  // of all ranks
  std::int64_t heads = 1;  // of models that have some; `hidden` has the columns of all
  std::int64_t hidden = 0, train = 0, features = 0, classes = 0;
  std::vector<std::int64_t> fanout;
  int epochs = 0;
  Device device = kCpu;
  DType dtype = DType::kF32;
  FeaturesOn features_on = FeaturesOn::kDevice;  // or kHost, kPeers
  GraphOn graph_on = GraphOn::kDevice;           // or kPeers
  std::int64_t cache_mib = -1;                   // -1: half of what is free on the device
  Communicator ranks = {};
};

/// What all runs share. Every rank has all of it, but for the rows of features and of the graph that others
/// have.
struct SampleData {
  std::string name;
  Adjacency graph = {};
  Tensor x = {};      // [nodes, features]; those of the rank with peers
  Tensor label = {};  // i64 [nodes]
  Tensor train = {};  // i64 [k], on the host
  RowCache cache = {};
  std::shared_ptr<PeerRows> peers = {};  // with FeaturesOn::kPeers
  HeteroDataset hetero = {};             // with types: the graph, instead of all but the name
};

/// A model and its training. Over ranks each batch is cut into fractions, and gradients are summed. Models of
/// several node types are those that the training commands make (make_hetero_run).
class SampleRun {
 public:
  SampleRun(const SampleSettings& settings, const SampleData& data);

  /// Trains some epochs, the first of which loads kernels and fills the memory pool. In the last one sampling
  /// and training run one after the other, and their parts are timed.
  std::vector<EpochReport> train(int epochs);
  /// The loss of an epoch, without a CUDA graph or from the second batch on with one.
  double loss(bool captured);
  std::int64_t num_batches() const { return parts_.source->num_batches(); }

 private:
  void train_sage(const SampleSettings& settings, const SampleData& data);
  void train_on_relations(const SampleSettings& settings, const HeteroDataset& data);

  Device device_;
  std::unique_ptr<Module> model_;
  std::vector<ParameterGroup> groups_;
  TrainerParts parts_;
};

/// Data whose training nodes are those of the first `count` batches.
SampleData first_batches(const SampleSettings& settings, SampleData data, std::int64_t count);

/// Throws Error unless the losses of a few batches are the same with the CUDA graph and without. Batches of
/// several node types run without one: two runs are compared.
void verify_batches(const SampleSettings& settings, const SampleData& data);

}  // namespace rodeo::bench
