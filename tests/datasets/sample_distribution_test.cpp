// The distribution of samples, by chi-square tests on every device; samplers with typical bugs fail them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "datasets/neighbor_sampler.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

using Ids = std::vector<std::int64_t>;

/// What a chi-square variable exceeds with a probability of about 1e-6 (Wilson & Hilferty, PNAS 1931).
double limit(std::int64_t freedom) {
  const double f = 2.0 / (9 * static_cast<double>(freedom)), root = 1 - f + 5 * std::sqrt(f);
  return static_cast<double>(freedom) * root * root * root;
}

/// Against equal counts of all cells.
double chi_square(const Ids& counts) {
  const double expected =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})) /
      static_cast<double>(counts.size());
  double sum = 0;
  for (const std::int64_t count : counts)
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  return sum;
}

std::int64_t choose(std::int64_t n, std::int64_t k) {
  std::int64_t out = 1;
  for (std::int64_t i = 1; i <= k; ++i) out = out * (n - k + i) / i;
  return out;
}

/// The number of a subset of 0 .. n - 1 among those of its size (the combinatorial number system).
std::int64_t number_of(Ids subset) {
  std::ranges::sort(subset);
  std::int64_t number = 0;
  for (std::size_t i = 0; i < subset.size(); ++i)
    number += choose(subset[i], static_cast<std::int64_t>(i) + 1);
  return number;
}

/// Draws `fanout` of `degree` neighbours for each of many nodes: one subset a node.
struct Draws {
  std::int64_t degree = 0, fanout = 0;
  std::vector<Ids> of_node;
};

/// Over all subsets, each of which must be equally likely.
double subsets_statistic(const Draws& draws) {
  Ids counts(static_cast<std::size_t>(choose(draws.degree, draws.fanout)));
  for (const Ids& drawn : draws.of_node) ++counts.at(number_of(drawn));
  return chi_square(counts);
}

/// Over how often each neighbour is drawn, where there are too many subsets. A node draws different ones, so
/// counts of n nodes have the covariance n p (1 - p) d / (d - 1) (I - 1 / d), p = fanout / d.
double inclusion_statistic(const Draws& draws) {
  Ids counts(static_cast<std::size_t>(draws.degree));
  for (const Ids& drawn : draws.of_node)
    for (const std::int64_t id : drawn) ++counts.at(id);
  const auto d = static_cast<double>(draws.degree);
  const double p = static_cast<double>(draws.fanout) / d;
  return chi_square(counts) / (1 - p) * (d - 1) / d;
}

/// `nodes` nodes whose rows are the columns 0 .. degree - 1.
Adjacency equal_rows(std::int64_t nodes, std::int64_t degree) {
  Ids row_ptr;
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i <= nodes; ++i) row_ptr.push_back(i * degree);
  for (std::int64_t i = 0; i < nodes * degree; ++i) col.push_back(static_cast<std::int32_t>(i % degree));
  return Adjacency({nodes, nodes, Tensor::from(row_ptr), Tensor::from(col)});
}

/// The neighbours that the sampler gives to all nodes.
Draws draw(const NeighborSampler& sampler, std::int64_t degree, std::int64_t epoch = 0,
           std::int64_t batch = 0) {
  const Adjacency& graph = sampler.graph();
  Ids all(static_cast<std::size_t>(graph.rows()));
  std::iota(all.begin(), all.end(), 0);
  const SampledBatch sample = sampler.sample(Tensor::from(all, graph.device()), epoch, batch);
  const Ids edges = sample.blocks.back().edge_ids.to_vector<std::int64_t>();
  Draws out{degree, sampler.options().fanout.front(), {}};
  for (std::int64_t i = 0; i < graph.rows(); ++i) {
    Ids drawn;
    for (std::int64_t j = i * out.fanout; j < (i + 1) * out.fanout; ++j)
      drawn.push_back(edges[j] - i * degree);
    out.of_node.push_back(std::move(drawn));
  }
  return out;
}

class DatasetsSampleDistribution : public OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsSampleDistribution);

// Fan-outs up to 8, up to 16, up to 32 and above have kernels of their own.
TEST_P(DatasetsSampleDistribution, EverySubsetIsEquallyLikely) {
  struct Case {
    std::int64_t degree, fanout;
  };
  for (const auto& [degree, fanout] :
       {Case{7, 1}, {10, 2}, {6, 3}, {9, 8}, {12, 10}, {17, 16}, {20, 18}, {33, 32}, {34, 33}, {70, 69}}) {
    SCOPED_TRACE(str(fanout, " of ", degree));
    const Adjacency graph = equal_rows(20'000, degree).to(device());
    const double statistic = subsets_statistic(draw(NeighborSampler(graph, {{fanout}, false, 11}), degree));
    EXPECT_LT(statistic, limit(choose(degree, fanout) - 1));
  }
}

TEST_P(DatasetsSampleDistribution, EveryNeighbourOfAHubIsEquallyLikely) {
  constexpr std::int64_t kDegree = 1000;
  const Adjacency graph = equal_rows(4000, kDegree).to(device());
  for (const std::int64_t fanout : {1, 5, 15, 30, 100, 900}) {
    SCOPED_TRACE(fanout);
    const double statistic = inclusion_statistic(draw(NeighborSampler(graph, {{fanout}, false, 4}), kDegree));
    EXPECT_LT(statistic, limit(kDegree - 1));
    EXPECT_GT(statistic, kDegree - 1 - 6 * std::sqrt(2.0 * kDegree)) << "too even to be random";
  }
}

TEST_P(DatasetsSampleDistribution, DrawsWithReplacementAreEquallyLikelyAndIndependent) {
  constexpr std::int64_t kDegree = 7;
  const Adjacency graph = equal_rows(20'000, kDegree).to(device());
  const Draws draws = draw(NeighborSampler(graph, {{3}, true, 6}), kDegree);
  Ids counts(kDegree * kDegree * kDegree);
  for (const Ids& drawn : draws.of_node) ++counts.at((drawn[0] * kDegree + drawn[1]) * kDegree + drawn[2]);
  EXPECT_LT(chi_square(counts), limit(std::ssize(counts) - 1));
}

// The subsets of a node in two epochs, two batches, two hops, and of two nodes, are independent of each
// other.
TEST_P(DatasetsSampleDistribution, OtherKeysAreIndependent) {
  constexpr std::int64_t kDegree = 5, kFanout = 2, kSubsets = 10;
  const Adjacency graph = equal_rows(20'000, kDegree).to(device());
  const NeighborSampler sampler(graph, {{kFanout}, false, 8}), other_seed(graph, {{kFanout}, false, 9});
  const Draws first = draw(sampler, kDegree, 3, 5);
  std::map<std::string, Draws> others{{"epoch", draw(sampler, kDegree, 4, 5)},
                                      {"batch", draw(sampler, kDegree, 3, 6)},
                                      {"epoch and batch", draw(sampler, kDegree, 5, 3)},
                                      {"seed", draw(other_seed, kDegree, 3, 5)},
                                      {"node", first}};
  std::ranges::rotate(others.at("node").of_node, others.at("node").of_node.begin() + 1);
  // The second hop of all nodes, which are all targets.
  const NeighborSampler two(graph, {{kFanout, kFanout}, false, 8});
  Ids all(20'000);
  std::iota(all.begin(), all.end(), 0);
  const SampledBatch hops = two.sample(Tensor::from(all, device()), 3, 5);
  const Ids edges = hops.blocks.front().edge_ids.to_vector<std::int64_t>();
  Draws hop{kDegree, kFanout, {}};
  for (std::int64_t i = 0; i < 20'000; ++i)
    hop.of_node.push_back({edges[2 * i] - i * kDegree, edges[2 * i + 1] - i * kDegree});
  others.emplace("hop", hop);
  for (const auto& [name, other] : others) {
    Ids counts(kSubsets * kSubsets);
    for (std::size_t i = 0; i < first.of_node.size(); ++i)
      ++counts.at(number_of(first.of_node[i]) * kSubsets + number_of(other.of_node[i]));
    EXPECT_LT(chi_square(counts), limit(kSubsets * kSubsets - 1)) << name;
  }
}

/// A sampler of one row with a bug: returns the draws for one node.
using Sampler = std::function<Ids(std::int64_t degree, std::int64_t fanout, std::int64_t node)>;

Draws draw(const Sampler& sampler, std::int64_t nodes, std::int64_t degree, std::int64_t fanout) {
  Draws out{degree, fanout, {}};
  for (std::int64_t node = 0; node < nodes; ++node) out.of_node.push_back(sampler(degree, fanout, node));
  return out;
}

std::int64_t below(std::int64_t bound, std::int64_t node, std::int64_t number) {
  return static_cast<std::int64_t>(SampleKey{21, 0, 0, 0}.draw(static_cast<std::uint64_t>(node),
                                                               static_cast<std::uint64_t>(number),
                                                               static_cast<std::uint64_t>(bound)));
}

/// Floyd's algorithm. `bound_offset` and `on_repeat` are where bugs go.
Sampler floyd(std::int64_t bound_offset,
              std::function<std::int64_t(const Ids& drawn, std::int64_t last, std::int64_t id)> on_repeat) {
  return [=](std::int64_t degree, std::int64_t fanout, std::int64_t node) {
    Ids drawn;
    for (std::int64_t j = 0; j < fanout; ++j) {
      const std::int64_t last = degree - fanout + j, id = below(last + 1 + bound_offset, node, j);
      drawn.push_back(std::ranges::count(drawn, id) ? on_repeat(drawn, last, id) : id);
    }
    return drawn;
  };
}

TEST(DatasetsSampleStatistic, SeparatesRightSamplersFromWrongOnes) {
  const auto last_one = [](const Ids&, std::int64_t last, std::int64_t) { return last; };
  const auto next_free = [](const Ids& drawn, std::int64_t last, std::int64_t id) {
    while (std::ranges::count(drawn, id)) id = (id + 1) % (last + 1);
    return id;
  };
  const auto fails = [](const Sampler& sampler, std::int64_t degree, std::int64_t fanout) {
    return subsets_statistic(draw(sampler, 20'000, degree, fanout)) > limit(choose(degree, fanout) - 1);
  };
  EXPECT_FALSE(fails(floyd(0, last_one), 6, 3));
  EXPECT_FALSE(fails(floyd(0, last_one), 12, 10));
  EXPECT_TRUE(fails(floyd(-1, last_one), 6, 3)) << "the last candidate is never drawn at once";
  EXPECT_TRUE(fails(floyd(0, next_free), 6, 3)) << "the next free one instead of the last";
  EXPECT_TRUE(fails(floyd(0, next_free), 12, 10));
  const Sampler window = [](std::int64_t degree, std::int64_t fanout, std::int64_t node) {
    Ids drawn;
    for (std::int64_t j = 0; j < fanout; ++j) drawn.push_back((below(degree, node, 0) + j) % degree);
    return drawn;
  };
  EXPECT_TRUE(fails(window, 6, 3)) << "neighbours side by side";
  const Sampler low_half = [](std::int64_t degree, std::int64_t fanout, std::int64_t node) {
    Ids drawn =
        floyd(0, [](const Ids&, std::int64_t last, std::int64_t) { return last; })(degree, fanout, node);
    if (node % 8 == 0)
      drawn = floyd(0, [](const Ids&, std::int64_t last, std::int64_t) { return last; })(degree / 2, fanout,
                                                                                         node);
    return drawn;
  };
  EXPECT_GT(inclusion_statistic(draw(low_half, 4000, 1000, 15)), limit(999)) << "one node in eight sees half";
  EXPECT_LT(inclusion_statistic(draw(floyd(0, last_one), 4000, 1000, 15)), limit(999));
}

}  // namespace
}  // namespace rodeo::test
