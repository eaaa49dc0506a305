#include "core/text.h"
#include "datasets/commands/command_line.h"
#include "datasets/synthetic.h"
#include "datasets/synthetic_graphs.h"
#include "datasets/synthetic_hetero.h"

namespace rodeo {

namespace {

int generate_graphs(const CommandLine& line) {
  for (const char* option : {"preset", "nodes", "edges", "skew", "homophily", "split", "node-order"})
    check(!line.has(option), "--", option, " is for one graph, not for --graphs");
  GraphSetOptions options;
  line.read("graphs", options.graphs);
  line.read("classes", options.classes);
  line.read("features", options.features);
  line.read("seed", options.seed);
  const Dataset dataset = synthesize_graphs(options);
  save_dataset(dataset, line.file(0));
  print_line("{}: {}, {}", line.file(0), count_of(dataset.num_graphs(), "graph"), sizes_of(dataset));
  return 0;
}

int generate_hetero(const CommandLine& line) {
  for (const char* option : {"edges", "skew", "homophily", "split", "node-order", "graphs"})
    check(!line.has(option), "--", option, " is not for --preset ", line.text("preset"),
          ", a graph of several node types");
  HeteroOptions options{.preset = line.text("preset")};
  line.read("nodes", options.nodes);
  line.read("features", options.features);
  line.read("classes", options.classes);
  line.read("seed", options.seed);
  const HeteroDataset dataset = synthesize_hetero(options);
  save_hetero_dataset(dataset, line.file(0));
  print_line("{}: {}", line.file(0), summary(dataset));
  return 0;
}

}  // namespace

int generate_command(int argc, const char* const* argv) {
  CommandLine line("generate", "Writes a random graph with communities to an HDF5 file.", "FILE");
  line.option("preset",
              "Size, skew and split of " + synthetic_preset_names() +
                  " (default: cora); of several node types: " + hetero_preset_names(),
              "NAME");
  line.option("nodes", "Number of nodes", "N");
  line.option("edges", "Number of edges, counting both directions", "N");
  line.option("features", "Number of features", "N");
  line.option("classes", "Number of classes", "N");
  line.option("skew", "0: similar degrees; up to 0.95: a few hubs have most edges", "X");
  line.option("homophily", "Share of edges drawn within a class", "X");
  line.option("split", "Shares of train/val/test nodes, e.g. 60/20/20 or 0.6/0.2/0.2", "A/B/C");
  line.option("node-order", "shuffled (default), or community: the nodes of a community are contiguous",
              "shuffled|community");
  line.option("seed", "Random seed (default: 0)", "N");
  line.option(
      "graphs",
      "Instead of one graph a set of so many small ones, whose structure is their class (--task graph)", "N");
  if (!line.parse(argc, argv)) return 0;
  line.output(0);
  if (line.has("preset") && is_hetero_preset(line.text("preset"))) return generate_hetero(line);
  if (line.has("graphs")) return generate_graphs(line);

  SyntheticOptions options = synthetic_preset(line.has("preset") ? line.text("preset") : "cora");
  line.read("nodes", options.nodes);
  line.read("edges", options.edges);
  line.read("features", options.features);
  line.read("classes", options.classes);
  line.read("skew", options.skew);
  line.read("homophily", options.homophily);
  line.read("seed", options.seed);
  if (line.has("split")) options.split = line.text("split");
  if (line.has("node-order")) options.shuffle = parse_shuffle(line.text("node-order"));

  const Dataset dataset = synthesize(options);
  save_dataset(dataset, line.file(0));
  print_line("{}: {}, {}, split {}/{}/{}", line.file(0), dataset.name, sizes_of(dataset),
             dataset.split.train.numel(), dataset.split.val.numel(), dataset.split.test.numel());
  return 0;
}

}  // namespace rodeo
