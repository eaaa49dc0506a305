#include "ops/tca_plan.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

TEST(OpsTcaPlan, GroupsAndPiecesAtTheEdges) {
  const std::pair<std::int64_t, int> groups[] = {{0, 4},  {8, 4},  {9, 3},  {16, 3}, {17, 2},
                                                 {32, 2}, {33, 1}, {64, 1}, {65, 0}, {100000, 0}};
  for (const auto& [length, group] : groups) EXPECT_EQ(TcaPlan::group_of(length), group) << length;
  const std::pair<std::int64_t, std::int64_t> pieces[] = {{0, 1},    {1, 1},    {64, 1},   {65, 1},
                                                          {511, 1},  {512, 1},  {575, 1},  {576, 2},
                                                          {1024, 2}, {1087, 2}, {1088, 3}, {100000, 196}};
  for (const auto& [length, count] : pieces) EXPECT_EQ(TcaPlan::pieces(length), count) << length;
}

// A job has all columns of its row: that the tiles of columns are complete is a matter of spmm_tca_test.
TEST(OpsTcaPlan, CoversEveryNonzeroAndRowOnce) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make();
    const TcaPlan& plan = tca_plan(adj);
    const auto row_ptr = adj.csr().row_ptr.to_vector<std::int64_t>();
    const auto row = plan.job_row.to_vector<std::int32_t>(),
               length = plan.job_length.to_vector<std::int32_t>(),
               split = plan.job_split.to_vector<std::int32_t>();
    const auto begin = plan.job_begin.to_vector<std::int64_t>(),
               slot = plan.split_slot.to_vector<std::int64_t>();
    ASSERT_EQ(plan.group_begin[0], 0);
    ASSERT_EQ(plan.group_begin[TcaPlan::kGroups], plan.num_jobs());
    ASSERT_EQ(static_cast<std::int64_t>(split.size()), plan.group_begin[1]);

    std::vector<int> covered(static_cast<std::size_t>(adj.num_edges())),
        written(static_cast<std::size_t>(adj.rows())), slots(static_cast<std::size_t>(plan.num_slots));
    for (int group = 0; group < TcaPlan::kGroups; ++group)
      for (std::int64_t job = plan.group_begin[group]; job < plan.group_begin[group + 1]; ++job) {
        EXPECT_EQ(TcaPlan::group_of(row_ptr[row[job] + 1] - row_ptr[row[job]]), group);
        if (job > plan.group_begin[group]) {
          EXPECT_GE(row[job], row[job - 1]) << "row order";
        }
        EXPECT_LT(length[job], TcaPlan::kSplit + TcaPlan::kChunk);
        EXPECT_GE(begin[job], row_ptr[row[job]]);
        EXPECT_LE(begin[job] + length[job], row_ptr[row[job] + 1]);
        for (std::int64_t e = begin[job]; e < begin[job] + length[job]; ++e) ++covered.at(e);
        if (group > 0 || split[job] < 0)
          ++written[row[job]];
        else
          ++slots.at(slot[split[job]] + (begin[job] - row_ptr[row[job]]) / TcaPlan::kSplit);
      }
    const auto once = [](int count) { return count == 1; };
    EXPECT_TRUE(std::ranges::all_of(covered, once)) << sparse_case;
    EXPECT_TRUE(std::ranges::all_of(slots, once)) << sparse_case;
    EXPECT_EQ(std::accumulate(written.begin(), written.end(), 0) + plan.num_split_rows(), adj.rows());
    EXPECT_TRUE(std::ranges::all_of(written, [](int count) { return count <= 1; })) << sparse_case;
    EXPECT_EQ(slot.back(), plan.num_slots);
  }
}

TEST(OpsTcaPlan, Prints) {
  const Adjacency adj = graph_with_lengths({1200, 0, 60, 5, 20, 12, 70}, 9);
  EXPECT_EQ(str(tca_plan(adj)), "4 pieces, 1 split rows; rows of up to 64, 32, 16, 8 nonzeros: 1, 1, 1, 2");
}

class OpsTcaPlanOnDevice : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsTcaPlanOnDevice);

void expect_equal(const TcaPlan& got, const TcaPlan& want, const std::string& what) {
  EXPECT_TRUE(same_bits(got.job_row, want.job_row)) << what;
  EXPECT_TRUE(same_bits(got.job_length, want.job_length)) << what;
  EXPECT_TRUE(same_bits(got.job_begin, want.job_begin)) << what;
  EXPECT_TRUE(same_bits(got.job_split, want.job_split)) << what;
  EXPECT_TRUE(same_bits(got.split_slot, want.split_slot)) << what;
  EXPECT_TRUE(std::ranges::equal(got.group_begin, want.group_begin)) << what;
  EXPECT_EQ(got.num_slots, want.num_slots) << what;
}

TEST_P(OpsTcaPlanOnDevice, EqualsTheHostPlan) {
  for (const SparseCase& sparse_case : sparse_cases()) {
    const Adjacency adj = sparse_case.make(), there = adj.to(device());
    expect_equal(tca_plan(there), tca_plan(adj), sparse_case.name);
    std::vector<std::uint8_t> group(static_cast<std::size_t>(adj.rows()));
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = static_cast<std::uint8_t>(i * 37 % 256);
    const Tensor cluster = Tensor::from(group);
    expect_equal(make_tca_plan(there, cluster.to(device())), make_tca_plan(adj, cluster), sparse_case.name);
  }
}

TEST_P(OpsTcaPlanOnDevice, ClustersComeOneAfterAnother) {
  const Adjacency adj = graph_with_lengths({5, 40, 6, 100, 33, 7}, 50).to(device());
  const TcaPlan plan =
      make_tca_plan(adj, Tensor::from(std::vector<std::uint8_t>{9, 9, 0, 0, 2, 1}).to(device()));
  EXPECT_EQ(plan.job_row.to_vector<std::int32_t>(), (std::vector<std::int32_t>{3, 4, 1, 2, 5, 0}));
}

}  // namespace
}  // namespace rodeo::test
