#include "datasets/synthetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"

namespace rodeo {
namespace {

// Random streams, one for each kind of draw, after those of synthetic_edges.cpp.
enum Stream : std::uint64_t { kLabels = 0x73796e76, kMeans, kFeatures };

double unit(std::uint32_t word) {
  return word * 0x1p-32;
}

/// Uniform in [0, count), count at most 2^32.
std::int64_t below(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>((word * static_cast<std::uint64_t>(count)) >> 32);
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
  in("features", o.features, 1, kMax);
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

Dataset synthesize(const SyntheticOptions& options, Device sort_on) {
  const std::vector<std::int32_t> community = synthetic_communities(options);
  check_options(options);
  Dataset out;
  out.name = options.name;
  out.num_nodes = options.nodes;
  out.num_features = options.features;
  out.num_classes = options.classes;
  // Labels and split first: they throw before the expensive part.
  out.y = make_labels(options, community);
  out.split = options.split.empty() ? planetoid_split(out.y, options.classes, options.train_per_class,
                                                      options.val, options.test, options.seed)
                                    : random_split(out.y, options.split, options.seed);
  const EdgeList edges = csr_to_coo(synthetic_graph(options, sort_on));
  out.dst = edges.row.to(kCpu);
  out.src = edges.col.to(kCpu);
  out.x = make_features(options, community);
  return out;
}

}  // namespace rodeo
