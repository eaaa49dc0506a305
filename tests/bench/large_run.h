/// Training runs on graphs that are drawn on the devices.
#pragma once

#include "tests/bench/large_graph.h"
#include "train/task/node_model.h"

namespace rodeo::bench {

/// options.model, gcn or sage, on the graph, of which every rank draws its rows. On one rank a GCN computes
/// the last layer for the labelled nodes alone, because it would not fit; the layers before compute all
/// nodes. Throws Error for another model.
NodeRun draw_run(const LargeGraph& graph, const TrainOptions& options, Device device,
                 const Communicator& ranks);

}  // namespace rodeo::bench
