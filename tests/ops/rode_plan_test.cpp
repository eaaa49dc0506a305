#include "ops/rode_plan.h"

#include <algorithm>
#include <numeric>

#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

TEST(OpsRodePlan, PiecesAtTheEdges) {
  const std::pair<std::int64_t, std::int64_t> expected[] = {
      {0, 0},   {1, 0},   {31, 0},   {32, 1},   {33, 1},   {511, 1},  {512, 1},
      {543, 1}, {544, 2}, {1023, 2}, {1024, 2}, {1055, 2}, {1056, 3}, {100000, 196}};
  for (const auto& [length, pieces] : expected)
    EXPECT_EQ(RodePlan::pieces(length), pieces) << "length " << length;
}

TEST(OpsRodePlan, CoversEveryNonzeroOnce) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make();
    const RodePlan& plan = rode_plan(adj);
    const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
    std::vector<int> covered(static_cast<std::size_t>(adj.num_edges())),
        written(static_cast<std::size_t>(adj.rows()));
    const auto cover = [&](std::int64_t begin, std::int64_t length) {
      for (std::int64_t e = begin; e < begin + length; ++e) ++covered.at(static_cast<std::size_t>(e));
    };
    const auto row = plan.piece_row.to_vector<std::int32_t>(),
               split = plan.piece_split.to_vector<std::int32_t>();
    const auto begin = plan.piece_begin.to_vector<std::int64_t>(),
               slot = plan.split_slot.to_vector<std::int64_t>();
    std::vector<int> slots_used(static_cast<std::size_t>(plan.num_slots));
    std::int64_t longest = RodePlan::kSplit + RodePlan::kBlock;
    for (std::size_t p = 0; p < row.size(); ++p) {
      const std::int64_t length = RodePlan::piece_length(row_ptr[row[p] + 1] - begin[p]);
      EXPECT_GE(length, RodePlan::kBlock);
      EXPECT_LE(length / RodePlan::kBlock, longest / RodePlan::kBlock) << "longest first";
      longest = length;
      cover(begin[p], length);
      if (split[p] < 0)
        ++written[row[p]];
      else
        ++slots_used.at(slot[split[p]] + (begin[p] - row_ptr[row[p]]) / RodePlan::kSplit);
    }
    for (const std::int32_t r : plan.residual_row.to_vector<std::int32_t>()) {
      EXPECT_LT(row_ptr[r + 1] - row_ptr[r], RodePlan::kBlock);
      cover(row_ptr[r], row_ptr[r + 1] - row_ptr[r]);
      ++written[r];
    }
    EXPECT_TRUE(std::ranges::all_of(covered, [](int c) { return c == 1; })) << sparse_case.name;
    EXPECT_TRUE(std::ranges::all_of(slots_used, [](int c) { return c == 1; })) << sparse_case.name;
    EXPECT_EQ(std::accumulate(written.begin(), written.end(), 0) + plan.num_split_rows(), adj.rows());
    EXPECT_EQ(slot.back(), plan.num_slots);
  }
}

class OpsRodePlanOnDevice : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsRodePlanOnDevice);

TEST_P(OpsRodePlanOnDevice, EqualsTheHostPlan) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make(), there = adj.to(device());
    const RodePlan &want = rode_plan(adj), &got = rode_plan(there);  // each lives as long as its graph
    EXPECT_TRUE(same_bits(got.piece_row, want.piece_row)) << sparse_case.name;
    EXPECT_TRUE(same_bits(got.piece_begin, want.piece_begin)) << sparse_case.name;
    EXPECT_TRUE(same_bits(got.piece_split, want.piece_split)) << sparse_case.name;
    EXPECT_TRUE(same_bits(got.residual_row, want.residual_row)) << sparse_case.name;
    EXPECT_TRUE(same_bits(got.split_slot, want.split_slot)) << sparse_case.name;
    EXPECT_EQ(got.num_slots, want.num_slots);
  }
}

}  // namespace
}  // namespace rodeo::test
