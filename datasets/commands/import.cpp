#include "datasets/import.h"

#include <fmt/format.h>

#include "datasets/commands/command_line.h"

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
    text += fmt::format("\n  {:<10} {}", importer.format, importer.help);
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
  CommandLine line("import", about(), "FORMAT SOURCE FILE");
  line.flag("undirected", "Add the reverse of every edge and drop duplicates");
  line.flag("relabel", "edgelist: accept arbitrary ids and renumber them; /node_id keeps the original ids");
  line.option("nodes", "edgelist: number of nodes (default: the largest id + 1)", "N");
  line.flag("no-weights", "mtx: ignore the values");
  line.option("name", "Name of the dataset in logs", "TEXT");
  if (!line.parse(argc, argv)) return 0;

  const Importer& importer = importer_of(line.file(0));
  for (const char* option : {"undirected", "relabel", "nodes", "no-weights"})
    check(!line.has(option) || importer.accepts(option), "--", option, " belongs to ", formats_with(option));
  ImportOptions options{.undirected = line.has("undirected"),
                        .relabel = line.has("relabel"),
                        .weights = !line.has("no-weights")};
  line.read("nodes", options.nodes);
  check(!line.has("nodes") || options.nodes >= 0, "--nodes must be at least 0, got ", options.nodes);
  Dataset dataset = importer.read(line.file(1), options);
  if (line.has("name")) dataset.name = line.text("name");
  save_dataset(dataset, line.file(2));
  print_line("{}: {}, {} nodes, {} edges, {} features, {} classes", line.file(2), dataset.name,
             dataset.num_nodes, dataset.num_edges(), dataset.num_features, dataset.num_classes);
  return 0;
}

}  // namespace rodeo
