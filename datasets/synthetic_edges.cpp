// The edges of synthetic graphs. They are drawn on the host by all threads, and sorted where the caller says.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "core/random.h"
#include "datasets/synthetic.h"

namespace rodeo {
namespace {

// Random streams: one for each kind of draw.
enum Stream : std::uint64_t { kOrder = 0x73796e74, kEdges };

using Pattern = SyntheticOptions::Pattern;

double unit(std::uint32_t word) {
  return word * 0x1p-32;
}

/// Uniform in [0, count), count at most 2^32.
std::int64_t below(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>((word * static_cast<std::uint64_t>(count)) >> 32);
}

int log2_of(std::int64_t nodes) {
  int scale = 0;
  while ((std::int64_t{1} << scale) < nodes) ++scale;
  return scale;
}

/// Nodes by rank. With communities, rank 0 is the largest hub, and rank r is in community r mod classes, so
/// that each community has hubs. R-MAT and grids have communities of consecutive ranks.
class Population {
 public:
  explicit Population(const SyntheticOptions& o)
      : nodes_(o.nodes),
        classes_(o.classes),
        power_(1 / (1 - o.skew)),
        interleaved_(o.pattern == Pattern::kCommunities) {
    id_.resize(static_cast<std::size_t>(nodes_));
    if (interleaved_) {
      for (std::int64_t c = 0, next = 0; c < classes_; ++c)
        for (std::int64_t rank = c; rank < nodes_; rank += classes_)
          id_[rank] = static_cast<std::int32_t>(next++);
    } else {
      for (std::int64_t rank = 0; rank < nodes_; ++rank) id_[rank] = static_cast<std::int32_t>(rank);
    }
    for (std::int64_t i = nodes_ - 1; o.shuffle && i > 0; --i)  // Fisher-Yates
      std::swap(id_[i], id_[below(random_word(o.seed, kOrder, static_cast<std::uint64_t>(i)), i + 1)]);
  }

  std::int32_t id(std::int64_t rank) const { return id_[rank]; }
  std::int64_t community(std::int64_t rank) const {
    return interleaved_ ? rank % classes_ : rank * classes_ / nodes_;
  }

  /// Draws a rank with weight r^-skew by the inverse of its distribution function, which is a power.
  std::int64_t draw(std::uint32_t word) const { return draw_rank(word, nodes_); }
  std::int64_t draw_within(std::int64_t community, std::uint32_t word) const {
    return community + classes_ * draw_rank(word, (nodes_ - community + classes_ - 1) / classes_);
  }

 private:
  std::int64_t draw_rank(std::uint32_t word, std::int64_t count) const {
    const double u = (word + 0.5) * 0x1p-32;
    return std::min(static_cast<std::int64_t>(std::pow(u, power_) * static_cast<double>(count)), count - 1);
  }

  std::int64_t nodes_, classes_;
  double power_;
  bool interleaved_;
  std::vector<std::int32_t> id_;
};

using Ends = std::pair<std::int64_t, std::int64_t>;  // ranks

Ends draw_between_communities(const SyntheticOptions& o, const Population& population, std::int64_t i) {
  const Philox4 random = philox(o.seed, kEdges, static_cast<std::uint64_t>(i));
  // The first draws start at each node in turn, so that every node has an edge.
  const std::int64_t u = i < o.nodes ? i : population.draw(random.word[0]);
  const bool alike = unit(random.word[2]) < o.homophily;
  return {u, alike ? population.draw_within(population.community(u), random.word[1])
                   : population.draw(random.word[1])};
}

/// One level takes 16 bits: eight levels share a Philox call.
Ends draw_rmat(const SyntheticOptions& o, int scale, std::int64_t i) {
  constexpr auto kA = static_cast<std::uint32_t>(0.57 * 65536), kB = static_cast<std::uint32_t>(0.76 * 65536),
                 kC = static_cast<std::uint32_t>(0.95 * 65536);
  const int calls = (scale + 7) / 8;
  std::int64_t u = 0, v = 0;
  for (int call = 0, level = 0; call < calls; ++call) {
    const Philox4 random = philox(o.seed, kEdges, static_cast<std::uint64_t>(i * calls + call));
    for (int half = 0; half < 8 && level < scale; ++half, ++level) {
      const std::uint32_t bits = random.word[half / 2] >> (half % 2 * 16) & 0xffff;
      u = 2 * u + (bits >= kB ? 1 : 0);
      v = 2 * v + ((bits >= kA && bits < kB) || bits >= kC ? 1 : 0);
    }
  }
  return {u, v};
}

struct Pairs {
  Tensor low, high;  // i32 [pairs], low < high
  std::int64_t count() const { return low.numel(); }
};

/// Appends draws [begin, begin + count) to `known`.
Pairs draw_pairs(const SyntheticOptions& o, const Population& population, const Pairs& known,
                 std::int64_t begin, std::int64_t count) {
  const std::int64_t kept = known.low.defined() ? known.count() : 0;
  const Pairs all{Tensor::empty({kept + count}, DType::kI32), Tensor::empty({kept + count}, DType::kI32)};
  if (kept > 0) {
    all.low.slice(0, kept).copy_from(known.low);
    all.high.slice(0, kept).copy_from(known.high);
  }
  auto *low = all.low.data<std::int32_t>() + kept, *high = all.high.data<std::int32_t>() + kept;
  const int scale = log2_of(o.nodes);
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) {
    const auto [u, v] = o.pattern == Pattern::kRmat ? draw_rmat(o, scale, begin + i)
                                                    : draw_between_communities(o, population, begin + i);
    std::tie(low[i], high[i]) = std::minmax({population.id(u), population.id(v)});
  }
  return all;
}

/// Selects exactly `count` pairs at even distances, so that all nodes lose the same fraction of edges.
Pairs thin_out(const Pairs& pairs, std::int64_t count) {
  const std::int64_t total = pairs.count();
  const Pairs out{Tensor::empty({count}, DType::kI32), Tensor::empty({count}, DType::kI32)};
  const auto *low = pairs.low.data<std::int32_t>(), *high = pairs.high.data<std::int32_t>();
  auto *out_low = out.low.data<std::int32_t>(), *out_high = out.high.data<std::int32_t>();
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = static_cast<std::int64_t>(static_cast<double>(i) * static_cast<double>(total) / count);
    out_low[i] = low[from], out_high[i] = high[from];
  }
  return out;
}

/// Draws until there are `count` distinct pairs. Pairs of hubs repeat, so later rounds draw more pairs than
/// are missing.
Pairs distinct_pairs(const SyntheticOptions& o, const Population& population, std::int64_t count,
                     Device sort_on) {
  constexpr int kMaxRounds = 16;
  Pairs pairs{Tensor::empty({0}, DType::kI32), Tensor::empty({0}, DType::kI32)};
  std::int64_t drawn = 0;
  for (int round = 0; round < kMaxRounds && pairs.count() < count; ++round) {
    const std::int64_t draws = (count - pairs.count()) * (1 + round) + 16;
    pairs = draw_pairs(o, population, pairs, drawn, draws);
    drawn += draws;
    const Adjacency unique = coo_to_csr(pairs.low.to(sort_on), pairs.high.to(sort_on), o.nodes, o.nodes,
                                        {.drop_duplicates = true, .self_loops = SelfLoops::kDrop})
                                 .adj;
    pairs = {edge_rows(unique).to(kCpu), unique.csr().col.to(kCpu)};
  }
  check(pairs.count() >= count, "[synthesize] ", o.edges, " edges are too many for ", o.nodes,
        " nodes with skew ", o.skew, " and homophily ", o.homophily);
  return thin_out(pairs, count);
}

/// The side of a grid of `nodes` nodes in that many dimensions, or 0 if there is none.
std::int64_t side_of(std::int64_t nodes, int dimensions) {
  const auto side = static_cast<std::int64_t>(std::llround(std::pow(nodes, 1.0 / dimensions)));
  return (dimensions == 2 ? side * side : side * side * side) == nodes ? side : 0;
}

/// The graph of a stencil, by rank. A node's neighbours are in ascending order and include the node itself.
Csr stencil(const SyntheticOptions& o) {
  const int dimensions = o.pattern == Pattern::kGrid5 ? 2 : 3, reach = dimensions == 3 ? 1 : 0;
  const std::int64_t side = side_of(o.nodes, dimensions);
  const bool diagonals = o.pattern == Pattern::kGrid27;
  // Calls f(neighbour) for each neighbour of node i.
  const auto each = [&](std::int64_t i, auto&& f) {
    const std::int64_t x = i % side, y = i / side % side, z = i / side / side;
    for (int dz = -reach; dz <= reach; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const std::array<std::int64_t, 3> at{x + dx, y + dy, z + dz};
          const bool inside =
              std::all_of(at.begin(), at.end(), [&](std::int64_t c) { return c >= 0 && c < side; });
          if (inside && (diagonals || std::abs(dx) + std::abs(dy) + std::abs(dz) <= 1))
            f((at[2] * side + at[1]) * side + at[0]);
        }
  };
  Csr csr{o.nodes, o.nodes, Tensor::zeros({o.nodes + 1}, DType::kI64), {}};
  auto* row_ptr = csr.row_ptr.data<std::int64_t>();
#pragma omp parallel for
  for (std::int64_t i = 0; i < o.nodes; ++i) each(i, [&](std::int64_t) { ++row_ptr[i + 1]; });
  for (std::int64_t i = 0; i < o.nodes; ++i) row_ptr[i + 1] += row_ptr[i];
  csr.col = Tensor::empty({row_ptr[o.nodes]}, DType::kI32);
  auto* col = csr.col.data<std::int32_t>();
#pragma omp parallel for
  for (std::int64_t i = 0; i < o.nodes; ++i) {
    std::int64_t at = row_ptr[i];
    each(i, [&](std::int64_t neighbour) { col[at++] = static_cast<std::int32_t>(neighbour); });
  }
  return csr;
}

Adjacency grid(const SyntheticOptions& o, const Population& population, Device sort_on) {
  const Adjacency by_rank = Adjacency::trusted(stencil(o));
  if (!o.shuffle) return by_rank.to(sort_on);
  const EdgeList edges = csr_to_coo(by_rank);
  const auto rename = [&](const Tensor& ranks) {
    const Tensor ids = Tensor::empty(ranks.shape(), DType::kI32);
    const auto* rank = ranks.data<std::int32_t>();
    auto* id = ids.data<std::int32_t>();
#pragma omp parallel for
    for (std::int64_t e = 0; e < ids.numel(); ++e) id[e] = population.id(rank[e]);
    return ids.to(sort_on);
  };
  return coo_to_csr(rename(edges.row), rename(edges.col), o.nodes, o.nodes).adj;
}

void check_graph(const SyntheticOptions& o) {
  const auto in = [](std::string_view what, auto value, auto low, auto high) {
    check(value >= low && value <= high, "[synthesize] ", what, " must be in [", low, ", ", high, "], got ",
          value);
  };
  in("nodes", o.nodes, 1, std::numeric_limits<std::int32_t>::max());
  in("classes", o.classes, 1, o.nodes);
  if (is_grid(o.pattern)) {
    const std::int64_t edges = grid_edges(o.pattern, o.nodes);
    check(edges > 0, "[synthesize] a grid needs side^", o.pattern == Pattern::kGrid5 ? 2 : 3, " nodes, got ",
          o.nodes);
    check(o.edges == edges, "[synthesize] this grid of ", o.nodes, " nodes has ", edges, " edges, got ",
          o.edges);
    return;
  }
  in("edges", o.edges, 0, o.nodes * (o.nodes - 1));
  in("skew", o.skew, 0, 0.95);
  in("homophily", o.homophily, 0, 1);
  check(o.pattern != Pattern::kRmat || std::int64_t{1} << log2_of(o.nodes) == o.nodes,
        "[synthesize] R-MAT needs a power of two of nodes, got ", o.nodes);
}

}  // namespace

bool is_grid(SyntheticOptions::Pattern pattern) {
  return pattern == Pattern::kGrid5 || pattern == Pattern::kGrid7 || pattern == Pattern::kGrid27;
}

std::int64_t grid_edges(SyntheticOptions::Pattern pattern, std::int64_t nodes) {
  const std::int64_t side = side_of(nodes, pattern == Pattern::kGrid5 ? 2 : 3), line = 3 * side - 2;
  if (side == 0) return 0;
  if (pattern == Pattern::kGrid5) return side * side + 4 * side * (side - 1);
  if (pattern == Pattern::kGrid7) return nodes + 6 * side * side * (side - 1);
  return line * line * line;
}

std::vector<std::int32_t> synthetic_communities(const SyntheticOptions& options) {
  check_graph(options);
  const Population population(options);
  std::vector<std::int32_t> community(static_cast<std::size_t>(options.nodes));
  for (std::int64_t rank = 0; rank < options.nodes; ++rank)
    community[population.id(rank)] = static_cast<std::int32_t>(population.community(rank));
  return community;
}

Adjacency synthetic_graph(const SyntheticOptions& options, Device device) {
  check_graph(options);
  const Population population(options);
  if (is_grid(options.pattern)) return grid(options, population, device);
  const Pairs pairs = distinct_pairs(options, population, options.edges / 2, device);
  return coo_to_csr(pairs.low.to(device), pairs.high.to(device), options.nodes, options.nodes,
                    {.symmetrize = true})
      .adj;
}

}  // namespace rodeo
