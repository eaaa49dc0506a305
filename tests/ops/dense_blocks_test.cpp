// RoDe-TC's form for dense row blocks: its plan on every device, its product on CUDA.
#include "ops/plan/dense_blocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/cuda_graph.h"
#include "ops/sparse/dense_block_plans.h"
#include "ops/sparse/row_order.h"
#include "ops/spmm.h"
#include "ops/spmm_variant.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

using Columns = std::vector<std::int32_t>;

/// Row i has `percent` of the columns of its block on the diagonal, three others, and its first edge twice
/// where i % 5 is 0. Every 11th row is empty. `stride`: node i of the blocks has the id i * stride modulo the
/// rows.
Adjacency blocks(std::int64_t rows, std::int64_t block, unsigned percent, std::int64_t stride = 1) {
  std::vector<Columns> lists(static_cast<std::size_t>(rows));
  for (std::int64_t i = 0; i < rows; ++i) {
    Columns& list = lists[static_cast<std::size_t>(i * stride % rows)];
    if (i % 11 == 10) continue;
    const std::int64_t begin = i / block * block, end = std::min(begin + block, rows);
    const auto add = [&](std::int64_t c) { list.push_back(static_cast<std::int32_t>(c * stride % rows)); };
    for (std::int64_t c = begin; c < end; ++c)
      if (random_word(1, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(c)) % 100 < percent)
        add(c);
    for (std::uint64_t k = 0; k < 3; ++k)
      add(random_word(2, static_cast<std::uint64_t>(i), k) % static_cast<std::uint64_t>(rows));
    if (i % 5 == 0) list.push_back(list[0]);
  }
  std::vector<std::int64_t> row_ptr{0};
  Columns col;
  for (const Columns& list : lists) {
    col.insert(col.end(), list.begin(), list.end());
    row_ptr.push_back(std::ssize(col));
  }
  return Adjacency({rows, rows, Tensor::from(row_ptr), Tensor::from(col)});
}

Columns file_order(std::int64_t rows) {
  Columns order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// What the kernel adds: for each row, its columns with the weights that it finds in the tiles and in the
/// rest.
std::vector<std::multiset<std::pair<std::int32_t, std::int32_t>>> edges_of_plan(const DenseBlocks& plan,
                                                                                std::int64_t rows) {
  const auto row = plan.row.to_vector<std::int32_t>(), step_begin = plan.step_begin.to_vector<std::int32_t>(),
             col = plan.col.to_vector<std::int32_t>(), bits = plan.bits.to_vector<std::int32_t>(),
             place = plan.place.to_vector<std::int32_t>(), rest_col = plan.rest_col.to_vector<std::int32_t>(),
             rest_edge = plan.rest_edge.to_vector<std::int32_t>();
  const auto rest_begin = plan.rest_begin.to_vector<std::int64_t>();
  const auto rest_row = plan.rest_row.to_vector<std::uint8_t>();
  Columns edge_at(static_cast<std::size_t>(plan.steps() * DenseBlocks::kStepElements), -1);
  for (std::size_t e = 0; e < place.size(); ++e)
    if (place[e] >= 0) edge_at.at(static_cast<std::size_t>(place[e])) = static_cast<std::int32_t>(e);
  std::vector<std::multiset<std::pair<std::int32_t, std::int32_t>>> out(static_cast<std::size_t>(rows));
  for (std::int64_t g = 0; g < plan.groups(); ++g)
    for (int r = 0; r < DenseBlocks::kRows; ++r) {
      const std::int32_t id = row[static_cast<std::size_t>(g * DenseBlocks::kRows + r)];
      for (std::int64_t s = step_begin[static_cast<std::size_t>(g)];
           s < step_begin[static_cast<std::size_t>(g) + 1]; ++s)
        for (int k = 0; k < DenseBlocks::kDepth; ++k) {
          const auto at = DenseBlocks::place_of(r, k);
          const auto word = static_cast<std::uint32_t>(
              bits[static_cast<std::size_t>(s * DenseBlocks::kStepWords + at.word())]);
          const std::int32_t edge =
              edge_at[static_cast<std::size_t>(s * DenseBlocks::kStepElements + at.index())];
          EXPECT_EQ((word >> at.bit() & 1) != 0, edge >= 0);
          if (edge < 0) continue;
          EXPECT_GE(id, 0);
          out.at(static_cast<std::size_t>(id))
              .emplace(col[static_cast<std::size_t>(s * DenseBlocks::kDepth + k)], edge);
        }
    }
  for (std::size_t segment = 0; segment + 1 < rest_begin.size(); ++segment)
    for (auto i = static_cast<std::size_t>(rest_begin[segment]);
         i < static_cast<std::size_t>(rest_begin[segment + 1]); ++i) {
      EXPECT_LT(rest_row[i], DenseBlocks::kSegment);
      out.at(static_cast<std::size_t>(row[segment * DenseBlocks::kSegment + rest_row[i]]))
          .emplace(rest_col[i], rest_edge[i]);
    }
  return out;
}

void check_plan(const Csr& a, const Columns& order, const std::string& what) {
  SCOPED_TRACE(what);
  const DenseBlocks plan = make_dense_blocks(a, order);
  const auto row_ptr = a.row_ptr.to_vector<std::int64_t>();
  const auto col = a.col.to_vector<std::int32_t>();
  const auto found = edges_of_plan(plan, a.rows);
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::multiset<std::pair<std::int32_t, std::int32_t>> want;
    for (auto e = row_ptr[i]; e < row_ptr[i + 1]; ++e)
      want.emplace(col[static_cast<std::size_t>(e)], static_cast<std::int32_t>(e));
    ASSERT_EQ(found[i], want) << "row " << i;
  }
  EXPECT_EQ(plan.edges, std::ssize(col));
}

// Registers of the left operand as ops/cuda/device/mma.cuh has them: columns 2t and 2t + 1 of rows g and g +
// 8, then columns 2t + 8 and 2t + 9 of both.
TEST(OpsDenseBlocksPlan, PlacesAreThoseOfTheLeftOperand) {
  std::set<int> indices, bits;
  for (int row = 0; row < DenseBlocks::kRows; ++row)
    for (int k = 0; k < DenseBlocks::kDepth; ++k) {
      const auto at = DenseBlocks::place_of(row, k);
      indices.insert(at.index()), bits.insert(at.word() * 32 + at.bit());
      const int g = at.lane / 4, t = at.lane % 4, reg = at.element / 2, half = at.element % 2;
      EXPECT_EQ(row, at.warp * 32 + at.fragment % 2 * 16 + g + reg % 2 * 8);
      EXPECT_EQ(k, at.fragment / 2 * 16 + 2 * t + half + reg / 2 * 8);
    }
  EXPECT_EQ(std::ssize(indices), DenseBlocks::kStepElements);
  EXPECT_EQ(*indices.rbegin(), DenseBlocks::kStepElements - 1);
  EXPECT_EQ(std::ssize(bits), DenseBlocks::kStepElements);
}

TEST(OpsDenseBlocksPlan, EveryEdgeOnce) {
  for (const std::int64_t rows : {0, 1, 15, 16, 17, 127, 128, 129, 300}) {
    const Adjacency adj = blocks(rows, 64, 80);
    check_plan(adj.csr(), file_order(rows), str(rows, " rows"));
    check_plan(adj.csr(), min_hash_order(adj.csr(), {}), str(rows, " rows by hash"));
  }
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make();
    check_plan(adj.csr(), file_order(adj.rows()), sparse_case.name);
  }
}

// Column 7 has just enough edges in the first group and one less in the second; row 0 has it twice.
TEST(OpsDenseBlocksPlan, DenseColumnsHaveEnoughEdgesAndRepeatedEdgesAreRest) {
  constexpr int kEnough = DenseBlocks::kMinCount;
  std::vector<std::int64_t> row_ptr{0};
  Columns col;
  for (int i = 0; i < 256; ++i) {
    if (i < kEnough || (i >= 128 && i < 128 + kEnough - 1)) col.push_back(7);
    if (i < kEnough) col.push_back(3);
    if (i == 0) col.push_back(3);
    row_ptr.push_back(std::ssize(col));
  }
  const DenseBlocks plan =
      make_dense_blocks({256, 10, Tensor::from(row_ptr), Tensor::from(col)}, file_order(256));
  Columns want(DenseBlocks::kDepth, -1), rest{2};
  want[0] = 3, want[1] = 7;
  for (std::int32_t e = 2 * kEnough + 1; e < 3 * kEnough; ++e) rest.push_back(e);
  EXPECT_EQ(plan.col.to_vector<std::int32_t>(), want);
  EXPECT_EQ(plan.step_begin.to_vector<std::int32_t>(), (Columns{0, 1, 1}));
  EXPECT_EQ(plan.rest_edge.to_vector<std::int32_t>(), rest);
  EXPECT_EQ(plan.longest_rest, kEnough - 1);
  EXPECT_EQ(plan.cost(), 32 * DenseBlocks::kColumnCost + kEnough * DenseBlocks::kRestCost);
  EXPECT_EQ(str(plan), "2 groups of 128 rows, 1 steps, 66.6 % of the edges in tiles");
}

class OpsDenseBlocks : public OnDevice {};

TEST_P(OpsDenseBlocks, FoundWhereTheyPay) {
  for (const std::int64_t stride : {1, 367}) {  // in file order and shuffled
    const Adjacency adj = blocks(2200, 256, 80, stride).to(device());
    const DenseBlocks* found = dense_blocks(adj);
    ASSERT_NE(found, nullptr) << "stride " << stride;
    EXPECT_EQ(found->row.device(), adj.device());
    EXPECT_LT(10 * found->rest(), adj.num_edges()) << "stride " << stride;
    EXPECT_EQ(dense_form(adj, DType::kF32, {}), nullptr) << "sums of f32 stay exact";
    EXPECT_EQ(dense_form(adj, DType::kF16, {.split = 256}), nullptr);
    EXPECT_EQ(dense_form(adj, DType::kF16, {}), found);
    if (device().is_cuda()) {
      EXPECT_EQ(str(spmm_variant(adj, {128, DType::kF16, false, false}, SpmmAlgorithm::kRodeTc)),
                str("rode-tc (dense blocks: ", *found, ")"));
    }
  }
  const std::vector<std::int64_t> long_rows(2000, 70), short_rows(2000, 20);
  EXPECT_EQ(dense_blocks(graph_with_lengths(long_rows, 2000).to(device())), nullptr) << "no blocks";
  EXPECT_EQ(dense_blocks(graph_with_lengths(short_rows, 2000).to(device())), nullptr);
  EXPECT_EQ(dense_blocks(blocks(300, 256, 80).to(device())), nullptr) << "few rows";
  const Adjacency once = blocks(2200, 256, 80).to(device());
  assume_no_locality(once);
  EXPECT_EQ(dense_blocks(once), nullptr) << "a graph that is used once has no plan";
}

class OpsDenseBlocksProduct : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (!device().is_cuda()) GTEST_SKIP() << "runs on CUDA only";
  }
  static Tensor run(const Adjacency& adj, const Tensor& weight, const Tensor& x) {
    const SpmmOptions options{SpmmAlgorithm::kRodeTc};
    return weight.defined() ? spmm(adj, weight, x, options) : spmm(adj, x, options);
  }
  Poisoned poisoned_;
};

// Small integers, so that sums are exact until the output is rounded.
Tensor integers(const Shape& shape, DType dtype, std::uint64_t seed) {
  std::vector<double> values = doubles(random_tensor(shape, DType::kF64, kCpu, seed));
  for (double& value : values) value = std::round(value * 2.4);
  return Tensor::from(values, shape).to(dtype);
}

TEST_P(OpsDenseBlocksProduct, EqualsFloat64) {
  for (const std::int64_t stride : {1, 367}) {
    const Adjacency host = blocks(1225, 200, 85, stride), adj = host.to(device());
    ASSERT_NE(dense_blocks(adj), nullptr);
    for (const std::int64_t n : {1, 8, 60, 64, 100, 256, 1024})
      for (const DType dtype : {DType::kF16, DType::kBF16})
        for (const bool weighted : {false, true}) {
          if (n == 1024 && (stride > 1 || dtype != DType::kF16)) continue;  // the reference is slow
          const Tensor x = integers({host.cols(), n}, dtype, 3),
                       weight = weighted ? integers({host.num_edges()}, dtype, 4) : Tensor();
          const Sums want = spmm_reference(host, weight, x);
          const Tensor on_device = weighted ? weight.to(device()) : weight,
                       y = run(adj, on_device, x.to(device()));
          const std::string what = str("n=", n, " ", dtype, weighted ? " weighted" : "", " stride ", stride);
          ASSERT_TRUE(near(y, doubles(Tensor::from(want.y, y.shape()).to(dtype)), 0, 0)) << what;
          ASSERT_TRUE(same_bits(y, run(adj, on_device, x.to(device())))) << what;
        }
  }
}

// Zeros of a tile meet rows of X that their row of A does not read.
TEST_P(OpsDenseBlocksProduct, InfinityReachesItsOwnOutputsOnly) {
  const Adjacency host = blocks(1225, 200, 85), adj = host.to(device());
  ASSERT_NE(dense_blocks(adj), nullptr);
  constexpr std::int64_t kColumns = 40;
  std::vector<double> values(static_cast<std::size_t>(1225 * kColumns), 1);
  for (const std::size_t row : {0, 150, 700}) {
    values[row * kColumns] = NAN;
    values[row * kColumns + 9] = INFINITY;
  }
  for (const DType dtype : {DType::kF16, DType::kBF16})
    for (const bool weighted : {false, true}) {
      const Tensor x = Tensor::from(values, {1225, kColumns}).to(dtype),
                   ones = weighted ? Tensor::full({host.num_edges()}, 1, dtype, kCpu) : Tensor();
      const auto want = doubles(
                     Tensor::from(spmm_reference(host, ones, x).y, {host.rows(), kColumns}).to(dtype)),
                 got = doubles(run(adj, weighted ? ones.to(device()) : ones, x.to(device())));
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_TRUE(std::isnan(want[i]) ? std::isnan(got[i]) : got[i] == want[i])
            << i << ": " << got[i] << ", not " << want[i] << " " << dtype << (weighted ? " weighted" : "");
    }
}

TEST_P(OpsDenseBlocksProduct, RunsInACudaGraphAndOnSlices) {
  const Adjacency host = blocks(1225, 200, 85), adj = host.to(device());
  ASSERT_NE(dense_blocks(adj), nullptr);
  for (const std::int64_t n : {4, 72}) {
    const Tensor whole = integers({1225 * n + 1}, DType::kF16, 1),
                 weights = integers({host.num_edges() + 1}, DType::kF16, 2);
    const auto sliced = [&](const Tensor& x) { return x.slice(1, x.numel()); };
    const Tensor x = sliced(whole.to(device())).reshape({1225, n}), weight = sliced(weights.to(device()));
    const Sums want = spmm_reference(host, sliced(weights).clone(), sliced(whole).clone().reshape({1225, n}));
    Tensor y;
    const auto work = [&] { y = run(adj, weight, x); };
    work();
    EXPECT_NE(explain_rode(adj).find(str("weighted: rode-tc (dense blocks: ", *dense_blocks(adj), ")\n")),
              std::string::npos)
        << explain_rode(adj);
    const CudaGraph graph = CudaGraph::capture(device(), work);
    graph.launch();
    EXPECT_TRUE(near(y, doubles(Tensor::from(want.y, y.shape()).to(DType::kF16)), 0, 0)) << n;
  }
}

RODEO_ON_ALL_DEVICES(OpsDenseBlocks);
RODEO_ON_ALL_DEVICES(OpsDenseBlocksProduct);

}  // namespace
}  // namespace rodeo::test
