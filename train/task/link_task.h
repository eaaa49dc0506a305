/// Link prediction: a model of the registry as encoder, a decoder, and their objective.
#pragma once

#include <string>
#include <vector>

#include "datasets/edge_split.h"
#include "train/pair_batches.h"
#include "train/task/node_run.h"

namespace rodeo {

/// Makes a model of embeddings one of pairs (NodeModel::predict): NodeModel::module has the parts "encoder"
/// and "decoder". The decoder is trained without weight decay. Over a partition, embeddings are those of all
/// nodes.   relations: of pairs
void add_decoder(NodeRun& run, const TrainOptions& options, std::int64_t relations = 1);

/// The edges of a relation that are predicted.
struct LinkRelation {
  std::string name;  // empty: the graph has one
  EdgeSplit split;   // pairs of rows of the embeddings
  /// The training edges, as message passing reads them, without self loops that a model adds; over several
  /// ranks on every one the whole graph. What has no negative.
  Adjacency graph;
  PairRange among = {};  // what negatives are drawn from
  /// For mini-batches: where an edge is left out; in both directions where the split is undirected.
  std::vector<PairMessages> messages = {{}};
};

/// Sets the parts of training: binary cross entropy of the training edges and as many pairs without a
/// training edge, drawn anew in every step on the device; and the metrics of all parts, of
/// options.link_metric. Over several ranks (run.task.partition) each scores a fraction of the pairs, and
/// metrics are of all: a collective call.
void set_link_parts(NodeRun& run, const std::vector<LinkRelation>& relations, const TrainOptions& options);

}  // namespace rodeo
