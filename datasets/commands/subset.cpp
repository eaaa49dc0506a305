#include "datasets/subset.h"

#include <cmath>
#include <numeric>

#include "datasets/commands/command_line.h"
#include "datasets/hdf5_check.h"
#include "datasets/hdf5_file.h"
#include "datasets/import/text_lines.h"

namespace rodeo {
namespace {

Tensor read_nodes(const std::string& path) {
  TextLines lines(path);
  std::vector<std::string_view> fields;
  std::vector<std::int64_t> nodes;
  while (lines.next(fields))
    for (const std::string_view field : fields) nodes.push_back(lines.id(field));
  return Tensor::from(nodes);
}

Tensor choose(const CommandLine& line, std::int64_t num_nodes) {
  if (line.has("nodes")) return read_nodes(line.text("nodes"));
  std::uint64_t seed = 0;
  line.read("seed", seed);
  if (line.has("share")) {
    double percent = 0;
    line.read("share", percent);
    check(percent >= 0 && percent <= 100, "--share must be in [0, 100] percent, got ", percent);
    return random_nodes(num_nodes, std::llround(percent / 100 * static_cast<double>(num_nodes)), seed);
  }
  std::int64_t count = 0;
  line.read("first", count);
  check(count >= 0 && count <= num_nodes, "--first must be in [0, ", num_nodes, "], got ", count);
  std::vector<std::int64_t> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return Tensor::from(nodes);
}

}  // namespace

int subset_command(int argc, const char* const* argv) {
  CommandLine line("subset", "Writes the induced subgraph of some nodes; /node_id keeps the original ids.",
                   "FILE OUT");
  line.option("nodes", "A text file of node ids; the new nodes are in this order", "LIST");
  line.option("first", "The first K nodes", "K");
  line.option("share", "A random P percent of the nodes", "P");
  line.option("seed", "Random seed of --share (default: 0)", "N");
  if (!line.parse(argc, argv)) return 0;
  line.output(1);
  check(line.has("nodes") + line.has("first") + line.has("share") == 1,
        "subset takes one of --nodes, --first and --share");
  check(!line.has("seed") || line.has("share"), "--seed belongs to --share");
  check_hdf5_file(line.file(0));
  const Dataset dataset = load_dataset(line.file(0), {.all_splits = true});
  check(!Hdf5File(line.file(0)).has("val_edges"), line.file(0),
        ": has a split of the edges, /val_edges and /test_edges, which subset does not keep: leave it out "
        "first");
  const Dataset part = select_nodes(dataset, choose(line, dataset.num_nodes));
  save_dataset(part, line.file(1));
  print_line("{}: {} of {} nodes, {} of {} edges", line.file(1), part.num_nodes, dataset.num_nodes,
             part.num_edges(), dataset.num_edges());
  return 0;
}

}  // namespace rodeo
