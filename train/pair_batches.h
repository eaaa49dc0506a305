/// Mini-batches of link prediction.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "train/batch_sampler.h"

namespace rodeo {

struct PairBatchOptions {
  std::int64_t batch_size = 0;  // edges of all ranks
  std::uint64_t seed = 0;
};

/// Messages that tell whether a pair is an edge: a relation of the graph that messages pass over. A graph of
/// one node type has relation 0.
struct PairMessages {
  int relation = 0;
  bool turned = false;  // an edge of the pair's relation is a message from its destination to its source
};

/// A relation whose edges batches are of.
struct PairRelation {
  Adjacency graph;                            // what has no negative
  PairRange among = {};                       // what negatives are drawn from
  std::vector<PairMessages> messages = {{}};  // where an edge is left out
};

/// An edge of the graph that messages pass over.
struct LeftOutEdge {
  int relation = 0;
  std::int64_t destination = 0, source = 0;  // nodes, numbered among all types
  auto operator<=>(const LeftOutEdge&) const = default;
};

/// Batches of training edges in a new order each epoch, and as many pairs without an edge, drawn anew: beside
/// each edge one of its relation. The targets of a batch are the nodes of all of these. The edges of a batch
/// are left out of its sampled neighbourhoods, in all messages of their relation: a model that read them
/// would know the answer. The host waits for the device to do so. Deterministic: the pairs of a batch are
/// those of one rank, of which each rank has a fraction.
class PairBatchSampler : public NodeBatchSampler {
 public:
  /// edges: training edges, on the host; NodePairs::relation is a position in `relations`. sampler: of the
  /// graph that messages pass over, which may have self loops too; of several node types, for nodes of any.
  PairBatchSampler(const NodePairs& edges, std::vector<PairRelation> relations, NeighborSampler sampler,
                   const PairBatchOptions& options, Communicator ranks = {});

  std::vector<Step> epoch(std::int64_t epoch, std::int64_t done) override;
  SampledBatch sample(std::size_t step) override;
  NodePairs pairs(std::size_t step) override;

 private:
  /// A pair without an edge for each of the rank's edges, of its relation.
  void draw(const Step& step, std::int64_t number, std::vector<std::int64_t>& src,
            std::vector<std::int64_t>& dst) const;
  std::vector<LeftOutEdge> left_out(const Step& step) const;
  std::size_t relation_of(std::int64_t edge) const;

  std::vector<std::int64_t> src_, dst_, relation_;  // relation_ is empty where there is one
  std::vector<PairRelation> relations_;
  std::vector<std::int64_t> first_edge_;  // of the relations of the sampled graph; empty: it has one
  PairBatchOptions options_;
  std::vector<Step> steps_;                 // of the epoch: batches of numbers of edges
  std::map<std::size_t, NodePairs> pairs_;  // of the steps that are sampled, and not yet asked for
};

/// A block without some edges.
///   left_out    ascending
///   first_edge  of each relation, in the numbers of edges (HeteroGraph::first_edge); empty: there is one
Block without_edges(const Block& block, const std::vector<LeftOutEdge>& left_out,
                    const std::vector<std::int64_t>& first_edge = {});

}  // namespace rodeo
