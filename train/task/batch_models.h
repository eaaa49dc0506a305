/// Training on mini-batches of sampled neighbourhoods: --batch, --batch-by, --fanout, --replace,
/// --eval.
#pragma once

#include <string>
#include <vector>

#include "train/task/node_run.h"
#include "train/task/options.h"

namespace rodeo {

class Trunk;
struct ConvGraph;

/// Gives the model its mini-batches, and predictions of them and, in evaluations, of all nodes (--eval).
/// `graph`: what its layers read; edges are sampled from graph.adj.
void train_on_batches(NodeModel& model, Trunk& trunk, const TrainOptions& options, const NodeTask& task,
                      const ConvGraph& graph);
/// Sampled edges of a node, hop by hop: --fanout. Throws Error unless there is a number for each layer,
/// positive, or -1 for all neighbours without replacement.
std::vector<std::int64_t> fanout_of(const TrainOptions& options);
/// Whether layers normalise over the nodes of a batch in training, which needs at least two.
bool has_batch_norm(const TrainOptions& options);
/// ", batches of 1024, fan-out 15, 10, 5"
std::string describe_batches(const TrainOptions& options);

}  // namespace rodeo
