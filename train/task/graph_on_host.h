/// Graphs of mini-batches in page-locked host memory: --graph-on host.
#pragma once

#include "train/task/node_run.h"

namespace rodeo {

/// `built`, made on the host from `from`, for kernels of a CUDA device that read the edges over the bus: CSR,
/// edge weights and edge features are page-locked, values of nodes are on the device. All have the bits of a
/// graph that was built there. Throws Error where the host has not so much memory to lock.
ModelGraph graph_on_host(const ModelGraph& built, const Graph& from, Device device);

}  // namespace rodeo
