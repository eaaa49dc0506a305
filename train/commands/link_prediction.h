/// rodeo_predict --edges: scores of pairs of nodes.
#pragma once

#include <string>

#include "datasets/dataset.h"
#include "ops/negative_edges.h"

namespace rodeo {

/// Reads pairs of nodes. A text file has two fields a line, separated by commas or blanks; a
/// first line of other text is a header. A node is given as predictions name it: by its name, else its
/// original id (node_id), else its number. An HDF5 file (.h5, .hdf5) has /edges, integer [2, k], of node
/// numbers. Returns node numbers, i64 [k], on the host. Throws Error naming the file and the line for a node
/// that the dataset does not have, and for a file without a pair.
NodePairs read_node_pairs(const std::string& path, const Dataset& dataset);

/// Writes source, destination, score (logit) and probability of each pair, atomically: .csv and .tsv with a
/// header line and nodes as above; .h5 and .hdf5 with arrays edges [2, k] of node numbers, score and
/// probability f32 [k].
void write_link_scores(const std::string& path, const NodePairs& pairs, const Tensor& score,
                       const Dataset& dataset);

}  // namespace rodeo
