#include "ops/negative_edges.h"

#include <set>

#include "ops/convert.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class OpsNegativeEdges : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsNegativeEdges);

using Edges = std::set<std::pair<std::int64_t, std::int64_t>>;  // (source, destination)

struct Sample {
  Adjacency adj;  // on the CPU
  Edges edges;
};

/// n nodes; an edge wherever wanted(src, dst).
template <class F>
Sample sample(std::int64_t n, F&& wanted) {
  std::vector<std::int64_t> src, dst;
  Sample out;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (wanted(i, j)) src.push_back(i), dst.push_back(j), out.edges.emplace(i, j);
  out.adj = coo_to_csr(Tensor::from(dst), Tensor::from(src), n, n).adj;
  return out;
}

void check_pairs(const Sample& from, const NodePairs& pairs) {
  const auto src = pairs.src.to_vector<std::int64_t>(), dst = pairs.dst.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < src.size(); ++i) {
    ASSERT_TRUE(src[i] >= 0 && src[i] < from.adj.rows() && dst[i] >= 0 && dst[i] < from.adj.rows());
    ASSERT_NE(src[i], dst[i]);
    ASSERT_FALSE(from.edges.contains({src[i], dst[i]})) << src[i] << " " << dst[i];
  }
}

TEST_P(OpsNegativeEdges, AreNoEdgesAndTheSameOnAllDevices) {
  for (const std::int64_t n : {2, 3, 50, 300}) {
    const Sample s = sample(n, [](auto i, auto j) { return i != j && (i * 7 + j * 3) % 5 == 0; });
    const NodePairs pairs = negative_edges(s.adj.to(device()), 4000, RandomKey{7, 3});
    check_pairs(s, pairs);
    const NodePairs host = negative_edges(s.adj, 4000, RandomKey{7, 3});
    EXPECT_TRUE(same_bits(pairs.src.to(kCpu), host.src));
    EXPECT_TRUE(same_bits(pairs.dst.to(kCpu), host.dst));
    const NodePairs other = negative_edges(s.adj, 4000, RandomKey{7, 4});
    EXPECT_TRUE(n < 50 || !same_bits(other.src, host.src));
  }
}

TEST_P(OpsNegativeEdges, SharesAreThoseOfTheWhole) {
  const Adjacency adj =
      sample(50, [](auto i, auto j) { return i != j && (i + j) % 3 == 0; }).adj.to(device());
  const NodePairs all = negative_edges(adj, 1000, RandomKey{7, 3});
  RandomKey key{7, 3};
  key.first_row = 333;  // any number, not a multiple of 4 alone
  const NodePairs share = negative_edges(adj, 400, key);
  EXPECT_TRUE(same_bits(share.src, all.src.slice(333, 733)));
  EXPECT_TRUE(same_bits(share.dst, all.dst.slice(333, 733)));
}

TEST_P(OpsNegativeEdges, AreUniform) {
  const Sample s = sample(8, [](auto i, auto j) { return i == j || j == (i + 1) % 8; });
  constexpr std::int64_t kCount = 96'000, kFree = 8 * 6;
  const NodePairs pairs = negative_edges(s.adj.to(device()), kCount, RandomKey{1, 1});
  check_pairs(s, pairs);
  const auto src = pairs.src.to_vector<std::int64_t>(), dst = pairs.dst.to_vector<std::int64_t>();
  std::vector<int> seen(64);
  for (std::size_t i = 0; i < src.size(); ++i) ++seen[src[i] * 8 + dst[i]];
  for (int at = 0; at < 64; ++at)
    if (!s.edges.contains({at / 8, at % 8})) {
      EXPECT_NEAR(seen[at], kCount / kFree, 300) << at;  // 6 standard deviations
    }
}

// A relation between two node types draws from such ranges.
TEST_P(OpsNegativeEdges, StayInTheirRanges) {
  const PairRange range{.first_src = 2, .num_src = 3, .first_dst = 5, .num_dst = 4};
  const auto in_range = [](auto i, auto j) { return i >= 2 && i < 5 && j >= 5 && j < 9; };
  const Sample s = sample(10, [&](auto i, auto j) { return in_range(i, j) && (i + j) % 3 == 0; });
  const NodePairs pairs = negative_edges(s.adj.to(device()), 4000, RandomKey{5, 1}, range);
  check_pairs(s, pairs);
  const auto src = pairs.src.to_vector<std::int64_t>(), dst = pairs.dst.to_vector<std::int64_t>();
  Edges seen;
  for (std::size_t i = 0; i < src.size(); ++i) {
    ASSERT_TRUE(in_range(src[i], dst[i])) << src[i] << " " << dst[i];
    seen.emplace(src[i], dst[i]);
  }
  EXPECT_EQ(seen.size(), 8U);  // all of them
  const Sample last = sample(10, [&](auto i, auto j) { return in_range(i, j) && !(i == 3 && j == 6); });
  check_pairs(last, negative_edges(last.adj.to(device()), 100, RandomKey{5, 1}, range));
  EXPECT_ERROR(negative_edges(s.adj.to(device()), 1, RandomKey(), {.first_src = 8, .num_src = 3}),
               "[negative_edges] the source nodes 8 to 11 are not all in a graph of 10");
  const Sample full = sample(10, in_range);
  EXPECT_ERROR(
      negative_edges(full.adj.to(device()), 1, RandomKey(), range),
      "[negative_edges] every pair of the 3 and 4 nodes may be an edge: 12 edges, expected fewer than "
      "12");
}

// One pair is free: the draws fail, the search finds it.
TEST_P(OpsNegativeEdges, FindsTheLastFreePair) {
  const Sample s = sample(60, [](auto i, auto j) { return i != j && !(i == 41 && j == 17); });
  const NodePairs pairs = negative_edges(s.adj.to(device()), 100, RandomKey{2, 0});
  check_pairs(s, pairs);
}

// A step on the device makes the numbers of that step.
TEST_P(OpsNegativeEdges, DrawsNewPairsInEveryStep) {
  const Sample s = sample(40, [](auto i, auto j) { return (i + j) % 9 == 0; });
  const Adjacency adj = s.adj.to(device());
  const Tensor step = Tensor::zeros({}, DType::kI64, device());
  const RandomKey key{3, 1, step.data<std::int64_t>()};
  const Tensor first = negative_edges(adj, 50, key).src;
  EXPECT_TRUE(same_bits(first, negative_edges(adj, 50, key).src));
  step.fill(1);
  EXPECT_FALSE(same_bits(first, negative_edges(adj, 50, key).src));
}

TEST_P(OpsNegativeEdges, Errors) {
  const Sample full = sample(4, [](auto i, auto j) { return i != j; });
  const Adjacency adj = full.adj.to(device());
  EXPECT_EQ(negative_edges(adj, 0, {}).src.numel(), 0);
  EXPECT_ERROR(negative_edges(adj, 1, RandomKey()),
               "[negative_edges] every pair of the 4 nodes may be an edge: 12 edges, expected fewer than 12");
  EXPECT_ERROR(negative_edges(adj, -1, RandomKey()), "[negative_edges] count must not be negative, got -1");
  EXPECT_ERROR(negative_edges(graph_with_lengths({1, 2}, 3).to(device()), 1, RandomKey()),
               "[negative_edges] the graph must be square, got 2 x 3");
}

}  // namespace
}  // namespace rodeo::test
