// RoDe SpMM: its options, its split rows and its clustered plans, which SpMV, SDDMM and TCA use too. Operands
// are small integers, whose sums are exact in any order: a lost or a wrong nonzero cannot hide in a
// tolerance.
#include <algorithm>

#include "ops/convert.h"
#include "ops/plan/row_clusters.h"
#include "ops/sddmm.h"
#include "ops/sparse/graph_plans.h"
#include "ops/spmm.h"
#include "ops/spmv.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsSpmmRode : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsSpmmRode);

/// Integers in [-2, 2].
Tensor integers(const Shape& shape, DType dtype, std::uint64_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(random_word(seed, 0, i) % 5) - 2;
  return Tensor::from(values, shape).to(dtype);
}

/// 0 or 1 for each edge.
Tensor zeros_and_ones(std::int64_t edges, DType dtype) {
  std::vector<float> values(static_cast<std::size_t>(edges));
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = static_cast<float>(random_word(2, 0, e) % 2);
  return Tensor::from(values).to(dtype);
}

/// The exact A X, rounded once to dtype.
std::vector<double> exact_product(const Adjacency& host, const Tensor& weight, const Tensor& x) {
  return doubles(Tensor::from(spmm_reference(host, weight, x).y).to(x.dtype()));
}

Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x, const SpmmOptions& options) {
  const Device device = adj.device();
  return weight.defined() ? spmm(adj, weight.to(device), x.to(device), options)
                          : spmm(adj, x.to(device), options);
}

/// What computes exact sums of integers on a device, with RodeOptions.
std::vector<SpmmOptions> exact_options(Device device, DType dtype) {
  std::vector<SpmmOptions> all{{SpmmAlgorithm::kRode}};
  if (!device.is_cuda()) return all;
  if (dtype != DType::kF64) all.push_back({SpmmAlgorithm::kRodeTc});
  if (size_of(dtype) >= 4) all.push_back({SpmmAlgorithm::kRode, Accumulate::kAtomic});
  return all;
}

constexpr DType kTypes[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

// Rows that end just before, at and after the end of a piece, of each length that pieces have by default.
TEST_P(OpsSpmmRode, LongRowsAreExact) {
  std::vector<std::int64_t> lengths{0, 31, 32, 33, 100'000};
  for (const std::int64_t split : {RodePlan::kShortSplit, RodePlan::kSplit, RodePlan::kLongSplit})
    for (const std::int64_t pieces : {1, 2})
      for (const std::int64_t more : {-1, 0, 1, 31, 32, 33}) lengths.push_back(pieces * split + more);
  const Adjacency host = graph_with_lengths(lengths, 3001), adj = host.to(device());
  for (const std::int64_t split : {RodePlan::kSplit, RodePlan::kLongSplit})
    EXPECT_GT(rode_plan(adj, {split}).num_split_rows(), 3);
  if (device().is_cuda()) {  // sums of integers do not tell the forms apart; those of other numbers do
    const Tensor x = random_tensor({3001, 64}, DType::kF32, device());
    EXPECT_FALSE(same_bits(spmm(adj, x, {SpmmAlgorithm::kRode, Accumulate::kAtomic}),
                           spmm(adj, x, {SpmmAlgorithm::kRode})));
  }
  for (const DType dtype : kTypes) {
    const Tensor weights = zeros_and_ones(host.num_edges(), dtype);
    for (const std::int64_t n : {8, 41, 136}) {
      const Tensor x = integers({3001, n}, dtype);
      const Poisoned poisoned;
      for (const Tensor& weight : {Tensor(), weights}) {
        const std::vector<double> want = exact_product(host, weight, x);
        for (SpmmOptions options : exact_options(device(), dtype))
          for (const std::int64_t split :
               {std::int64_t{0}, RodePlan::kShortSplit, RodePlan::kSplit, RodePlan::kLongSplit}) {
            options.rode.split = split;
            ASSERT_TRUE(near(run(adj, weight, x, options), want, 0))
                << options.algorithm << " " << options.accumulate << " " << options.rode << " n=" << n << " "
                << dtype << (weight.defined() ? " weighted" : "");
          }
      }
    }
  }
}

TEST_P(OpsSpmmRode, EveryOptionIsExact) {
  std::vector<std::int64_t> lengths{3000, 700, 0, 65};
  for (std::int64_t length = 0; length < 140; ++length) lengths.push_back(length);
  const Adjacency host = graph_with_lengths(lengths, 500), adj = host.to(device());
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    const Tensor weight = zeros_and_ones(host.num_edges(), dtype);
    for (const std::int64_t n : {7, 32, 64, 100}) {
      const Tensor x = integers({500, n}, dtype);
      const std::vector<double> want = exact_product(host, weight, x);
      const Poisoned poisoned;
      for (SpmmOptions options : exact_options(device(), dtype))
        for (const RodeOptions rode : {RodeOptions{8, 8},
                                       {24, 8},
                                       {2048, 8},
                                       {48, 16},
                                       {32, 32},
                                       {96, 32},
                                       {64, 64},
                                       {192, 64},
                                       {0, 8},
                                       {0, 16},
                                       {0, 64},
                                       {RodePlan::kMaxSplit, 32}}) {
          options.rode = rode;
          ASSERT_TRUE(near(run(adj, weight, x, options), want, 0))
              << options.algorithm << " " << options.accumulate << " " << rode << " n=" << n << " " << dtype;
        }
    }
  }
}

// More rows than a GPU takes at once, so that the kernel of warps runs, with several rounds of residual rows.
TEST_P(OpsSpmmRode, EveryOptionIsExactOnManyRows) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 30'000; ++i) lengths.push_back(i % 71);
  lengths[5] = 3000, lengths[77] = 1055;
  const Adjacency host = graph_with_lengths(lengths, 5000), adj = host.to(device());
  const Tensor x = integers({5000, 64}, DType::kF32);
  const std::vector<double> want = exact_product(host, {}, x);
  const Poisoned poisoned;
  for (SpmmOptions options : exact_options(device(), DType::kF32))
    for (const RodeOptions rode : {RodeOptions{}, {24, 8}, {48, 16}, {96, 32}, {192, 64}}) {
      options.rode = rode;
      ASSERT_TRUE(near(run(adj, {}, x, options), want, 0)) << options.algorithm << " " << rode;
    }
}

TEST_P(OpsSpmmRode, OptionsReachTheGradient) {
  const Adjacency host = graph_with_lengths({40, 0, 300, 17, 90}, 60), adj = host.to(device());
  const Tensor dy = integers({5, 24}, DType::kF32, 7);
  const Variable x(integers({60, 24}, DType::kF32).to(device()), /*requires_grad=*/true);
  const SpmmOptions options{.algorithm = SpmmAlgorithm::kRode, .rode = {16, 8}};
  spmm(adj, x, options).backward(dy.to(device()));
  EXPECT_TRUE(near(x.grad(), exact_product(transpose_pattern(host), {}, dy), 0));
}

TEST_P(OpsSpmmRode, RefusesOptions) {
  const Adjacency adj = graph_with_lengths({3, 0, 2}, 5).to(device());
  const Tensor x = Tensor::zeros({5, 2}, DType::kF32, device());
  EXPECT_ERROR(spmm(adj, x, {.algorithm = SpmmAlgorithm::kRode, .rode = {.split = 100}}),
               "[rode_plan] split must be a multiple of block = 32 of at most 16777216, got 100");
  EXPECT_ERROR(spmm(adj, x, {.algorithm = SpmmAlgorithm::kRode, .rode = {.block = 33}}),
               "[rode_plan] block must be 8, 16, 32 or 64, got 33");
  for (const SpmmAlgorithm algorithm : {SpmmAlgorithm::kAuto, SpmmAlgorithm::kCsr})
    EXPECT_ERROR(spmm(adj, x, {.algorithm = algorithm, .rode = {.split = 64}}),
                 str("[spmm] split and block are for rode and rode-tc, got ", algorithm));
}

/// Whether the pieces and the residual rows of a plan are in the order of their clusters, several of them.
void expect_clustered(const RodePlan& plan, const Tensor& clusters) {
  const auto cluster = clusters.to_vector<std::uint8_t>();
  ASSERT_GT(plan.num_residual(), 0);
  for (const Tensor& rows : {plan.piece_row, plan.residual_row}) {
    std::vector<int> order;
    for (const std::int32_t row : rows.to_vector<std::int32_t>()) order.push_back(cluster[row]);
    if (order.empty()) continue;  // no pieces
    EXPECT_TRUE(std::ranges::is_sorted(order));
    EXPECT_LT(order.front(), order.back()) << "one cluster only";
  }
}

/// Y = A X and dX = A^T dY by RoDe and TCA, compared with the exact products.
void check_forwards_and_backwards(const Adjacency& host, const Adjacency& adj, DType dtype, std::int64_t n) {
  const Device device = adj.device();
  const Tensor x = integers({host.cols(), n}, dtype), dy = integers({host.rows(), n}, dtype, 7),
               weights = zeros_and_ones(host.num_edges(), dtype);
  const Transposed t = transpose(host);
  for (const bool weighted : {false, true}) {
    const std::vector<double> want_y = exact_product(host, weighted ? weights : Tensor(), x),
                              want_dx =
                                  exact_product(t.adj, weighted ? take(weights, t.edge_ids) : Tensor(), dy);
    std::vector<SpmmOptions> all = exact_options(device, dtype);
    if (device.is_cuda()) all.push_back({SpmmAlgorithm::kTca});  // its plan is in the order of clusters, too
    for (const SpmmOptions& options : all) {
      const std::string what =
          str(options.algorithm, " ", options.accumulate, " n=", n, " ", dtype, weighted ? " weighted" : "");
      const Variable leaf(x.to(device), /*requires_grad=*/true);
      const Poisoned poisoned;
      const Variable y =
          weighted ? spmm(adj, Variable(weights.to(device)), leaf, options) : spmm(adj, leaf, options);
      ASSERT_TRUE(near(y.value(), want_y, 0)) << what;
      y.backward(dy.to(device));
      ASSERT_TRUE(near(leaf.grad(), want_dx, 0)) << what;
    }
  }
}

TEST_P(OpsSpmmRode, ClusteredPlansAreExact) {
  constexpr std::int64_t kRows = 4000;
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < kRows; ++i) lengths.push_back(i * 7 % 90);
  lengths[11] = 5000, lengths[400] = 700, lengths[3999] = 2080;
  const Adjacency host = graph_with_lengths(lengths, kRows), adj = host.to(device()),
                  transposed = transpose_pattern(adj);
  ASSERT_FALSE(transposed == adj);
  std::vector<std::uint8_t> parts;
  for (std::int64_t i = 0; i < kRows; ++i) parts.push_back(static_cast<std::uint8_t>(i * 37 % 256));
  const Tensor cluster = Tensor::from(parts).to(device());
  // The plan that products use is the one that was cached first.
  for (const Adjacency& graph : {adj, transposed}) {
    expect_clustered(graph.cached<RodePlan>([&] { return make_rode_plan(graph, cluster); }), cluster);
    ASSERT_GT(rode_plan(graph).num_pieces(), 0);
    expect_clustered(rode_plan(graph), cluster);
  }
  for (const DType dtype : {DType::kF32, DType::kF16})
    for (const std::int64_t n : {16, 41, 128}) check_forwards_and_backwards(host, adj, dtype, n);
}

// A graph of shuffled communities, large enough that products cluster its rows by themselves.
TEST_P(OpsSpmmRode, LargeGraphsAreClusteredAndExact) {
  if (!device().is_cuda()) GTEST_SKIP() << "half a million rows: a GPU's case";
  constexpr std::int64_t kRows = 1 << 19, kCommunities = 64, kMembers = kRows / kCommunities;
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col;
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::int64_t length = i % 40'000 == 9 ? 3000 : i % 1000 == 7 ? 60 : 10 + i % 3;
    for (std::int64_t e = 0; e < length; ++e) {  // a node of the same community: equal modulo kCommunities
      const auto member = static_cast<std::int64_t>(random_word(1, 2, col.size()) % kMembers);
      col.push_back(static_cast<std::int32_t>(member * kCommunities + i % kCommunities));
    }
    row_ptr.push_back(static_cast<std::int64_t>(col.size()));
  }
  const Adjacency host({kRows, kRows, Tensor::from(row_ptr), Tensor::from(col)}), adj = host.to(device());
  for (const Adjacency& graph : {adj, transpose_pattern(adj)}) {
    ASSERT_TRUE(row_clusters(graph).defined()) << "not clustered: choose another graph for this test";
    expect_clustered(rode_plan(graph), row_clusters(graph));
  }
  ASSERT_GT(rode_plan(adj).num_split_rows(), 0);
  check_forwards_and_backwards(host, adj, DType::kF32, 24);
  check_forwards_and_backwards(host, adj, DType::kF16, 40);
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    const Tensor vector = integers({kRows, 1}, dtype), x = integers({kRows, 24}, dtype),
                 b1 = integers({kRows, 24}, dtype, 7);
    const Poisoned poisoned;
    EXPECT_TRUE(near(spmv(adj, vector.reshape({kRows}).to(device()), {SpmvAlgorithm::kRode}),
                     exact_product(host, {}, vector), 0));
    EXPECT_TRUE(near(sddmm(adj, b1.to(device()), x.to(device()), SddmmOp::kDot, {}, {SddmmAlgorithm::kRows}),
                     doubles(sddmm(host, b1, x)), 0));
  }
}

}  // namespace
}  // namespace rodeo::test
