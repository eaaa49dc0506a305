#include "datasets/synthetic_hetero.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "core/text.h"

namespace rodeo {
namespace {

struct TypeSize {
  const char* name;
  std::int64_t nodes;
  bool features;
};
struct RelationSize {
  const char* name;
  int source, target;  // indices of types
  std::int64_t edges;
};
struct Preset {
  std::string_view name;
  std::vector<TypeSize> types;  // the first is the target
  std::vector<RelationSize> relations;
  std::int64_t features, classes;
  double train, val;  // fractions of the target's nodes
};

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all{
      {"mag",
       {{"paper", 736389, true},
        {"author", 1134649, false},
        {"institution", 8740, false},
        {"field_of_study", 59965, false}},
       {{"affiliated_with", 1, 2, 1043998},
        {"writes", 1, 0, 7145660},
        {"cites", 0, 0, 5416271},
        {"has_topic", 0, 3, 7505078}},
       128,
       349,
       0.855,
       0.088},
      {"igbh-tiny",
       {{"paper", 100000, true}, {"author", 357041, true}, {"institute", 8738, true}, {"fos", 84220, true}},
       {{"cites", 0, 0, 447416},
        {"written_by", 0, 1, 455985},
        {"affiliated_to", 1, 2, 325409},
        {"topic", 0, 3, 718445}},
       1024,
       19,
       0.6,
       0.2},
      {"igbh-small",
       {{"paper", 1000000, true},
        {"author", 1926066, true},
        {"institute", 14751, true},
        {"fos", 190449, true}},
       {{"cites", 0, 0, 12070502},
        {"written_by", 0, 1, 4553516},
        {"affiliated_to", 1, 2, 1630476},
        {"topic", 0, 3, 7234122}},
       1024,
       19,
       0.6,
       0.2},
  };
  return all;
}

const Preset* find(std::string_view name) {
  for (const Preset& preset : presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

// Random streams: features and means of type i are kMeans + i, edges of relation i kEdges + i.
enum Stream : std::uint64_t { kMeans = 0x68657400, kNoise = 0x68657410, kEdges = 0x68658000 };

/// At most 1 - 2^-32. So its product with a count below 2^31 is below that count, also in double precision.
double unit(std::uint32_t word) {
  return word * 0x1p-32;
}

/// Nodes are in rounds of one node of each class, so that class c has the nodes c, c + classes, ...
std::int64_t class_of(std::int64_t node, std::int64_t classes) {
  return node % classes;
}

/// A node of `count`. Of few nodes many are drawn: the density falls with the node's rank in an order that
/// spreads ranks over the ids. With `same`, one of class `community` where there is one.
std::int64_t draw(double u, std::int64_t count, std::int64_t classes, std::int64_t community, bool same) {
  constexpr double kSkew = 1.6;  // rank r of n is drawn with a density that falls as (r / n)^(1 / skew - 1)
  const double skewed = std::pow(u, kSkew);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(skewed * static_cast<double>(n));
  };
  if (!same || community >= count) {
    const std::int64_t rank = below(count);
    // A multiplication by a number without a common factor is a permutation of the ids.
    std::int64_t factor = count / 2 + 1;
    while (std::gcd(factor, count) != 1) ++factor;
    return static_cast<std::int64_t>(static_cast<unsigned __int128>(rank) *
                                     static_cast<unsigned __int128>(factor) %
                                     static_cast<unsigned __int128>(count));
  }
  const std::int64_t members = (count - community + classes - 1) / classes;
  return community + classes * below(members);
}

void add_edges(HeteroDataset& out, const RelationSize& size, std::int64_t edges, std::int64_t classes,
               std::uint64_t seed) {
  const std::int64_t sources = out.types[static_cast<std::size_t>(size.source)].num_nodes,
                     targets = out.types[static_cast<std::size_t>(size.target)].num_nodes;
  const Tensor src = Tensor::empty({edges}, DType::kI32), dst = Tensor::empty({edges}, DType::kI32);
  auto *from = src.data<std::int32_t>(), *to = dst.data<std::int32_t>();
  const std::uint64_t stream = kEdges + out.relations.size();
  constexpr double kHomophily = 0.7;  // fraction of edges within a class
#pragma omp parallel for schedule(static)
  for (std::int64_t e = 0; e < edges; ++e) {
    const Philox4 random = philox(seed, stream, static_cast<std::uint64_t>(e));
    const auto source = static_cast<std::int64_t>(unit(random.word[0]) * static_cast<double>(sources));
    from[e] = static_cast<std::int32_t>(source);
    to[e] = static_cast<std::int32_t>(draw(unit(random.word[1]), targets, classes, class_of(source, classes),
                                           unit(random.word[2]) < kHomophily));
  }
  out.relations.push_back({size.name, size.source, size.target, src, dst});
}

Tensor make_features(std::int64_t nodes, std::int64_t features, std::int64_t classes, std::size_t type,
                     std::uint64_t seed) {
  constexpr float kSignal = 0.25f;  // deviation of the means of classes, where that of the noise is 1
  const float range = std::sqrt(12.0f) / 2;
  const Tensor x = Tensor::empty({nodes, features});
  float* out = x.data<float>();
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < nodes; ++i)
    for (std::int64_t f = 0; f < features; ++f) {
      const auto at = static_cast<std::uint64_t>(i * features + f),
                 mean = static_cast<std::uint64_t>(class_of(i, classes) * features + f);
      out[at] = uniform_between(-range, range, random_word(seed, kNoise + type, at)) +
                kSignal * uniform_between(-range, range, random_word(seed, kMeans + type, mean));
    }
  return x;
}

}  // namespace

bool is_hetero_preset(std::string_view name) {
  return find(name) != nullptr;
}

std::string hetero_preset_names() {
  return join(presets(), ", ", &Preset::name);
}

std::int64_t hetero_preset_nodes(std::string_view name) {
  const Preset* preset = find(name);
  check(preset != nullptr, "preset must be one of ", hetero_preset_names(), ", got '", name, "'");
  std::int64_t nodes = 0;
  for (const TypeSize& type : preset->types) nodes += type.nodes;
  return nodes;
}

HeteroDataset synthesize_hetero(const HeteroOptions& options) {
  const std::int64_t all = hetero_preset_nodes(options.preset);
  const Preset* preset = find(options.preset);
  const std::int64_t nodes = options.nodes < 0 ? all : options.nodes,
                     features = options.features < 0 ? preset->features : options.features,
                     classes = options.classes < 0 ? preset->classes : options.classes;
  constexpr std::int64_t kFewest = 100;
  check(nodes >= kFewest && nodes <= 100 * all, "--nodes must be in [", kFewest, ", ", 100 * all, "], got ",
        nodes);
  check(features >= 1 && features <= 1 << 16, "--features must be in [1, 65536], got ", features);
  const double scale = static_cast<double>(nodes) / static_cast<double>(all);
  const auto scaled = [&](std::int64_t count) {
    return std::max<std::int64_t>(std::llround(scale * static_cast<double>(count)), 1);
  };
  HeteroDataset out;
  out.name = std::string(preset->name) + "-like";
  out.target = 0;
  for (const TypeSize& size : preset->types) {
    Dataset& type = out.types.emplace_back();
    type.name = size.name;
    type.num_nodes = scaled(size.nodes);
  }
  Dataset& target = out.types[0];
  check(classes >= 1 && classes <= target.num_nodes, "--classes must be in [1, ", target.num_nodes, "], got ",
        classes, options.classes < 0 ? ": give fewer with so few nodes" : "");
  for (std::size_t i = 0; i < out.types.size(); ++i) {
    Dataset& type = out.types[i];
    if (!preset->types[i].features && !options.all_features) continue;
    type.num_features = features;
    type.x = make_features(type.num_nodes, features, classes, i, options.seed);
  }
  std::vector<std::int64_t> y(static_cast<std::size_t>(target.num_nodes));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = class_of(static_cast<std::int64_t>(i), classes);
  target.y = Tensor::from(y);
  target.num_classes = classes;
  target.split = random_split(
      target.y,
      str(preset->train, "/", preset->val, "/", std::round((1 - preset->train - preset->val) * 1000) / 1000),
      options.seed);
  for (const RelationSize& size : preset->relations)
    add_edges(out, size, scaled(size.edges), classes, options.seed);
  return out;
}

}  // namespace rodeo
