/// Training runs on graphs that are drawn on the devices.
#pragma once

#include "bench/large_graph.h"
#include "train/task/node_model.h"

namespace rodeo::bench {

/// options.model, gcn or sage, on the graph, of which every rank draws its rows. As in ogbn-papers100M few
/// nodes have a label. A GCN is trained on the rows of the last layer that these read; on one rank it is
/// evaluated on them, too, because the logits of all nodes would not fit. Throws Error for another model.
NodeRun draw_run(const LargeGraph& graph, const TrainOptions& options, Device device,
                 const Communicator& ranks);

}  // namespace rodeo::bench
