/// The graph of a run, in the form and the memory of its plan.
#pragma once

#include <memory>

#include "train/task/node_run.h"
#include "train/task/run_plan.h"

namespace rodeo {

struct RunGraph {
  ModelGraph model;
  Adjacency messages;  // TaskKind::kLink: the graph without self loops, where it was built; else undefined
  std::shared_ptr<const NodePartition> partition;  // null unless plan.partitioned
  std::int64_t num_edges = 0, one_way_edges = 0;   // of the whole graph
};

/// Where the edges of `dataset` are sorted: on `device` where it has room for them and their keys, else, and
/// where they are CSR, on the host. The order is the same.
Device sorts_on(const Dataset& dataset, Device device);

/// Takes the edges of `dataset`, or reads and exchanges those of the rank. With plan.partitioned the graph is
/// sharded; so is one that mini-batches sample from peers, whose normalised graph has the scales of all
/// nodes. Where the plan keeps it on the host for a CUDA device, CSR, edge weights and edge features are
/// page-locked, and values of nodes are on the device; it has the bits of a graph that was built there.
///   ranks  of the run. A collective call
RunGraph build_graph(Dataset& dataset, const RunPlan& plan, const TrainOptions& options,
                     const Communicator& ranks);

}  // namespace rodeo
