/// rodeo_data COMMAND: makes dataset files. `generate` writes a random graph.
#include <fmt/format.h>

#include <charconv>
#include <cxxopts.hpp>

#include "core/version.h"
#include "datasets/synthetic.h"

namespace rodeo {
namespace {

constexpr const char* kUsage =
    "Makes dataset files for training.\n"
    "Usage:\n"
    "  rodeo_data generate [options] FILE   write a random graph with communities\n"
    "  rodeo_data --help | --version\n"
    "`rodeo_data generate --help` shows its options.\n";

cxxopts::Options generate_options() {
  cxxopts::Options options("rodeo_data generate",
                           "Writes a random graph with communities to an HDF5 file.\n");
  options.set_width(110).custom_help("[options]").positional_help("FILE");
  const auto text = [] { return cxxopts::value<std::string>(); };
  auto add = options.add_options();
  add("preset", "Size, skew and split of " + synthetic_preset_names(), text()->default_value("cora"), "NAME");
  add("nodes", "Number of nodes", text(), "N");
  add("edges", "Number of edges, counting both directions", text(), "N");
  add("features", "Number of features", text(), "N");
  add("classes", "Number of classes", text(), "N");
  add("skew", "0: degrees are alike; up to 0.95: few hubs have most edges", text(), "X");
  add("homophily", "Share of edges drawn within a class", text(), "X");
  add("split", "Percent of train/val/test nodes: 60/20/20", text(), "A/B/C");
  add("seed", "Another seed is another graph", text(), "N");
  add("h,help", "Print this help");
  add("file", "", text());
  options.parse_positional("file");
  return options;
}

// Replaces `value` where the option is given.
template <class T>
void read(const cxxopts::ParseResult& parsed, const std::string& option, T& value) {
  if (parsed.count(option) == 0) return;
  const std::string given = parsed[option].as<std::string>();
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  check(error == std::errc{} && end == given.data() + given.size(), "--", option, " must be ",
        std::is_floating_point_v<T> ? "a number" : "an integer", ", got '", given, "'");
}

void generate(int argc, const char* const* argv) {
  cxxopts::Options description = generate_options();
  const cxxopts::ParseResult parsed = description.parse(argc, argv);
  if (parsed.count("help") > 0) return fmt::print("{}", description.help());
  check(parsed.unmatched().empty(), "generate takes one FILE; see generate --help");
  check(parsed.count("file") == 1, "generate needs the FILE to write; see generate --help");

  SyntheticOptions options = synthetic_preset(parsed["preset"].as<std::string>());
  read(parsed, "nodes", options.nodes);
  read(parsed, "edges", options.edges);
  read(parsed, "features", options.features);
  read(parsed, "classes", options.classes);
  read(parsed, "skew", options.skew);
  read(parsed, "homophily", options.homophily);
  read(parsed, "seed", options.seed);
  if (parsed.count("split") > 0) options.split = parsed["split"].as<std::string>();

  const std::string path = parsed["file"].as<std::string>();
  const Dataset dataset = synthesize(options);
  save_dataset(dataset, path);
  fmt::print("{}: {}, {} nodes, {} edges, {} features, {} classes, split {}/{}/{}\n", path, dataset.name,
             dataset.num_nodes, dataset.num_edges(), dataset.num_features, dataset.num_classes,
             dataset.split.train.numel(), dataset.split.val.numel(), dataset.split.test.numel());
}

void run(int argc, const char* const* argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "--help" || command == "-h") return fmt::print("{}", kUsage);
  if (command == "--version") return fmt::print("rodeo_data {} ({})\n", RODEO_VERSION, RODEO_COMMIT);
  check(!command.empty(), "a command is required: generate; see --help");
  check(command == "generate", "unknown command '", command, "': the only one is generate; see --help");
  generate(argc - 1, argv + 1);
}

}  // namespace
}  // namespace rodeo

int main(int argc, char** argv) {
  try {
    rodeo::run(argc, argv);
    return 0;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "rodeo_data: out of host memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "rodeo_data: {}\n", error.what());
  }
  return 2;
}
