#include "bench/hetero_graph.h"

#include <algorithm>
#include <cstdlib>

#include "datasets/synthetic_hetero.h"

namespace rodeo::bench {

bool is_hetero_graph(std::string_view name) {
  return is_hetero_preset(name.substr(0, name.find('/')));
}

HeteroDataset draw_hetero_graph(const std::string& name) {
  const std::size_t slash = name.find('/');
  HeteroOptions options{.preset = name.substr(0, slash), .all_features = true};
  if (slash != std::string::npos) {
    const std::string part = name.substr(slash + 1);
    const std::int64_t divisor = std::atoll(part.c_str());
    check(divisor >= 1, "--graph ", options.preset, "/N: N must be a number of at least 1, got '", part, "'");
    options.nodes = std::max<std::int64_t>(hetero_preset_nodes(options.preset) / divisor, 100);
    options.classes = std::min<std::int64_t>(16, options.nodes / 10);
  }
  HeteroDataset out = synthesize_hetero(options);
  if (slash != std::string::npos) out.name += name.substr(slash);
  return out;
}

}  // namespace rodeo::bench
