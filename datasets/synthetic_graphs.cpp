#include "datasets/synthetic_graphs.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/random.h"

namespace rodeo {
namespace {

using Edges = std::set<std::pair<std::int32_t, std::int32_t>>;  // smaller node first

/// The random numbers of one graph.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t graph) : seed_(seed), graph_(graph) {}
  std::int32_t below(std::int64_t n) {
    return static_cast<std::int32_t>(
        (std::uint64_t{random_word(seed_, graph_, next_++)} * static_cast<std::uint64_t>(n)) >> 32);
  }

 private:
  std::uint64_t seed_, graph_, next_ = 0;
};

void add(Edges& edges, std::int32_t a, std::int32_t b) {
  if (a != b) edges.emplace(std::min(a, b), std::max(a, b));
}

Edges small_world(std::int32_t n, Draws& draws) {
  Edges edges;
  for (std::int32_t i = 0; i < n; ++i)
    for (const std::int32_t step : {1, 2}) {
      const bool moved = draws.below(10) == 0;
      add(edges, i, moved ? draws.below(n) : (i + step) % n);
    }
  return edges;
}

Edges uniform_pairs(std::int32_t n, Draws& draws) {
  Edges edges;
  while (static_cast<std::int32_t>(edges.size()) < 2 * n - 3) add(edges, draws.below(n), draws.below(n));
  return edges;
}

Edges preferential(std::int32_t n, Draws& draws) {
  Edges edges;
  std::vector<std::int32_t> ends = {0, 1};  // a node as often as it has edges
  add(edges, 0, 1);
  for (std::int32_t i = 2; i < n; ++i)
    for (int k = 0; k < 2; ++k) {
      const std::int32_t to =
          ends[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(ends.size())))];
      add(edges, i, to);
      ends.insert(ends.end(), {i, to});
    }
  return edges;
}

}  // namespace

Dataset synthesize_graphs(const GraphSetOptions& o) {
  check(o.graphs >= 1, "[synthesize_graphs] graphs must be at least 1, got ", o.graphs);
  check(o.classes == 2 || o.classes == 3, "[synthesize_graphs] classes must be 2 or 3, got ", o.classes);
  check(o.min_nodes >= 6 && o.max_nodes >= o.min_nodes && o.max_nodes <= 1'000'000,
        "[synthesize_graphs] nodes must be from 6 to 1000000, got ", o.min_nodes, " to ", o.max_nodes);
  check(o.features >= 1, "[synthesize_graphs] features must be at least 1, got ", o.features);
  std::vector<std::int32_t> src, dst;
  std::vector<std::int64_t> ptr{0}, label;
  std::vector<float> x;
  for (std::int64_t g = 0; g < o.graphs; ++g) {
    Draws draws(o.seed, static_cast<std::uint64_t>(g));
    const auto n = static_cast<std::int32_t>(o.min_nodes) + draws.below(o.max_nodes - o.min_nodes + 1);
    const std::int64_t c = g % o.classes;
    const Edges edges = c == 0   ? small_world(n, draws)
                        : c == 1 ? uniform_pairs(n, draws)
                                 : preferential(n, draws);
    const auto first = static_cast<std::int32_t>(ptr.back());
    for (const auto& [a, b] : edges) {
      src.insert(src.end(), {first + a, first + b});
      dst.insert(dst.end(), {first + b, first + a});
    }
    for (std::int32_t i = 0; i < n; ++i) {
      x.resize(x.size() + static_cast<std::size_t>(o.features));
      x[x.size() - 1 - static_cast<std::size_t>(draws.below(o.features))] = 1;
    }
    ptr.push_back(first + n);
    label.push_back(c);
  }
  check(ptr.back() < (std::int64_t{1} << 31), "[synthesize_graphs] at most 2^31 - 1 nodes, got ", ptr.back());
  Dataset out;
  out.name = o.name;
  out.num_nodes = ptr.back();
  out.num_features = o.features;
  out.num_classes = o.classes;
  out.src = Tensor::from(src);
  out.dst = Tensor::from(dst);
  out.x = Tensor::from(x, {out.num_nodes, o.features});
  out.graph_ptr = Tensor::from(ptr);
  out.graph_label = Tensor::from(label);
  return out;
}

}  // namespace rodeo
