/// Link prediction: a model of the registry as encoder, a decoder, and their objective.
#pragma once

#include "datasets/edge_split.h"
#include "train/task/node_run.h"

namespace rodeo {

/// Makes a model of embeddings one of pairs: NodeModel::module has the parts "encoder" and "decoder", and
/// NodeModel::score is set. The decoder is trained without weight decay. model.forward returns the embeddings
/// of all nodes.
void add_decoder(NodeModel& model, const TrainOptions& options, Device device);

/// Sets criterion and step: binary cross entropy of the training edges and as many pairs without a training
/// edge, drawn anew in every step on the device; and the metrics of all parts, of options.link_metric. Over
/// several ranks (run.task.partition) each scores a fraction of the pairs, and metrics are of all: a
/// collective call.
///   graph  the training edges, as message passing reads them, without self loops that a model adds; on every
///          rank the whole graph
void set_link_parts(NodeRun& run, const EdgeSplit& split, const Adjacency& graph,
                    const TrainOptions& options);

}  // namespace rodeo
