/// Datasets of other formats. All results are on the host. What is wrong in a file is an Error of one line
/// that names the file and the place in it.
#pragma once

#include <cstdint>
#include <string>

#include "datasets/dataset.h"

namespace rodeo {

/// The files ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index} of Planetoid (Yang et al., ICML 2016) in a
/// folder that has those of one NAME, with the public split: the nodes of x train, the next 500 validate,
/// those of test.index test. Edges are made symmetric, without loops and duplicates. Features stay sparse.
/// Nodes that test.index leaves out (CiteSeer) have no features, and label 0 as is customary.
Dataset read_planetoid(const std::string& folder);

struct EdgeListOptions {
  bool undirected = false;  // add the reverse of every edge, drop duplicates
  bool relabel = false;     // number the ids that occur in ascending order; node_id keeps them
  std::int64_t nodes = -1;  // -1: the largest id + 1
};

/// Lines "source destination" or "source destination weight", split by blanks or commas, after any that begin
/// with # or %; gzip is read too. All lines have a weight, or none has.
Dataset read_edge_list(const std::string& path, const EdgeListOptions& options = {});

/// A square Matrix Market file: an entry at row i, column j is an edge from i to j. Values of real and
/// integer matrices are weights where `weights` is on.
Dataset read_matrix_market_graph(const std::string& path, bool undirected, bool weights);

/// A node property dataset as OGB unpacks it (Hu et al., NeurIPS 2020): raw/edge.csv.gz, and where they are
/// there raw/num-node-list, node-feat, node-label and split/SCHEME/{train,valid,test}; also without .gz.
/// Labels of several columns are 0 or 1; empty or nan: no label.
Dataset read_ogb_csv(const std::string& folder, bool undirected);

}  // namespace rodeo
