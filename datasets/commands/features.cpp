#include "core/text.h"
#include "datasets/commands/command_line.h"
#include "datasets/feature_file.h"
#include "datasets/hdf5_check.h"
#include "datasets/positional_encoding.h"
#include "ops/combine.h"

namespace rodeo {

int features_command(int argc, const char* const* argv) {
  CommandLine line("features",
                   "Writes a copy with positional encodings after the features of each node, or as its "
                   "features where there are none.",
                   "FILE OUT");
  line.option("random-walk-pe", "K columns: the probability that a walk of 1 .. K steps ends where it began",
              "K");
  line.option("laplacian-pe",
              "K columns: eigenvectors of the K smallest non-zero eigenvalues of the Laplacian", "K");
  line.flag("undirected", "Encode the graph with the reverse of every edge; OUT keeps the edges of FILE");
  line.option("seed", "Random seed of --laplacian-pe (default: 0)", "N");
  line.option("device", "auto, cpu, cuda or cuda:i (default: auto)", "NAME");
  if (!line.parse(argc, argv)) return 0;
  line.output(1);
  std::int64_t steps = 0, vectors = 0;
  std::uint64_t seed = 0;
  line.read("random-walk-pe", steps);
  line.read("laplacian-pe", vectors);
  line.read("seed", seed);
  const auto in_range = [&](const char* name, std::int64_t count, std::int64_t most) {
    check(!line.has(name) || (count >= 1 && count <= most), "--", name, " must be in [1, ", most, "], got ",
          count);
  };
  in_range("random-walk-pe", steps, 1024);
  in_range("laplacian-pe", vectors, kMostLaplacianVectors);
  check(steps + vectors > 0, "features needs --random-walk-pe K, --laplacian-pe K or both");
  check(!line.has("seed") || vectors > 0, "--seed belongs to --laplacian-pe");
  const Device device = parse_device(line.has("device") ? line.text("device") : "auto");

  check_hdf5_file(line.file(0));
  const Dataset dataset = load_dataset(line.file(0));
  const Graph graph = to_graph(dataset, kCpu, {.symmetrize = line.has("undirected")});
  std::vector<Tensor> encodings;
  for (const Graph& each : graphs_of(graph, dataset.graph_ptr))
    encodings.push_back(concat_columns(
        {random_walk_encoding(each, steps, device), laplacian_encoding(each, vectors, seed, device)}));
  append_features(line.file(0), line.file(1), dataset, concat_rows(encodings));
  print_line("{}: {}, {} and {} of positional encodings", line.file(1), count_of(dataset.num_nodes, "node"),
             count_of(dataset.num_features, "feature"), count_of(steps + vectors, "column"));
  return 0;
}

}  // namespace rodeo
