/// rodeo_gradcheck --layer NAME --dataset FILE: compares the gradients of a layer with central differences.
#include <fmt/format.h>

#include <cxxopts.hpp>

#include "core/host/least_limits.h"
#include "core/host/terminal.h"
#include "core/threads.h"
#include "datasets/hdf5_check.h"
#include "train/commands/arguments.h"
#include "train/commands/check_layers.h"
#include "train/commands/run_command.h"
#include "train/task/option_value.h"

namespace rodeo {
namespace {

cxxopts::Options describe_options() {
  cxxopts::Options options(
      "rodeo_gradcheck",
      "Compares the gradients of a layer with central differences, in float64, on a small subgraph.\n"
      "Exit code 0: all agree, 1: some do not, 2: an error.\n");
  options.set_width(static_cast<std::size_t>(help_width()))
      .custom_help("--layer NAME --dataset FILE [options]")
      .allow_unrecognised_options();
  const auto text = [](const std::string& value) {
    return cxxopts::value<std::string>()->default_value(value);
  };
  auto add = options.add_options();
  add("layer", "all, or one of " + layer_names() + " (required)", cxxopts::value<std::string>(), "NAME");
  add("dataset", "HDF5 file with the graph (required)", cxxopts::value<std::string>(), "FILE");
  add("nodes", "Nodes of the subgraph, around a random node", text("30"), "N");
  add("out", "Output columns of the layer, per head", text("4"), "N");
  add("elements", "Elements checked per input and parameter, picked at random; 0: all", text("100"), "N");
  add("device", "auto, cpu, cuda or cuda:i", text("auto"), "NAME");
  add("seed", "Seed of the subgraph, the parameters and the elements", text("0"), "N");
  add("h,help", "Print this help");
  add("version", "Print the version");
  return options;
}

std::string text(const cxxopts::ParseResult& parsed, const std::string& option) {
  check(parsed.count(option) > 0 || parsed[option].has_default(), "--", option, " is required; see --help");
  const auto& value = parsed[option].as<std::string>();
  check_option_has_value(option, value);
  return value;
}

template <class T>
T integer(const cxxopts::ParseResult& parsed, const std::string& option, T lowest) {
  return parse_option_integer<T>(option, text(parsed, option), lowest);
}

// Whether all gradients agree.
bool check_layers(const cxxopts::ParseResult& parsed) {
  for (const std::string& stray : parsed.unmatched())
    fail(stray.starts_with("-") ? "unknown option '" : "unexpected argument '", stray, "'; see --help");
  const std::string layer = text(parsed, "layer"), path = text(parsed, "dataset");
  if (layer != "all") find_layer(layer);
  const CheckLayerOptions options{.nodes = integer<std::int64_t>(parsed, "nodes", 1),
                                  .out = integer<std::int64_t>(parsed, "out", 1),
                                  .max_elements = integer<std::int64_t>(parsed, "elements", 0),
                                  .seed = integer<std::uint64_t>(parsed, "seed", 0)};
  const Device device = parse_device(text(parsed, "device"));
  check_hdf5_file(path);
  const LayerTask task = make_layer_task(load_dataset(path), device, options);
  const GradcheckOptions tolerances;
  fmt::print(
      "{}: {} nodes, {} edges, {} features, float64 on {}; passes: |analytic - numeric| <= {} + {} "
      "|numeric|\n",
      path, task.graph.adj.rows(), task.graph.adj.num_edges(), task.in(), str(device), tolerances.atol,
      tolerances.rtol);
  bool ok = true;
  for (const LayerEntry& entry : layer_table()) {
    if (layer != "all" && layer != entry.name) continue;
    const GradcheckResult result = check_layer(entry, task, options);
    fmt::print("\n{}\n{}", entry.name, str(result));
    ok &= result.ok;
  }
  return ok;
}

bool run(int argc, const char* const* argv) {
  cxxopts::Options description = describe_options();
  const cxxopts::ParseResult parsed = Arguments{{argv, argv + argc}}.parse(description);
  if (parsed.count("help") > 0)
    fmt::print("{}", description.help());
  else if (parsed.count("version") > 0)
    fmt::print("{}", version_line("rodeo_gradcheck"));
  else
    return check_layers(parsed);
  return true;
}

}  // namespace
}  // namespace rodeo

int main(int argc, char** argv) {
  rodeo::configure_threads(argv);
  bool ok = false;
  const int code = rodeo::run_command("rodeo_gradcheck", [&] { ok = rodeo::run(argc, argv); });
  return code == 0 && !ok ? 1 : code;
}
