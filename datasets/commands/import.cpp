#include "datasets/import.h"
#include "core/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/host/terminal.h"
#include "datasets/commands/command_line.h"
#include "datasets/import/edges.h"

namespace rodeo {
namespace {

const Importer& importer_of(std::string_view format) {
  for (const Importer& importer : kImporters)
    if (importer.format == format) return importer;
  fail("unknown format '", format, "': expected one of ", import_formats(),
       ", or a source that to_h5.py reads, such as pyg:Reddit or FILE.npz");
}

/// What to_h5.py reads. No importer above does.
constexpr std::string_view kPythonPrefixes[] = {"pyg:", "dgl:", "ogb:"};
constexpr std::string_view kPythonEndings[] = {".npz",        ".pt",  ".pth",    ".graphml",
                                               ".graphml.gz", ".gml", ".gml.gz", ".parquet"};
constexpr const char* kOnlyPython[] = {"sparse-features", "root", "trust"};

bool is_for_python(std::string_view source) {
  return std::any_of(std::begin(kPythonPrefixes), std::end(kPythonPrefixes),
                     [&](std::string_view prefix) { return source.starts_with(prefix); }) ||
         std::any_of(std::begin(kPythonEndings), std::end(kPythonEndings),
                     [&](std::string_view ending) { return source.ends_with(ending); });
}

bool is_for_python(const CommandLine& line) {
  if (line.file(0) != "csv") return is_for_python(line.file(0));
  bool found = line.has("sparse-features");
  for (const char* option : {"nodes", "edges"})
    for (const std::string& table : line.texts(option)) found = found || is_for_python(table);
  return found;
}

/// Beside this program; in a wheel, in a folder of its own, where Python finds none of the package's modules.
std::filesystem::path to_h5_script() {
  std::error_code none;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const auto& place : {folder / "to_h5.py", folder / "scripts" / "to_h5.py"})
    if (::access(place.c_str(), R_OK) == 0) return place;
  fail("to_h5.py, which reads this source, is not in ", folder.string(),
       ": install it there with its folder to_h5_parts, or type python3 datasets/to_h5.py in the sources");
}

/// Becomes python3 to_h5.py with the words of the command line, and says so.
[[noreturn]] void run_python(const CommandLine& line, int argc, const char* const* argv) {
  line.output(line.num_files() - 1);
  for (const char* option : {"relabel", "no-weights", "input-features", "target", "threads"})
    check(!line.has(option), "--", option, " is not for what to_h5.py reads: ", line.file(0));
  std::vector<std::string> words{"python3", to_h5_script().string()};
  words.insert(words.end(), argv + 1, argv + argc);
  if (line.file(0) == "csv") words.erase(std::find(words.begin(), words.end(), "csv"));
  std::string shown;
  std::vector<char*> arguments;
  for (std::string& word : words) {
    shown += " " + word;
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  print_line("runs{}", shown);
  std::fflush(stdout);
  ::execvp("python3", arguments.data());
  fail("cannot run python3, which reads ", line.file(0), ": ", std::strerror(errno));
}

// "edgelist, mtx": the formats that accept an option.
std::string formats_with(std::string_view option) {
  std::vector<std::string_view> formats;
  for (const Importer& importer : kImporters)
    if (importer.accepts(option)) formats.push_back(importer.format);
  return join(formats);
}

std::string about() {
  std::string text = "Converts files in another format to a dataset. FORMAT is";
  const auto add = [&](std::string_view format, std::string_view help) {
    text += fmt::format("\n  {:<10} ", format) +
            wrap(std::string(13, '.') + std::string(help), help_width(), 13).substr(13);
  };
  for (const Importer& importer : kImporters) add(importer.format, importer.help);
  text += "\nor, alone,";
  add("SOURCE",
      "what python3 to_h5.py reads, which needs h5py and NumPy: pyg:CLASS:NAME, dgl:CLASS, ogb:NAME, "
      "FILE.npz, FILE.pt, FILE.graphml, FILE.gml; it reads FILE.parquet for csv, too; to_h5.py --help");
  return text;
}

}  // namespace

std::string import_formats() {
  return join(kImporters, ", ", &Importer::format);
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
  line.option("sparse-features",
              "csv, by to_h5.py: features in a file of their own, JSON {node: [feature, ...]} or a table of "
              "node, feature and optionally value",
              "FILE");
  line.option("root", "pyg:, dgl:, ogb: the download folder (default: data)", "FOLDER");
  line.flag("trust", "FILE.pt: load classes that can execute code");
  line.option("name", "Name of the dataset in logs", "TEXT");
  if (!line.parse(argc, argv)) return 0;

  if (is_for_python(line)) run_python(line, argc, argv);
  for (const char* option : kOnlyPython)
    check(!line.has(option), "--", option, " belongs to sources that to_h5.py reads; see import --help");
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
                        .weights = !line.has("no-weights"),
                        .notes = &notes};
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
  print_line("{}: {}, {}", out, dataset.name, sizes_of(dataset));
  return 0;
}

}  // namespace rodeo
