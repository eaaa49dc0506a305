// Sizes, skews and splits of well-known graphs.
#include <algorithm>
#include <charconv>
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

using Pattern = SyntheticOptions::Pattern;

/// "16M" is 16,000,000. 0 for what is no such number.
std::int64_t parse_count(std::string_view text) {
  std::int64_t count = 0, unit = 1;
  if (text.ends_with('K')) unit = 1000;
  if (text.ends_with('M')) unit = 1000000;
  if (text.ends_with('G')) unit = 1000000000;
  if (unit > 1) text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && count > 0 && count <= (std::int64_t{1} << 40) / unit ? count * unit : 0;
}

/// Fills nodes, edges and pattern from the parts of a name; false if they name no pattern.
bool parse_pattern(std::string_view kind, std::string_view first, std::string_view second,
                   SyntheticOptions& out) {
  const std::int64_t a = parse_count(first), b = parse_count(second);
  constexpr std::int64_t kMaxScale = 30, kMaxSide = 40000;
  if (a == 0 || b == 0) return false;
  out.homophily = 0;
  if (kind == "rmat" && a <= kMaxScale) {
    out.pattern = Pattern::kRmat;
    out.nodes = std::int64_t{1} << a, out.edges = b;
  } else if (kind == "uniform" && a <= 1 << 30 && b <= 1 << 20) {
    out.nodes = a, out.edges = a * b, out.skew = 0;
  } else if (kind == "powerlaw") {
    out.nodes = a, out.edges = b, out.skew = 0.6;
  } else if (kind == "grid" && (a == 5 || a == 7 || a == 27) && b <= (a == 5 ? kMaxSide : 1200)) {
    out.pattern = a == 5 ? Pattern::kGrid5 : a == 7 ? Pattern::kGrid7 : Pattern::kGrid27;
    out.nodes = a == 5 ? b * b : b * b * b;
    out.edges = grid_edges(out.pattern, out.nodes);
    out.shuffle = false;
  } else {
    return false;
  }
  out.classes = std::min(out.classes, out.nodes);
  return true;
}

}  // namespace

std::string synthetic_preset_names() {
  std::string names;
  for (const SyntheticOptions& preset : presets()) names += preset.name + ", ";
  return names +
         "rmat-SCALE-EDGES, uniform-NODES-DEGREE, powerlaw-NODES-EDGES, grid-5-SIDE, grid-7-SIDE, "
         "grid-27-SIDE";
}

bool parse_shuffle(std::string_view text) {
  check(text == "shuffled" || text == "community", "--node-order must be shuffled or community, got '", text,
        "'");
  return text == "shuffled";
}

SyntheticOptions synthetic_preset(std::string_view name) {
  for (SyntheticOptions preset : presets())
    if (std::exchange(preset.name, preset.name + "-like") == name) return preset;
  SyntheticOptions pattern{.name = std::string(name), .features = 64, .classes = 16, .split = "60/20/20"};
  const auto dash = name.find('-'), next = dash == name.npos ? dash : name.find('-', dash + 1);
  if (next != name.npos && parse_pattern(name.substr(0, dash), name.substr(dash + 1, next - dash - 1),
                                         name.substr(next + 1), pattern))
    return pattern;
  fail("preset must be one of ", synthetic_preset_names(), ", got '", name, "'");
}

}  // namespace rodeo
