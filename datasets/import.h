/// Reads datasets in other formats. All results are on the host. An invalid file throws a one-line Error that
/// names the file and the position in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/dataset.h"

namespace rodeo {

/// Planetoid (Yang et al., ICML 2016): a folder with the files
/// ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index} of one NAME. The split is the public one: training on the
/// nodes of x, validation on the next 500, test on those of test.index. Edges are symmetrised, without self
/// loops and duplicates. Features stay sparse. Nodes missing in test.index (CiteSeer) have no features and,
/// as in other libraries, label 0.
Dataset read_planetoid(const std::string& folder);

struct EdgeListOptions {
  bool undirected = false;  // add reverse edges, drop duplicates
  bool relabel = false;     // renumber the ids that occur in ascending order; node_id keeps them
  std::int64_t nodes = -1;  // -1: the largest id + 1
};

/// An edge list, plain text or gzip: lines "source destination" or "source destination weight", separated by
/// blanks or commas. Lines that begin with # or % are comments. Either all lines have a weight, or none.
Dataset read_edge_list(const std::string& path, const EdgeListOptions& options = {});

/// A square Matrix Market file: an entry in row i, column j is an edge from i to j. With `weights`, the
/// values of real and integer matrices are edge weights.
Dataset read_matrix_market_graph(const std::string& path, bool undirected, bool weights);

/// The unpacked folder of an OGB node property dataset (Hu et al., NeurIPS 2020): raw/edge.csv.gz and, if
/// present, raw/num-node-list, node-feat, node-label and split/SCHEME/{train,valid,test}; also without .gz.
/// Labels of several columns are 0 or 1. nan is an unlabelled node.
Dataset read_ogb_csv(const std::string& folder, bool undirected);

/// Options of `rodeo_data import`.
struct ImportOptions {
  bool undirected = false;  // add reverse edges, drop duplicates
  bool relabel = false;     // as in EdgeListOptions
  std::int64_t nodes = -1;  // as in EdgeListOptions
  bool weights = true;      // false: drop edge weights
};

/// One format of `rodeo_data import`. A new importer is a reader in datasets/import/, its declaration above
/// and its row below.
struct Importer {
  std::string_view format, help;
  std::string_view options;  // names of the options of this format, separated by blanks
  Dataset (*read)(const std::string& source, const ImportOptions& options);

  bool accepts(std::string_view option) const {
    return (" " + std::string(options) + " ").find(" " + std::string(option) + " ") != std::string::npos;
  }
};

inline constexpr Importer kImporters[] = {
    {"planetoid", "SOURCE is a folder with ind.NAME.x, .y, .graph and so on; always undirected", "",
     [](const std::string& source, const ImportOptions&) { return read_planetoid(source); }},
    {"edgelist", "lines 'source destination' or 'source destination weight', also gzip",
     "undirected relabel nodes",
     [](const std::string& source, const ImportOptions& o) {
       return read_edge_list(source, {o.undirected, o.relabel, o.nodes});
     }},
    {"mtx", "a square Matrix Market file: row i, column j is an edge from i to j", "undirected no-weights",
     [](const std::string& source, const ImportOptions& o) {
       return read_matrix_market_graph(source, o.undirected, o.weights);
     }},
    {"csv-ogb", "SOURCE is an OGB folder with raw/edge.csv.gz", "undirected",
     [](const std::string& source, const ImportOptions& o) { return read_ogb_csv(source, o.undirected); }},
};

}  // namespace rodeo
