/// Reads datasets in other formats. All results are on the host. An invalid file throws a one-line Error that
/// names the file and the position in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/hetero_dataset.h"

namespace rodeo {

/// Planetoid (Yang et al., ICML 2016): a folder with the files
/// ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index} of one NAME. The split is the public one: training on the
/// nodes of x, validation on the next 500, test on those of test.index. Edges are symmetrised, without self
/// loops and duplicates. Features stay sparse. Nodes missing in test.index (CiteSeer) have no features and,
/// as in other libraries, label 0.
Dataset read_planetoid(const std::string& folder);

struct EdgeListOptions {
  bool undirected = false;  // add reverse edges, drop duplicates
  bool relabel = false;     // renumber the ids that occur: integers in ascending order, which node_id keeps;
                            // texts in the order of the file, which node_names keeps
  std::int64_t nodes = -1;  // -1: the largest id + 1
  std::vector<std::string>* notes = nullptr;  // receives remarks on gaps in the ids, and on a header
};

/// An edge list, plain text or gzip: lines "source destination" or "source destination weight", separated by
/// blanks or commas. Lines that begin with # or % are comments; a header such as "source target" is an Error.
/// Either all lines have a weight, or none. Without `nodes`, there must be an edge.
Dataset read_edge_list(const std::string& path, const EdgeListOptions& options = {});

/// A square Matrix Market file: an entry in row i, column j is an edge from i to j. With `weights`, the
/// values of real and integer matrices are edge weights.
Dataset read_matrix_market_graph(const std::string& path, bool undirected, bool weights);

/// The unpacked folder of an OGB node property dataset (Hu et al., NeurIPS 2020): raw/edge.csv.gz and, if
/// present, raw/num-node-list, node-feat, edge-feat, node-label and split/SCHEME/{train,valid,test}; also
/// without .gz. Features of an edge are those of its reverse, too, with `undirected`.
/// Labels of several columns are 0 or 1. nan is a label that is not known.
Dataset read_ogb_csv(const std::string& folder, bool undirected);

/// A folder in the text format of the TU collection of graph data sets (Morris et al., "TUDataset", 2020),
/// its files of one NAME: NAME_A.txt, NAME_graph_indicator.txt and NAME_graph_labels.txt, and where they
/// exist NAME_node_labels.txt, NAME_node_attributes.txt, NAME_edge_labels.txt and NAME_edge_attributes.txt.
/// Each column of node labels becomes one-hot columns of x, before the attributes; those of edges columns of
/// edge_attr.
/// Labels of graphs become classes in ascending order; without them, the columns of
/// NAME_graph_attributes.txt are numbers to predict. Throws Error for nodes that are not sorted by graph, and
/// for an edge between two graphs.
/// Or one file as DGCNN (Zhang et al., AAAI 2018) and GIN (Xu et al., ICLR 2019) have them: the number of
/// graphs; for each a line 'nodes label', and for each of its nodes 'tag degree neighbours attributes', where
/// neighbours are numbered from 0 within the graph. Tags become one-hot columns, unless all are equal.
Dataset read_tudataset(const std::string& source);

struct CsvOptions {
  std::string nodes;       // a file with a record for each node; empty: the nodes are those of the edges
  std::string edges;       // a file with a record for each edge
  std::string columns{};   // "id=paper,label=topic": columns of other names; label may have several
  std::string features{};  // names and prefixes of feature columns, "x*,year"; empty: all without a role
  bool undirected = false;
  bool regression = false;        // labels are numbers to predict
  bool multi_label = false;       // several label columns stay apart even if each node has exactly one label
  std::string missing = "error";  // features without a value: error, zero, or mean of the column
  std::vector<std::string>* notes = nullptr;  // receives what was understood, a line each
};

/// CSV files with header lines (RFC 4180: quoted fields, CRLF; also separated by semicolons or tabs, with a
/// byte order mark, or gzip). Ids are any text.
///   edges  columns source, target and optionally weight; other columns are not read
///   nodes  columns id and optionally label, a split (one column `split` of train, val, test, or columns
///          train, val and test of 0 and 1), and features: numbers, or texts, which become one-hot columns
/// Nodes are in the order of the file; without one, integer ids in ascending and other ids in first order.
/// node_id or node_names keeps the ids. Labels that are the integers 0, 1, ..., C - 1 are classes; others
/// become classes in ascending order with class_names. An empty label, and a negative one among integers, is
/// unlabelled. Several label columns, "label=a,label=b", are several labels a node: 0, 1, and -1 or nothing
/// where it is not known; columns of which each node has exactly one are classes, unless `multi_label`.
/// With `regression`, labels are numbers, nothing or nan where one is missing. Both
/// keep the names of the columns as class_names. Throws Error for an unknown or repeated id, another number
/// of fields than in the header, text where a number is needed, a column with numbers and texts, labels or
/// texts that nearly all differ, and unlabelled nodes in the split.
Dataset read_csv(const CsvOptions& options);

struct HeteroCsvOptions {
  std::vector<std::string> nodes;  // "author=authors.csv"
  std::vector<std::string> edges;  // "author:writes:paper=writes.csv"
  std::string target{};            // the type whose labels are learned; empty: the only one with labels
  bool regression = false, multi_label = false;  // as in CsvOptions, of the target type
  std::string missing = "error";                 // as in CsvOptions
  std::vector<std::string>* notes = nullptr;
};

/// Tables of several node types and relations, each as in read_csv(). A type without a table has the nodes
/// that edges name. A table of edges without columns source and target has two columns. Edge weights are not
/// read.
HeteroDataset read_hetero_csv(const HeteroCsvOptions& options);
/// Whether one is "author:writes:paper=writes.csv".
bool names_relations(const std::vector<std::string>& edges);
/// Sets HeteroDataset::target: the type of that name, which must have labels; empty: the only one with
/// labels.
void set_target(HeteroDataset& dataset, const std::string& type);

/// A knowledge graph: lines "head TAB relation TAB tail", or N-Triples, whose literals are skipped. One node
/// type, "entity", and a relation for each name; characters that a name may not have become "_".
HeteroDataset read_triples(const std::string& path);

/// An unpacked OGB folder of several node types, as ogbn-mag: raw/num-node-dict.csv.gz,
/// triplet-type-list.csv.gz, relations/SOURCE___NAME___TARGET/edge.csv.gz, node-feat/TYPE/node-feat.csv.gz,
/// node-label/TYPE/node-label.csv.gz and split/SCHEME/TYPE/{train,valid,test}.csv.gz; also without .gz.
HeteroDataset read_ogb_hetero(const std::string& folder);
/// Whether an OGB folder has several node types.
bool is_ogb_hetero(const std::string& folder);

/// Features for a graph that has none. Those of the first two are sparse: they take 8 to 16 bytes a node.
///   "onehot"  x is the identity, [nodes, nodes]. A model learns a row of its first layer for each node: it
///             has nodes x hidden weights, of which training holds four copies, and it fits this graph only.
///   "degree"  column min(d, 255) of node i is 1 for d edges to the node, [nodes, at most 256]; with
///             `columns`, min(d, columns - 1), [nodes, columns]
///   "random"  uniform in [-1, 1), [nodes, 64]. They tell nodes apart; the same in every call
///   "ones"    [nodes, 1]: the graph alone
/// Throws Error for another word and for a dataset with features.
void make_features(Dataset& dataset, std::string_view kind, std::int64_t columns = 0);

/// Options of `rodeo_data import`.
struct ImportOptions {
  bool undirected = false;                    // add reverse edges, drop duplicates
  bool relabel = false;                       // as in EdgeListOptions
  std::int64_t nodes = -1;                    // as in EdgeListOptions
  bool weights = true;                        // false: drop edge weights
  std::vector<std::string>* notes = nullptr;  // as in EdgeListOptions
  CsvOptions csv{};
  HeteroCsvOptions hetero{};
};

/// One format of `rodeo_data import`. A new importer is a reader in datasets/import/, its declaration above
/// and its row below.
struct Importer {
  std::string_view format, help;
  std::string_view options;  // names of the options of this format, separated by blanks
  Dataset (*read)(const std::string& source, const ImportOptions& options);
  bool has_source = true;  // false: options name the files, `source` is empty
  // Whether files of the format hold several node types, and the reader of those. Null: they never do.
  bool (*is_hetero)(const std::string& source, const ImportOptions& options) = nullptr;
  HeteroDataset (*read_hetero)(const std::string& source, const ImportOptions& options) = nullptr;

  bool accepts(std::string_view option) const {
    return (" " + std::string(options) + " ").find(" " + std::string(option) + " ") != std::string::npos;
  }
};

inline constexpr Importer kImporters[] = {
    {"planetoid", "SOURCE is a folder with ind.NAME.x, .graph and so on; undirected", "",
     [](const std::string& source, const ImportOptions&) { return read_planetoid(source); }},
    {"edgelist", "lines 'source destination' or 'source destination weight'; or .gz",
     "undirected relabel nodes input-features",
     [](const std::string& source, const ImportOptions& o) {
       return read_edge_list(source, {o.undirected, o.relabel, o.nodes, o.notes});
     }},
    {"mtx", "a square Matrix Market file: row i, column j is an edge from i to j",
     "undirected no-weights input-features",
     [](const std::string& source, const ImportOptions& o) {
       return read_matrix_market_graph(source, o.undirected, o.weights);
     }},
    {"csv",
     "--edges FILE, --nodes FILE: tables with headers; ids may be text; several node types: "
     "--nodes author=FILE --edges author:writes:paper=FILE",
     "undirected nodes edges columns feature-columns input-features regression multi-label missing target",
     [](const std::string&, const ImportOptions& o) { return read_csv(o.csv); }, false,
     [](const std::string&, const ImportOptions& o) { return names_relations(o.hetero.edges); },
     [](const std::string&, const ImportOptions& o) { return read_hetero_csv(o.hetero); }},
    {"tu",
     "SOURCE is a folder of the TU collection: NAME_A.txt and so on; or a file of graphs as DGCNN and GIN "
     "have",
     "input-features",
     [](const std::string& source, const ImportOptions&) { return read_tudataset(source); }},
    {"csv-ogb", "SOURCE is an OGB folder with raw/edge.csv.gz", "undirected input-features",
     [](const std::string& source, const ImportOptions& o) { return read_ogb_csv(source, o.undirected); },
     true, [](const std::string& source, const ImportOptions&) { return is_ogb_hetero(source); },
     [](const std::string& source, const ImportOptions&) { return read_ogb_hetero(source); }},
    {"triples", "lines 'head TAB relation TAB tail', or N-Triples: one node type, a relation for each name",
     "", nullptr, true, [](const std::string&, const ImportOptions&) { return true; },
     [](const std::string& source, const ImportOptions&) { return read_triples(source); }},
};

}  // namespace rodeo
