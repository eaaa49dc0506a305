/// The plan of a run: what is read by whom, in which form and memory the model gets it. Chosen from options,
/// a header and the free memory alone; train/task/node_model.cpp carries it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device_type.h"
#include "train/task/model_registry.h"
#include "train/task/options.h"

namespace rodeo {

enum class LabelKind { kNone, kClasses, kTargets };

/// What a run's data are, without the values of an array.
struct DataHeader {
  std::string where{};  // the path of the file, or the name of a dataset in memory: begins error texts
  bool in_file = false;
  bool makes_features = false;  // --input-features; then not of the file
  std::int64_t nodes = 0, edges = 0, features = 0, graphs = 0;
  std::int64_t edge_features = -1;        // columns; -1: none
  bool weighted = false;                  // has edge weights
  bool edge_list = false;                 // edges are stored as a list, not as CSR
  FeatureForm form = FeatureForm::kAuto;  // of the features as they are stored; kAuto: there are none
  double entries = -1;                    // of the features that are not zero; negative: not known
  LabelKind labels = LabelKind::kNone;    // of nodes
  std::string not_on_disk{};              // why rows of features cannot stay in the file; empty: they can
  /// Whether rows of features are read when they are needed.
  bool has_rows_in_file() const { return in_file && !makes_features && form == FeatureForm::kDense; }
  /// Columns of features that a node has in dense form.
  std::int64_t dense_features() const { return form == FeatureForm::kDense ? features : 0; }
};

/// Free memory for one rank.
struct Room {
  Device device{};
  std::int64_t on_device = 0, on_host = 0;  // bytes; without CUDA, both are the host's
  int ranks_of_host = 1;                    // share features in its memory
  int ranks = 1;                            // share features on their devices; plan_run() sets it
  std::int64_t total_on_device = 0;         // bytes, the same in every run
};

/// Bytes that training on mini-batches of a graph takes, beside those of a batch.
struct MemoryNeeds {
  std::int64_t graph = 0;              // CSR, edge weights and edge features
  std::int64_t graph_building = 0;     // the most while they are built, themselves included
  std::int64_t features = 0;           // as the model reads them
  std::int64_t features_building = 0;  // the most while all are normalised and converted, themselves included
  std::int64_t always = 0;             // always on the device: labels, marks, an evaluation's hidden layer
  std::int64_t row_pointers = 0;       // of the graph: those that every rank has of a graph that is cut
};
MemoryNeeds memory_needs(const DataHeader& data, const TrainOptions& options);

/// Who reads features, and when.
enum class FeatureRead {
  kWithDataset,  // all rows, with the labels
  kOwnRows,      // each rank the rows of its nodes, once the nodes are partitioned
  kInPieces,     // some rows at a time while they are converted, by ranks in turn, or when a batch needs them
};

/// Who reads edges.
enum class EdgeRead {
  kAll,        // each rank reads all
  kOfHost,     // each rank reads a part, into memory that the ranks of a host share
  kExchanged,  // each rank reads a part, and they send each other the edges of their rows
};

/// The memory that graph and features are kept in.
struct MemoryTiers {
  FeaturesOn features = FeaturesOn::kDevice;  // not kAuto
  GraphOn graph = GraphOn::kDevice;           // not kAuto
  bool in_pieces = false;  // features are converted piece by piece: all at once would not fit
  std::string text{};      // "graph on the device, features in host memory (auto: ...)"; empty: whole graph
  FeatureRead read = FeatureRead::kWithDataset;
};

/// The tiers of mini-batches: the fastest that have room, then the slower ones, to be tried in this order
/// where the memory does not suffice after all. Never empty. Tiers that options.graph_on and
/// options.features_on name are taken as they are.
///   The device holds graph, features and `always` in 60 % of what is free, and builds them in 90 %: the
///   rest is for batches. The host holds what it has in 80 %. On the CPU, the graph is on the device. Where
///   nothing fits, the device holds as little as possible.
///   FeaturesOn::kPeers is taken by auto where several ranks have a GPU each of one host, GraphOn::kPeers
///   where it is named.
///   not_on_disk: as DataHeader's
/// Throws Error where auto finds no tier: features larger than the host's memory that cannot stay on disk;
/// for FeaturesOn::kDisk, the reason why they cannot.
std::vector<MemoryTiers> choose_tiers(const TrainOptions& options, const MemoryNeeds& needs, const Room& room,
                                      const std::string& not_on_disk);

/// Dense or sparse, as options.features says. FeatureForm::kAuto is sparse if the model reads sparse
/// features, and their density is below kSparseBelowOnCpu or kSparseBelowOnCuda; that of stored sparse ones
/// below kSparseBelowOnCpu on all devices. A model that keeps S^K X of dense features reads sparse ones only
/// if propagating X W in each epoch is less work. Returns kAuto where that depends on data.entries or
/// data.features, and they are not known. Throws Error for sparse features that the model cannot read.
FeatureForm choose_form(const TrainOptions& options, const DataHeader& data, Device device);

struct RunPlan {
  DataHeader data;
  TaskKind task = TaskKind::kNode;
  Device device{};
  int ranks = 1;
  bool partitioned = false;  // each rank has a range of the nodes; else all ranks have all nodes
  /// Partitioned: if the features are dense, each rank keeps those of all nodes, because the first layer sums
  /// them before anything else.
  bool shares_features = false;
  EdgeRead edges = EdgeRead::kAll;
  NodeOrder order = NodeOrder::kNone;
  bool undirected = false;
  GraphInput graph = GraphInput::kPlain;
  FeatureForm form = FeatureForm::kAuto;  // of the model's input; kAuto: by the density of a sample of rows
  std::vector<MemoryTiers> tiers{};       // the one to use first, then those for too little memory

  /// Whether each rank has the rows of a part of the nodes: partitioned, or of mini-batches.
  bool cuts_graph() const { return partitioned || tiers.front().graph == GraphOn::kPeers; }
  /// Where edges, edge weights and features are read to.
  Device reads_to() const;
  /// Where the graph is made from its edges.
  Device builds_on() const;
};

/// Throws Error, naming an option or the data, for what does not go together. The same on all ranks for equal
/// arguments. Over ranks there is one tier: they would not run out of memory together.
RunPlan plan_run(const TrainOptions& options, const DataHeader& data, const Room& room, int ranks = 1);

/// "2 ranks, a range of the nodes each; read a part of the edges and their rows of features each; ..."
std::string describe(const RunPlan& plan);

}  // namespace rodeo
