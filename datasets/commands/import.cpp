#include "datasets/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/host/terminal.h"
#include "datasets/commands/command_line.h"
#include "datasets/import/edges.h"

namespace rodeo {
namespace {

const Importer& importer_of(std::string_view format) {
  for (const Importer& importer : kImporters)
    if (importer.format == format) return importer;
  fail("unknown format '", format, "': expected one of ", import_formats());
}

// "edgelist, mtx": the formats that accept an option.
std::string formats_with(std::string_view option) {
  std::string formats;
  for (const Importer& importer : kImporters)
    if (importer.accepts(option)) formats += (formats.empty() ? "" : ", ") + std::string(importer.format);
  return formats;
}

std::string about() {
  std::string text = "Converts files in another format to a dataset. FORMAT is";
  for (const Importer& importer : kImporters)
    text +=
        fmt::format("\n  {:<10} ", importer.format) +
        wrap(std::string(13, '.') + std::string(importer.help), std::clamp(terminal_width(110), 40, 110), 13)
            .substr(13);
  return text;
}

}  // namespace

std::string import_formats() {
  std::string formats;
  for (const Importer& importer : kImporters)
    formats += (formats.empty() ? "" : ", ") + std::string(importer.format);
  return formats;
}

int import_command(int argc, const char* const* argv) {
  CommandLine line("import", about(), "FORMAT [SOURCE] FILE");
  line.flag("undirected", "Add the reverse of every edge and drop duplicates");
  line.flag("drop-self-loops", "Drop the edges from a node to itself");
  line.flag("relabel",
            "edgelist: accept any ids, also texts, and renumber them; /node_id or /node_names keeps them");
  line.option(
      "nodes",
      "edgelist: number of nodes (default: the largest id + 1). csv: a table with columns id, label, "
      "split (or train, val, test) and features; all but id are optional. Several node types: TYPE=FILE "
      "for each",
      "N|FILE");
  line.option("edges",
              "csv: a table with columns source, target and optionally weight. Several node types: "
              "SOURCE:NAME:TARGET=FILE for each relation",
              "FILE");
  line.option("target", "csv: the node type whose labels are learned (default: the only one with labels)",
              "TYPE");
  line.option(
      "columns",
      "csv: other names of these columns, such as id=paper,label=topic,source=citing; label=a,label=b: "
      "several labels of 0 and 1 a node",
      "ROLE=NAME,...");
  line.option("feature-columns",
              "csv: names and prefixes of the features, such as x*,year (default: all others)", "LIST");
  line.option(
      "input-features",
      "Where there are none: degree, the number of edges to a node as one of up to 256 columns, or "
      "onehot, a column for each node: the first layer then has nodes x hidden weights, 4 bytes each, "
      "of which training holds four copies; random: 64 numbers; ones: a single 1",
      "degree|onehot|random|ones");
  line.flag("regression", "csv: labels are numbers to predict, not classes; empty where one is missing");
  line.flag("multi-label", "csv: several label columns stay apart even if each node has exactly one of them");
  line.option("missing",
              "csv: features without a value become the mean of the column or 0; they are counted (default: "
              "error)",
              "mean|zero|error");
  line.flag("no-weights", "mtx: ignore the values");
  line.option("name", "Name of the dataset in logs", "TEXT");
  if (!line.parse(argc, argv)) return 0;

  const Importer& importer = importer_of(line.file(0));
  const std::size_t wanted = importer.has_source ? 3 : 2;
  check(line.num_files() == wanted, "import ", importer.format, " takes ",
        importer.has_source ? "SOURCE FILE" : "--edges FILE, --nodes FILE and the FILE to write", ", got ",
        line.num_files() - 1, line.num_files() == 2 ? " argument" : " arguments", "; see import --help");
  for (const char* option :
       {"undirected", "relabel", "nodes", "no-weights", "edges", "columns", "feature-columns",
        "input-features", "regression", "multi-label", "missing", "target"})
    check(!line.has(option) || importer.accepts(option), "--", option, " belongs to ", formats_with(option));
  std::vector<std::string> notes;
  ImportOptions options{.undirected = line.has("undirected"),
                        .relabel = line.has("relabel"),
                        .weights = !line.has("no-weights")};
  if (importer.accepts("edges")) {
    const auto text = [&](const char* option) { return line.has(option) ? line.text(option) : ""; };
    options.csv = {text("nodes"),
                   text("edges"),
                   text("columns"),
                   text("feature-columns"),
                   options.undirected,
                   line.has("regression"),
                   line.has("multi-label"),
                   line.has("missing") ? line.text("missing") : "error",
                   &notes};
    options.hetero = {line.texts("nodes"),     line.texts("edges"), text("target"), options.csv.regression,
                      options.csv.multi_label, options.csv.missing, &notes};
  } else {
    line.read("nodes", options.nodes);
    check(!line.has("nodes") || options.nodes >= 0, "--nodes must be at least 0, got ", options.nodes);
  }
  const std::string &out = line.output(wanted - 1), source = importer.has_source ? line.file(1) : "";
  if (importer.is_hetero && importer.is_hetero(source, options)) {
    for (const char* option :
         {"undirected", "drop-self-loops", "columns", "feature-columns", "input-features"})
      check(!line.has(option), "--", option, " is for a graph of one node type");
    HeteroDataset dataset = importer.read_hetero(source, options);
    if (!importer.has_source) dataset.name = std::filesystem::path(out).stem().string();
    if (line.has("name")) dataset.name = line.text("name");
    save_hetero_dataset(dataset, out);
    for (const std::string& note : notes) print_line("{}", note);
    print_line("{}: {}", out, summary(dataset));
    return 0;
  }
  check(!line.has("target"), "--target is for a graph of several node types");
  check(line.texts("nodes").size() <= 1 && line.texts("edges").size() <= 1,
        "several --nodes or --edges are for several node types: --nodes author=FILE --edges "
        "author:writes:paper=FILE");
  Dataset dataset = importer.read(source, options);
  if (line.has("drop-self-loops")) drop_self_loops(dataset);
  if (!importer.has_source) dataset.name = std::filesystem::path(out).stem().string();
  if (line.has("name")) dataset.name = line.text("name");
  if (line.has("input-features")) make_features(dataset, line.text("input-features"));
  save_dataset(dataset, out);
  for (const std::string& note : notes) print_line("{}", note);
  print_line("{}: {}, {} nodes, {} edges, {} features, {} {}", out, dataset.name, dataset.num_nodes,
             dataset.num_edges(), dataset.num_features, dataset.num_classes,
             dataset.regression() ? (dataset.num_classes == 1 ? "target" : "targets") : "classes");
  return 0;
}

}  // namespace rodeo
