// Sizes, skews and splits of well-known graphs.
#include <utility>
#include <vector>

#include "datasets/synthetic.h"

namespace rodeo {
namespace {

const std::vector<SyntheticOptions>& presets() {
  static const std::vector<SyntheticOptions> all{
      {.name = "cora", .words = 18},
      {.name = "pubmed", .nodes = 19717, .edges = 88648, .features = 500, .classes = 3, .skew = 0.4},
      {.name = "arxiv",
       .nodes = 169343,
       .edges = 2315598,
       .features = 128,
       .classes = 40,
       .skew = 0.65,
       .homophily = 0.65,
       .split = "54/18/28"},
      {.name = "reddit",
       .nodes = 232965,
       .edges = 114615892,
       .features = 602,
       .classes = 41,
       .skew = 0.4,
       .homophily = 0.78,
       .split = "66/10/24"},
      {.name = "products",
       .nodes = 2449029,
       .edges = 123718280,
       .features = 100,
       .classes = 47,
       .skew = 0.44,
       .homophily = 0.81,
       .split = "8/2/90"},
  };
  return all;
}

}  // namespace

std::string synthetic_preset_names() {
  std::string names;
  for (const SyntheticOptions& preset : presets()) names += (names.empty() ? "" : ", ") + preset.name;
  return names;
}

bool parse_shuffle(std::string_view text) {
  check(text == "shuffled" || text == "community", "--node-order must be shuffled or community, got '", text,
        "'");
  return text == "shuffled";
}

SyntheticOptions synthetic_preset(std::string_view name) {
  for (SyntheticOptions preset : presets())
    if (std::exchange(preset.name, preset.name + "-like") == name) return preset;
  fail("preset must be one of ", synthetic_preset_names(), ", got '", name, "'");
}

}  // namespace rodeo
