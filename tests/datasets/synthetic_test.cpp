#include "datasets/synthetic.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "datasets/synthetic_hetero.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"

namespace rodeo {
namespace {

using Ids = std::vector<std::int64_t>;

SyntheticOptions small_options() {
  return {.nodes = 1000, .edges = 8000, .features = 30, .classes = 4, .split = "60/20/20"};
}

void expect_same(const Dataset& a, const Dataset& b) {
  EXPECT_TRUE(test::same_bits(a.src, b.src));
  EXPECT_TRUE(test::same_bits(a.dst, b.dst));
  EXPECT_TRUE(test::same_bits(a.x, b.x));
  EXPECT_TRUE(test::same_bits(a.y, b.y));
  EXPECT_TRUE(test::same_bits(a.split.train, b.split.train));
}

Ids degrees(const Dataset& d) {
  Ids degree(static_cast<std::size_t>(d.num_nodes));
  for (const std::int32_t node : d.dst.to_vector<std::int32_t>()) ++degree[node];
  return degree;
}

// The share of edges that join equal labels.
double agreement(const Dataset& d) {
  const auto src = d.src.to_vector<std::int32_t>(), dst = d.dst.to_vector<std::int32_t>();
  const Ids y = d.y.to_vector<std::int64_t>();
  std::int64_t same = 0;
  for (std::size_t e = 0; e < src.size(); ++e) same += y[src[e]] == y[dst[e]];
  return static_cast<double>(same) / static_cast<double>(src.size());
}

TEST(DatasetsSynthetic, IsASimpleSymmetricGraphOfTheSizeAsked) {
  for (const char* name : {"cora", "pubmed", "small"}) {
    const bool preset = std::string(name) != "small";
    const SyntheticOptions o = preset ? synthetic_preset(name) : small_options();
    const Dataset d = synthesize(o);
    EXPECT_EQ(d.name, preset ? str(name, "-like") : "synthetic");
    EXPECT_EQ(d.num_edges(), o.edges);
    EXPECT_EQ(d.src.dtype(), DType::kI32);
    EXPECT_EQ(d.x.shape(), (Shape{o.nodes, o.features}));
    EXPECT_EQ(d.y.shape(), (Shape{o.nodes}));
    std::set<std::pair<std::int32_t, std::int32_t>> edges;
    const auto src = d.src.to_vector<std::int32_t>(), dst = d.dst.to_vector<std::int32_t>();
    for (std::size_t e = 0; e < src.size(); ++e) {
      EXPECT_NE(src[e], dst[e]);
      EXPECT_TRUE(edges.emplace(dst[e], src[e]).second) << "duplicate";
    }
    for (const auto& [a, b] : edges) ASSERT_TRUE(edges.contains({b, a}));
    const Ids degree = degrees(d);
    EXPECT_LT(std::count(degree.begin(), degree.end(), 0), o.nodes / 200);
  }
}

TEST(DatasetsSynthetic, EdgesAreExactAtEveryDensity) {
  SyntheticOptions o = small_options();
  o.nodes = 60;
  for (const std::int64_t edges : {0, 1, 2, 59, 60, 500, 2000}) {
    o.edges = edges;
    EXPECT_EQ(synthesize(o).num_edges(), edges / 2 * 2);
  }
  o = {.nodes = 1, .edges = 0, .features = 1, .classes = 1, .split = "100/0/0"};
  EXPECT_EQ(synthesize(o).num_nodes, 1);
}

TEST(DatasetsSynthetic, DependsOnTheSeedAndNotOnThreads) {
  SyntheticOptions o = small_options();
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Dataset one = synthesize(o);
  omp_set_num_threads(5);
  const Dataset five = synthesize(o);
  omp_set_num_threads(threads);
  expect_same(one, five);
  o.seed = 1;
  const Dataset other = synthesize(o);
  EXPECT_FALSE(test::same_bits(one.src, other.src));
  EXPECT_FALSE(test::same_bits(one.x, other.x));
  EXPECT_FALSE(test::same_bits(one.y, other.y));
  EXPECT_FALSE(test::same_bits(one.split.train, other.split.train));
}

TEST(DatasetsSynthetic, SkewMakesHubs) {
  SyntheticOptions o = small_options();
  o.nodes = 20000, o.edges = 200000;
  std::int64_t largest = 0;
  for (const double skew : {0.0, 0.3, 0.6}) {
    o.skew = skew;
    const Ids degree = degrees(synthesize(o));
    const std::int64_t now = *std::max_element(degree.begin(), degree.end());
    EXPECT_TRUE(skew > 0 || now < 40) << now;  // Poisson of mean 10
    EXPECT_GT(now, 2 * largest);
    largest = now;
  }
  EXPECT_GT(largest, 800);
}

TEST(DatasetsSynthetic, HomophilyIsWhatWasAsked) {
  SyntheticOptions o = small_options();
  o.nodes = 5000, o.edges = 50000, o.skew = 0.2, o.label_noise = 0;
  for (const double homophily : {0.0, 0.5, 0.9}) {
    o.homophily = homophily;
    EXPECT_NEAR(agreement(synthesize(o)), homophily + (1 - homophily) / 4, 0.02);
  }
  o.homophily = 1, o.label_noise = 1;
  EXPECT_NEAR(agreement(synthesize(o)), 0.25, 0.02);
}

TEST(DatasetsSynthetic, FeaturesTellCommunitiesApartAsFarAsAsked) {
  SyntheticOptions o = small_options();
  o.features = 200, o.label_noise = 0;
  for (const double signal : {0.0, 4.0}) {
    o.signal = signal;
    const Dataset d = synthesize(o);
    const float* x = d.x.data<float>();
    std::vector<double> mean(static_cast<std::size_t>(4 * 200)), count(4);
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
      const std::int64_t c = d.y.data<std::int64_t>()[i];
      ++count[c];
      for (std::int64_t f = 0; f < 200; ++f) {
        const double value = x[i * 200 + f];
        mean[c * 200 + f] += value, sum += value, squares += value * value;
      }
    }
    double distance = 0;
    for (std::int64_t f = 0; f < 200; ++f)
      distance += std::pow(mean[f] / count[0] - mean[200 + f] / count[1], 2);
    // The difference of two means of 250 nodes has noise of variance 2 / 250 per feature.
    EXPECT_NEAR(std::sqrt(std::max(distance - 200 * 2.0 / 250, 0.0)), signal, 0.15 * signal + 0.5);
    EXPECT_NEAR(sum / 200000, 0, 0.05);
    EXPECT_NEAR(squares / 200000, 1 + signal * signal / 400,
                0.02);  // means are signal / sqrt(2 features) each
  }
}

TEST(DatasetsSynthetic, BagsOfWordsAreSparseBinaryAndTopical) {
  const SyntheticOptions o = synthetic_preset("cora");
  const Dataset d = synthesize(o);
  const float* x = d.x.data<float>();
  std::int64_t ones = 0, typical = 0;
  for (std::int64_t i = 0; i < o.nodes; ++i)
    for (std::int64_t f = 0; f < o.features; ++f) {
      const float value = x[i * o.features + f];
      ASSERT_TRUE(value == 0 || value == 1);
      ones += value == 1;
      typical += value == 1 && f % o.classes == d.y.data<std::int64_t>()[i];
    }
  EXPECT_NEAR(static_cast<double>(ones) / static_cast<double>(o.nodes), 18, 0.5);
  const double expected = (o.topical + (1 - o.topical) / 7) * (1 - 0.1 * 6 / 7);  // by label: some are wrong
  EXPECT_NEAR(static_cast<double>(typical) / static_cast<double>(ones), expected, 0.04);
}

TEST(DatasetsSynthetic, OrderIsRandomUnlessTurnedOff) {
  SyntheticOptions o = small_options();
  o.label_noise = 0;
  const auto breaks = [&] {
    const Ids y = synthesize(o).y.to_vector<std::int64_t>();
    int count = 0;
    for (std::size_t i = 1; i < y.size(); ++i) count += y[i] != y[i - 1];
    return count;
  };
  EXPECT_GT(breaks(), 600);
  o.shuffle = false;
  EXPECT_EQ(breaks(), 3);
  const Ids degree = degrees(synthesize(o));
  EXPECT_GT(degree[0], 3 * degree[249]);  // hubs first
}

TEST(DatasetsSynthetic, PlanetoidSplitHasEqualClasses) {
  const Dataset d = synthesize(synthetic_preset("cora"));
  EXPECT_EQ(d.split.train.numel(), 140);
  EXPECT_EQ(d.split.val.numel(), 500);
  EXPECT_EQ(d.split.test.numel(), 1000);
  Ids count(7);
  std::set<std::int64_t> seen;
  for (const std::int64_t node : d.split.train.to_vector<std::int64_t>())
    ++count[d.y.data<std::int64_t>()[node]];
  EXPECT_EQ(count, Ids(7, 20));
  for (const Tensor& part : {d.split.train, d.split.val, d.split.test})
    for (const std::int64_t node : part.to_vector<std::int64_t>()) EXPECT_TRUE(seen.insert(node).second);
}

TEST(DatasetsSynthetic, AFileOfItIsReadBack) {
  const test::TempDir dir;
  const Dataset d = synthesize(synthetic_preset("cora"));
  save_dataset(d, dir / "cora.h5");
  const Dataset back = load_dataset(dir / "cora.h5", {.need = Need::kTraining});
  expect_same(d, back);
  EXPECT_EQ(back.name, "cora-like");
  EXPECT_EQ(back.num_classes, 7);
}

TEST(DatasetsSynthetic, OptionsOutOfRangeAreNamed) {
  const auto error = [](auto change) {
    SyntheticOptions o = small_options();
    change(o);
    return test::error_of([&] { synthesize(o); });
  };
  EXPECT_EQ(error([](auto& o) { o.nodes = 0; }), "[synthesize] nodes must be in [1, 2147483647], got 0");
  EXPECT_EQ(error([](auto& o) { o.edges = 999001; }),
            "[synthesize] edges must be in [0, 999000], got 999001");
  EXPECT_EQ(error([](auto& o) { o.classes = 1001; }), "[synthesize] classes must be in [1, 1000], got 1001");
  EXPECT_EQ(error([](auto& o) { o.features = 0; }),
            "[synthesize] features must be in [1, 2147483647], got 0");
  EXPECT_EQ(error([](auto& o) { o.skew = 1; }), "[synthesize] skew must be in [0, 0.95], got 1");
  EXPECT_EQ(error([](auto& o) { o.homophily = NAN; }), "[synthesize] homophily must be in [0, 1], got nan");
  EXPECT_EQ(error([](auto& o) { o.val = -1; }), "[synthesize] val must be in [0, 2147483647], got -1");
  EXPECT_EQ(error([](auto& o) { o.words = 3, o.features = 3; }),
            "[synthesize] bags of words need a feature for each of 4 classes, got 3");
  EXPECT_EQ(error([](auto& o) { o.nodes = 100, o.edges = 9900, o.skew = 0.9, o.split = "50/25/25"; }),
            "[synthesize] 9900 edges are too many for 100 nodes with skew 0.9 and homophily 0.8");
  EXPECT_EQ(error([](auto& o) { o.split = "", o.val = 900; }),
            "split: 900 + 1000 nodes to validate and test on are more than the 920 left: give percentages "
            "such as 60/20/20");
  EXPECT_EQ(error([](auto& o) { o.split = "", o.nodes = 60, o.edges = 100; }).find("split: class "), 0u);
  EXPECT_ERROR(synthetic_preset("imagenet"),
               "preset must be one of cora, pubmed, arxiv, reddit, products, rmat-SCALE-EDGES, "
               "uniform-NODES-DEGREE, powerlaw-NODES-EDGES, grid-5-SIDE, grid-7-SIDE, grid-27-SIDE, got "
               "'imagenet'");
  for (const char* name : {"rmat-20", "rmat-31-1M", "rmat-10-", "rmat-10-5X", "grid-9-10", "grid-27-0",
                           "uniform-1M-32-1", "powerlaw--3", "grid-5-9999999999999"})
    EXPECT_EQ(test::error_of([&] { synthetic_preset(name); }).find("preset must be one of "), 0u) << name;
}

std::vector<std::int64_t> lengths(const Adjacency& adj) {
  auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
  std::adjacent_difference(row_ptr.begin(), row_ptr.end(), row_ptr.begin());
  return {row_ptr.begin() + 1, row_ptr.end()};
}

TEST(DatasetsSynthetic, PatternsHaveTheirSizesAndRowLengths) {
  const auto graph = [](const char* name) { return synthetic_graph(synthetic_preset(name), kCpu); };
  const Adjacency rmat = graph("rmat-10-16K"), uniform = graph("uniform-1K-32"),
                  hubs = graph("powerlaw-2K-30K");
  EXPECT_EQ(rmat.rows(), 1024);
  EXPECT_EQ(rmat.num_edges(), 16000);
  EXPECT_EQ(uniform.rows(), 1000);
  EXPECT_EQ(uniform.num_edges(), 32000);
  EXPECT_EQ(hubs.rows(), 2000);
  EXPECT_EQ(hubs.num_edges(), 30000);
  const auto longest = [](const Adjacency& adj) {
    const auto all = lengths(adj);
    return *std::max_element(all.begin(), all.end());
  };
  EXPECT_GT(longest(rmat), 150) << "hubs";
  EXPECT_GT(longest(hubs), 150) << "hubs";
  EXPECT_LT(longest(uniform), 64) << "no hubs";
}

TEST(DatasetsSynthetic, GridsAreStencilsInTheOrderOfTheGrid) {
  const auto row = [](const Adjacency& adj, std::int64_t i) {
    const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
    const auto col = adj.csr().col.to_vector<std::int32_t>();
    return std::vector<std::int32_t>(col.begin() + row_ptr[i], col.begin() + row_ptr[i + 1]);
  };
  const auto graph = [](const char* name) { return synthetic_graph(synthetic_preset(name), kCpu); };
  const Adjacency five = graph("grid-5-4"), seven = graph("grid-7-3"), all = graph("grid-27-3");
  EXPECT_EQ(row(five, 5), (std::vector<std::int32_t>{1, 4, 5, 6, 9}));
  EXPECT_EQ(row(five, 3), (std::vector<std::int32_t>{2, 3, 7}));
  EXPECT_EQ(row(seven, 13), (std::vector<std::int32_t>{4, 10, 12, 13, 14, 16, 22}));
  EXPECT_EQ(row(all, 13).size(), 27u);
  EXPECT_EQ(row(all, 0), (std::vector<std::int32_t>{0, 1, 3, 4, 9, 10, 12, 13}));
  for (const char* name : {"grid-5-4", "grid-7-3", "grid-27-3"})
    EXPECT_EQ(graph(name).num_edges(), synthetic_preset(name).edges) << name;
  SyntheticOptions shuffled = synthetic_preset("grid-7-3");
  shuffled.shuffle = true;
  const Adjacency other = synthetic_graph(shuffled, kCpu);
  EXPECT_NE(row(other, 13), row(seven, 13));
  auto a = lengths(seven), b = lengths(other);
  std::sort(a.begin(), a.end()), std::sort(b.begin(), b.end());
  EXPECT_EQ(a, b);
  shuffled.edges += 1;
  EXPECT_ERROR(synthetic_graph(shuffled, kCpu), "[synthesize] this grid of 27 nodes has 135 edges, got 136");
  shuffled.nodes = 28;
  EXPECT_ERROR(synthetic_graph(shuffled, kCpu), "[synthesize] a grid needs side^3 nodes, got 28");
}

class DatasetsSyntheticOnDevice : public test::OnDevice {};
RODEO_ON_ALL_DEVICES(DatasetsSyntheticOnDevice);

TEST_P(DatasetsSyntheticOnDevice, TheGraphIsThatOfTheDatasetOnEveryDevice) {
  for (const char* name : {"cora", "rmat-10-16K", "uniform-1K-32", "powerlaw-2K-30K", "grid-27-5"}) {
    const Dataset d = synthesize(synthetic_preset(name));
    const EdgeList edges = csr_to_coo(synthetic_graph(synthetic_preset(name), device()));
    EXPECT_TRUE(test::same_bits(edges.row.to(kCpu), d.dst)) << name;
    EXPECT_TRUE(test::same_bits(edges.col.to(kCpu), d.src)) << name;
    EXPECT_TRUE(test::same_bits(synthesize(synthetic_preset(name), device()).src, d.src)) << name;
  }
}

TEST(DatasetsSynthetic, SizesOfSeveralTypesHaveLimits) {
  EXPECT_ERROR(synthesize_hetero({.nodes = 99}), "--nodes must be in [100, 193974300], got 99");
  EXPECT_ERROR(synthesize_hetero({.nodes = 0}), "--nodes must be in [100, 193974300], got 0");
  EXPECT_EQ(synthesize_hetero({.nodes = 100, .features = 1, .classes = 1}).types[0].num_classes, 1);
  EXPECT_ERROR(synthesize_hetero({.nodes = 2000, .features = 0}), "--features must be in [1, 65536], got 0");
  EXPECT_ERROR(synthesize_hetero({.nodes = 2000, .features = 65537}),
               "--features must be in [1, 65536], got 65537");
  EXPECT_ERROR(synthesize_hetero({.nodes = 2000, .classes = 0}), "--classes must be in [1, 759], got 0");
  EXPECT_EQ(synthesize_hetero({.nodes = 2000, .features = 1, .classes = 759}).types[0].num_classes, 759);
  EXPECT_ERROR(synthesize_hetero({.nodes = 2000, .features = 1, .classes = 760}),
               "--classes must be in [1, 759], got 760");
}

// The published graphs: mag has features of papers alone, and IGB-H of all types.
TEST(DatasetsSynthetic, TypesAndRelationsOfThePresets) {
  const auto names = [](const char* preset) {
    const HeteroDataset d = synthesize_hetero({.preset = preset, .nodes = 4000, .features = 2, .classes = 3});
    std::string text;
    for (const Dataset& type : d.types)
      text += str(type.name, type.has_features() ? "*" : "", " ", type.num_nodes, ", ");
    for (const HeteroRelation& relation : d.relations)
      text += str(d.relation_name(relation), " ", relation.num_edges(), ", ");
    const Split& split = d.types[0].split;
    return str(text, split.train.numel(), " ", split.val.numel(), " ", split.test.numel());
  };
  EXPECT_EQ(names("mag"),
            "paper* 1519, author 2340, institution 18, field_of_study 124, "
            "author:affiliated_with:institution 2153, "
            "author:writes:paper 14735, paper:cites:paper 11169, paper:has_topic:field_of_study 15476, 1299 "
            "133 87");
  EXPECT_EQ(names("igbh-tiny"),
            "paper* 727, author* 2597, institute* 64, fos* 613, paper:cites:paper 3254, "
            "paper:written_by:author 3316, "
            "author:affiliated_to:institute 2367, paper:topic:fos 5225, 436 146 145");
  EXPECT_EQ(
      names("igbh-small"),
      "paper* 1277, author* 2460, institute* 19, fos* 243, paper:cites:paper 15419, paper:written_by:author "
      "5817, author:affiliated_to:institute 2083, paper:topic:fos 9241, 766 256 255");
}

}  // namespace
}  // namespace rodeo
