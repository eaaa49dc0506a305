#include "datasets/synthetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"

namespace rodeo {
namespace {

// Random streams: one for each kind of draw.
enum Stream : std::uint64_t { kOrder = 0x73796e74, kEdges, kLabels, kMeans, kFeatures };

double unit(std::uint32_t word) {
  return word * 0x1p-32;
}

/// Uniform in [0, count), count at most 2^32.
std::int64_t below(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>((word * static_cast<std::uint64_t>(count)) >> 32);
}

/// Nodes by rank; rank 0 is the largest hub. Rank r is in community r mod classes, so that each community has
/// hubs.
class Population {
 public:
  explicit Population(const SyntheticOptions& o)
      : nodes_(o.nodes), classes_(o.classes), power_(1 / (1 - o.skew)) {
    // By community, then by rank; then a Fisher-Yates shuffle.
    id_.resize(static_cast<std::size_t>(nodes_));
    for (std::int64_t c = 0, next = 0; c < classes_; ++c)
      for (std::int64_t rank = c; rank < nodes_; rank += classes_)
        id_[rank] = static_cast<std::int32_t>(next++);
    for (std::int64_t i = nodes_ - 1; o.shuffle && i > 0; --i)
      std::swap(id_[i], id_[below(random_word(o.seed, kOrder, static_cast<std::uint64_t>(i)), i + 1)]);
  }

  std::int32_t id(std::int64_t rank) const { return id_[rank]; }
  std::int64_t community(std::int64_t rank) const { return rank % classes_; }

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
  std::vector<std::int32_t> id_;
};

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
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) {
    const Philox4 random = philox(o.seed, kEdges, static_cast<std::uint64_t>(begin + i));
    // The first draws start at each node in turn, so that every node has an edge.
    const std::int64_t u = begin + i < o.nodes ? begin + i : population.draw(random.word[0]);
    const bool alike = unit(random.word[2]) < o.homophily;
    const std::int64_t v = alike ? population.draw_within(population.community(u), random.word[1])
                                 : population.draw(random.word[1]);
    std::tie(low[i], high[i]) = std::minmax({population.id(u), population.id(v)});
  }
  return all;
}

/// Selects exactly `count` pairs at even distances, so that all nodes lose the same share of edges.
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
Pairs distinct_pairs(const SyntheticOptions& o, const Population& population, std::int64_t count) {
  constexpr int kMaxRounds = 16;
  Pairs pairs{Tensor::empty({0}, DType::kI32), Tensor::empty({0}, DType::kI32)};
  std::int64_t drawn = 0;
  for (int round = 0; round < kMaxRounds && pairs.count() < count; ++round) {
    const std::int64_t draws = (count - pairs.count()) * (1 + round) + 16;
    pairs = draw_pairs(o, population, pairs, drawn, draws);
    drawn += draws;
    const Adjacency unique = coo_to_csr(pairs.low, pairs.high, o.nodes, o.nodes,
                                        {.drop_duplicates = true, .self_loops = SelfLoops::kDrop})
                                 .adj;
    pairs = {edge_rows(unique), unique.csr().col};
  }
  check(pairs.count() >= count, "[synthesize] ", o.edges, " edges are too many for ", o.nodes,
        " nodes with skew ", o.skew, " and homophily ", o.homophily);
  return thin_out(pairs, count);
}

void add_edges(const SyntheticOptions& o, const Population& population, Dataset& out) {
  const Pairs pairs = distinct_pairs(o, population, o.edges / 2);
  const Adjacency adj = coo_to_csr(pairs.low, pairs.high, o.nodes, o.nodes, {.symmetrize = true}).adj;
  out.dst = edge_rows(adj);
  out.src = adj.csr().col;
}

/// Approximately standard normal: the sum of four uniform bytes, normalised.
float normal(std::uint32_t word) {
  constexpr float kMean = 4 * 127.5f, kInverseDeviation = 1 / 147.80f;
  const auto sum = (word & 255) + (word >> 8 & 255) + (word >> 16 & 255) + (word >> 24);
  return (static_cast<float>(sum) - kMean) * kInverseDeviation;
}

/// row[f] = mean[f] + noise; the noise is a function of seed and `index`.
void fill_row(const SyntheticOptions& o, std::int64_t index, const float* mean, float* row) {
  const std::int64_t calls = (o.features + 3) / 4;
  for (std::int64_t call = 0; call < calls; ++call) {
    const Philox4 random = philox(o.seed, kFeatures, static_cast<std::uint64_t>(index * calls + call));
    const std::int64_t begin = 4 * call, end = std::min(begin + 4, o.features);
    for (std::int64_t f = begin; f < end; ++f) row[f] = mean[f] + normal(random.word[f - begin]);
  }
}

/// A bag of words. Word w marks community w mod classes.
void fill_bag(const SyntheticOptions& o, std::int64_t index, std::int64_t community, float* row) {
  std::fill(row, row + o.features, 0.0f);
  for (std::int64_t k = 0; k < o.words; ++k) {
    const Philox4 random = philox(o.seed, kFeatures, static_cast<std::uint64_t>(index * o.words + k));
    const bool typical = unit(random.word[0]) < o.topical;
    const std::int64_t first = typical ? community : 0, step = typical ? o.classes : 1;
    row[first + step * below(random.word[1], (o.features - first + step - 1) / step)] = 1;
  }
}

Tensor make_features(const SyntheticOptions& o, const std::vector<std::int32_t>& community) {
  std::vector<float> means(static_cast<std::size_t>(o.classes * o.features));
  const auto scale = static_cast<float>(o.signal / std::sqrt(2.0 * static_cast<double>(o.features)));
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = scale * normal(random_word(o.seed, kMeans, i));
  const Tensor x = Tensor::empty({o.nodes, o.features});
  float* out = x.data<float>();
#pragma omp parallel for
  for (std::int64_t i = 0; i < o.nodes; ++i) {
    float* row = out + i * o.features;
    if (o.words > 0)
      fill_bag(o, i, community[i], row);
    else
      fill_row(o, i, &means[community[i] * o.features], row);
  }
  return x;
}

Tensor make_labels(const SyntheticOptions& o, const std::vector<std::int32_t>& community) {
  const Tensor y = Tensor::empty({o.nodes}, DType::kI64);
  for (std::int64_t i = 0; i < o.nodes; ++i) {
    const Philox4 random = philox(o.seed, kLabels, static_cast<std::uint64_t>(i));
    y.data<std::int64_t>()[i] =
        unit(random.word[0]) < o.label_noise ? below(random.word[1], o.classes) : community[i];
  }
  return y;
}

void check_options(const SyntheticOptions& o) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  const auto in = [](std::string_view what, auto value, auto low, auto high) {
    check(value >= low && value <= high, "[synthesize] ", what, " must be in [", low, ", ", high, "], got ",
          value);
  };
  in("nodes", o.nodes, 1, kMax);
  in("edges", o.edges, 0, o.nodes * (o.nodes - 1));
  in("features", o.features, 1, kMax);
  in("classes", o.classes, 1, o.nodes);
  in("skew", o.skew, 0, 0.95);
  in("homophily", o.homophily, 0, 1);
  in("label_noise", o.label_noise, 0, 1);
  in("signal", o.signal, 0, 1000);
  in("train_per_class", o.train_per_class, 0, kMax);
  in("val", o.val, 0, kMax);
  in("test", o.test, 0, kMax);
  in("words", o.words, 0, kMax);
  in("topical", o.topical, 0, 1);
  check(o.words == 0 || o.features >= o.classes, "[synthesize] bags of words need a feature for each of ",
        o.classes, " classes, got ", o.features);
}

}  // namespace

Dataset synthesize(const SyntheticOptions& options) {
  check_options(options);
  Dataset out;
  out.name = options.name;
  out.num_nodes = options.nodes;
  out.num_features = options.features;
  out.num_classes = options.classes;
  const Population population(options);
  std::vector<std::int32_t> community(static_cast<std::size_t>(options.nodes));
  for (std::int64_t rank = 0; rank < options.nodes; ++rank)
    community[population.id(rank)] = static_cast<std::int32_t>(population.community(rank));
  // Labels and split first: they throw before the expensive part.
  out.y = make_labels(options, community);
  out.split = options.split.empty() ? planetoid_split(out.y, options.classes, options.train_per_class,
                                                      options.val, options.test, options.seed)
                                    : random_split(out.y, options.split, options.seed);
  add_edges(options, population, out);
  out.x = make_features(options, community);
  return out;
}

}  // namespace rodeo
