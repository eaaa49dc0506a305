#include "datasets/reorder.h"

#include <chrono>

#include "datasets/commands/command_line.h"
#include "datasets/hdf5_check.h"
#include "datasets/hdf5_file.h"
#include "datasets/subset.h"

namespace rodeo {

int reorder_command(int argc, const char* const* argv) {
  CommandLine line("reorder",
                   "Renumbers the nodes of a graph in another order; /node_id keeps the original ids.",
                   "FILE OUT");
  line.option("by", "degree (largest first), rcm (reverse Cuthill-McKee), rabbit (communities) or random",
              "ORDER");
  line.option("seed", "Random seed of --by random (default: 0)", "N");
  if (!line.parse(argc, argv)) return 0;
  line.output(1);
  const std::string by = line.has("by") ? line.text("by") : "";
  check(by == "degree" || by == "rcm" || by == "rabbit" || by == "random",
        "--by must be degree, rcm, rabbit or random, got '", by, "'");
  check(!line.has("seed") || by == "random", "--seed belongs to --by random");
  std::uint64_t seed = 0;
  line.read("seed", seed);

  check_hdf5_file(line.file(0));
  const Dataset dataset = load_dataset(line.file(0), {.all_splits = true});
  check(!Hdf5File(line.file(0)).has("val_edges"), line.file(0),
        ": has a split of the edges, /val_edges and /test_edges, which reorder does not keep: --reorder of "
        "training keeps it");
  const auto begin = std::chrono::steady_clock::now();
  const Tensor order = by == "random" ? random_order(dataset.num_nodes, seed)
                                      : node_order(dataset, parse_name<NodeOrder>("--by", by));
  const Dataset ordered = select_nodes(dataset, order);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  save_dataset(ordered, line.file(1));
  print_line("{}: {} nodes, {} edges, by {} in {:.1f} ms; edges within 1,024 places {:.1f} % -> {:.1f} %",
             line.file(1), dataset.num_nodes, dataset.num_edges(), by, took.count(),
             100 * near_edges(dataset, 1024), 100 * near_edges(ordered, 1024));
  return 0;
}

}  // namespace rodeo
