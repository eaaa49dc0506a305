#include "datasets/reorder.h"

#include <fmt/core.h>

#include "datasets/commands/command_line.h"
#include "datasets/subset.h"

namespace rodeo {

int reorder_command(int argc, const char* const* argv) {
  CommandLine line("reorder",
                   "Writes the same graph with its nodes in another order; /node_id keeps their old numbers.",
                   "FILE OUT");
  line.option("by", "degree: largest first; rcm: reverse Cuthill-McKee; random", "ORDER");
  line.option("seed", "Of random (default: 0)", "N");
  if (!line.parse(argc, argv)) return 0;
  const std::string by = line.has("by") ? line.text("by") : "";
  check(by == "degree" || by == "rcm" || by == "random", "--by must be degree, rcm or random, got '", by,
        "'");
  check(!line.has("seed") || by == "random", "--seed belongs to --by random");
  std::uint64_t seed = 0;
  line.read("seed", seed);

  const Dataset dataset = load_dataset(line.file(0), {.all_splits = true});
  Tensor order;
  if (by == "random")
    order = random_order(dataset.num_nodes, seed);
  else if (by == "degree")
    order = degree_order(to_graph(dataset, kCpu).adj);
  else
    order = rcm_order(to_graph(dataset, kCpu, {.symmetrize = true, .self_loops = SelfLoops::kDrop}).adj);
  save_dataset(select_nodes(dataset, order), line.file(1));
  fmt::print("{}: {} nodes, {} edges, by {}\n", line.file(1), dataset.num_nodes, dataset.num_edges(), by);
  return 0;
}

}  // namespace rodeo
