/// rodeo_predict --edges: scores of pairs of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "ops/negative_edges.h"

namespace rodeo {

/// What pairs are scored in: one graph, or relations between node types.
struct ScoredRelations {
  struct Relation {
    std::string name, full_name;  // "writes", "author:writes:paper"; empty: the graph has one relation
    int source = 0, target = 0;   // types
    PairRange among;              // where their nodes are among the embeddings
  };
  std::vector<Dataset> types;  // numbers, ids and names of nodes
  std::vector<Relation> relations;

  bool has_several() const { return relations.size() > 1; }
  const Relation& relation(std::int64_t r) const { return relations[static_cast<std::size_t>(r)]; }
  const Dataset& sources(std::int64_t r) const { return types[static_cast<std::size_t>(relation(r).source)]; }
  const Dataset& targets(std::int64_t r) const { return types[static_cast<std::size_t>(relation(r).target)]; }
};

/// Reads pairs of nodes. A text file has two fields a line, separated by commas or blanks; with several
/// relations three: source, relation (by its full name, or by its name where one has it) and target. A first
/// line of other text is a header. A node is given as predictions name it: by its name, else its original id
/// (node_id), else its number. An HDF5 file (.h5, .hdf5) has /edges, integer [2, k], of node numbers, and is
/// for one relation. Returns numbers of nodes within their types and of relations, i64 [k], on the host.
/// Throws Error naming the file and the line for a node or relation that there is not, and for a file without
/// a pair.
NodePairs read_node_pairs(const std::string& path, const ScoredRelations& in);

/// Writes source, destination, score (logit) and probability of each pair, atomically: .csv and .tsv with a
/// header line and nodes as above, with several relations also a column relation; .h5 and .hdf5 with arrays
/// edges [2, k] of node numbers, with several relations relation [k], and score and probability f32 [k].
void write_link_scores(const std::string& path, const NodePairs& pairs, const Tensor& score,
                       const ScoredRelations& in);

}  // namespace rodeo
