#include <fmt/core.h>

#include "datasets/commands/command_line.h"
#include "datasets/import.h"

namespace rodeo {

int import_command(int argc, const char* const* argv) {
  CommandLine line("import",
                   "Makes a dataset of files in another format. FORMAT is\n"
                   "  planetoid  SOURCE is a folder with ind.NAME.x, .y, .graph and so on\n"
                   "  edgelist   lines 'source destination' or 'source destination weight', also gzip\n"
                   "  mtx        a square Matrix Market file: row i, column j is an edge from i to j\n"
                   "  csv-ogb    SOURCE is a folder of OGB with raw/edge.csv.gz",
                   "FORMAT SOURCE FILE");
  line.flag("undirected", "Add the reverse of every edge and drop duplicates");
  line.flag("relabel", "edgelist: ids may be any numbers; /node_id keeps them");
  line.option("nodes", "edgelist: number of nodes, else the largest id + 1", "N");
  line.flag("no-weights", "mtx: leave the values out");
  line.option("name", "How logs call the dataset", "TEXT");
  if (!line.parse(argc, argv)) return 0;

  const std::string& format = line.file(0);
  const auto only = [&](const char* option, const char* of) {
    check(!line.has(option) || format == of, "--", option, " belongs to ", of);
  };
  only("relabel", "edgelist");
  only("nodes", "edgelist");
  only("no-weights", "mtx");
  check(!line.has("undirected") || format != "planetoid",
        "--undirected: planetoid files always become undirected");
  const bool undirected = line.has("undirected");
  Dataset dataset;
  if (format == "planetoid") {
    dataset = read_planetoid(line.file(1));
  } else if (format == "edgelist") {
    EdgeListOptions options{.undirected = undirected, .relabel = line.has("relabel")};
    line.read("nodes", options.nodes);
    check(!line.has("nodes") || options.nodes >= 0, "--nodes must be at least 0, got ", options.nodes);
    dataset = read_edge_list(line.file(1), options);
  } else if (format == "mtx") {
    dataset = read_matrix_market_graph(line.file(1), undirected, !line.has("no-weights"));
  } else if (format == "csv-ogb") {
    dataset = read_ogb_csv(line.file(1), undirected);
  } else {
    fail("unknown format '", format, "': planetoid, edgelist, mtx or csv-ogb");
  }
  if (line.has("name")) dataset.name = line.text("name");
  save_dataset(dataset, line.file(2));
  fmt::print("{}: {}, {} nodes, {} edges, {} features, {} classes\n", line.file(2), dataset.name,
             dataset.num_nodes, dataset.num_edges(), dataset.num_features, dataset.num_classes);
  return 0;
}

}  // namespace rodeo
