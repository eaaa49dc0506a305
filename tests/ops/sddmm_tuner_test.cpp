#include "ops/sddmm_tuner.h"

#include <cmath>
#include <fstream>
#include <map>

#include "ops/graph_hash.h"
#include "ops/sddmm.h"
#include "ops/sparse/graph_plans.h"
#include "ops/sparse/row_order.h"
#include "ops/sparse/tuning_cache.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"
#include "tests/support/temp_dir.h"

namespace rodeo::test {
namespace {

constexpr SddmmAlgorithm kRows = SddmmAlgorithm::kRows, kEdges = SddmmAlgorithm::kEdges;

/// The choice on a device of which every run takes a known time; `usual` is the rule's.
SddmmChoice tune(SddmmAlgorithm usual, double rows, double edges) {
  const std::map<SddmmAlgorithm, double> ms{{kRows, rows}, {kEdges, edges}};
  double now = 0;
  return choose_by_time(
      std::vector<SddmmCandidate>{{usual}, {usual == kRows ? kEdges : kRows}},
      [&](SddmmAlgorithm algorithm, int runs) {
        check(ms.at(algorithm) > 0, "out of memory");
        now += runs * ms.at(algorithm);
        return runs * ms.at(algorithm);
      },
      [&] { return now; });
}

TEST(OpsSddmmTuner, TakesTheFasterAndOfEqualsTheRules) {
  for (const SddmmAlgorithm usual : {kRows, kEdges}) {
    EXPECT_EQ(tune(usual, 1, 0.9).algorithm, kEdges);
    EXPECT_EQ(tune(usual, 0.9, 1).algorithm, kRows);
    EXPECT_EQ(tune(usual, 1, 0.99).algorithm, usual);
    EXPECT_EQ(tune(usual, 0.99, 1).algorithm, usual);
  }
  EXPECT_EQ(str(tune(kRows, 0.01, 0.005)),
            "edges, measured: 2.00x as fast as rows (1.5 ms of tuning)\n"
            "  rows         0.0100 ms, 97 runs\n"
            "  edges        0.0050 ms, 97 runs\n");
}

TEST(OpsSddmmTuner, WhatDoesNotRunIsNotTaken) {
  const SddmmChoice choice = tune(kRows, 1, NAN);
  EXPECT_EQ(choice.algorithm, kRows);
  EXPECT_EQ(choice.source, SddmmChoice::Source::kRule);
  EXPECT_EQ(choice.candidates[1].remark, "out of memory");
  EXPECT_EQ(tune(kEdges, 1, 500).source, SddmmChoice::Source::kRule) << "no second run fits the budget";
}

SddmmTuningCache::Key key(SddmmProblem problem) {
  return {0xabc, "A GPU", problem};
}

TEST(OpsSddmmTuner, AFileKeepsEachChoice) {
  const TempDir folder;
  SddmmTuningCache first(folder / "");
  first.keep(key({1, 16}), {kEdges, {{.algorithm = kRows, .ms = 1.5}, {.algorithm = kEdges, .ms = 0.5}}});
  first.keep(key({8, 16}), {kRows, {}});
  EXPECT_EQ(first.complaint(), "");
  EXPECT_EQ(first.file(0xabc), (folder / "") + "/sddmm-0000000000000abc.txt");
  SddmmTuningCache second(folder / "");
  const auto found = second.find(key({1, 16}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->algorithm, kEdges);
  ASSERT_EQ(found->candidates.size(), 2u);
  EXPECT_EQ(found->candidates[0].ms, 1.5);
  ASSERT_TRUE(second.find(key({8, 16})));
  EXPECT_EQ(second.find(key({8, 16}))->algorithm, kRows);
  for (const SddmmProblem& other :
       {SddmmProblem{2, 16}, {1, 17}, {1, 16, DType::kF16}, {1, 16, DType::kF32, true}})
    EXPECT_FALSE(second.find(key(other))) << other;

  // The file of spmm's choices for the same graph is another one, and neither reads the other's.
  SpmmTuningCache spmm_choices(folder / "");
  EXPECT_NE(spmm_choices.file(0xabc), second.file(0xabc));
  std::ofstream(second.file(0xabc)) << "rodeo spmm choices, format 1\n";
  EXPECT_FALSE(SddmmTuningCache(folder / "").find(key({1, 16})));
}

TEST(OpsSddmmTuner, OnTheCpuNothingIsTimed) {
  const Adjacency adj = graph_with_lengths({5, 0, 3}, 4);
  EXPECT_EQ(explain_sddmm(adj), "");
  const Tensor b1 = Tensor::zeros({3, 2, 16}), b2 = Tensor::zeros({4, 2, 16});
  sddmm(adj, b1, b2, SddmmOp::kDot, {}, {kEdges});
  sddmm(adj, b1, b2, SddmmOp::kAdd);
  EXPECT_EQ(explain_sddmm(adj), "");
  sddmm(adj, b1, b2);
  sddmm(adj, Tensor::zeros({3, 4}), Tensor::zeros({4, 4}), SddmmOp::kDot, Tensor::zeros({8}));
  EXPECT_EQ(explain_sddmm(adj),
            "k=4 f32 weighted: rows, by rule: one loop on the CPU\n"
            "2 heads k=16 f32 unweighted: rows, by rule: one loop on the CPU\n");
}

TEST(OpsSddmmTuner, AGraphThatIsUsedOnceKeepsNoChoice) {
  const Adjacency adj = graph_with_lengths({5, 0, 3}, 4);
  assume_no_locality(adj);
  sddmm(adj, Tensor::zeros({3, 4}), Tensor::zeros({4, 4}));
  EXPECT_EQ(explain_sddmm(adj), "");
}

class OpsSddmmTunerOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
    adj_ = fresh();
    b1_ = random_tensor({adj_.rows(), 64}, DType::kF32, adj_.device());
    b2_ = random_tensor({adj_.cols(), 64}, DType::kF32, adj_.device());
  }
  static Adjacency fresh() {
    std::vector<std::int64_t> lengths(20000);
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<std::int64_t>(i % 40);
    return graph_with_lengths(lengths, 20000).to(cuda_device());
  }
  SddmmAlgorithm choose(const Adjacency& adj, SddmmTuningCache& cache) {
    return choose_sddmm(
        adj, {.k = 64},
        [&](SddmmAlgorithm algorithm) {
          ++runs_;
          sddmm(adj, b1_, b2_, SddmmOp::kDot, {}, {algorithm});
        },
        cache);
  }

  Adjacency adj_;
  Tensor b1_, b2_;
  int runs_ = 0;
};

TEST_F(OpsSddmmTunerOnGpu, BothAreTimedOnceAndTheChoiceIsKept) {
  const TempDir folder;
  SddmmTuningCache first(folder / ""), second(folder / "");
  const SddmmAlgorithm chosen = choose(adj_, first);
  EXPECT_GE(runs_, 4);
  EXPECT_NE(explain_sddmm(adj_).find("ms of tuning"), std::string::npos) << explain_sddmm(adj_);
  EXPECT_EQ(has_cached_edge_rows(adj_), chosen == kEdges) << "what lost keeps no memory";
  runs_ = 0;
  EXPECT_EQ(choose(adj_, first), chosen);
  const Adjacency equal = fresh();
  EXPECT_EQ(choose(equal, second), chosen) << "a later run";
  EXPECT_EQ(runs_, 0);
  EXPECT_NE(explain_sddmm(equal).find(", remembered: as tuned before"), std::string::npos);

  for (const SddmmAlgorithm other : {kRows, kEdges}) {  // what the file says counts
    SddmmTuningCache kept("");
    kept.keep({graph_hash(adj_), describe(cuda_device()), {.k = 64}}, {other, {}});
    EXPECT_EQ(choose(fresh(), kept), other);
  }
  EXPECT_EQ(runs_, 0);
}

TEST_F(OpsSddmmTunerOnGpu, AutoIsTheChosenAlgorithmBitForBit) {
  const Tensor s = sddmm(adj_, b1_, b2_);
  const std::string told = explain_sddmm(adj_), start = "k=64 f32 unweighted: ";
  ASSERT_TRUE(told.starts_with(start)) << told;
  const SddmmAlgorithm chosen =
      parse_sddmm_algorithm(told.substr(start.size(), told.find(',') - start.size()));
  EXPECT_TRUE(same_bits(s, sddmm(adj_, b1_, b2_, SddmmOp::kDot, {}, {chosen}))) << told;
}

TEST_F(OpsSddmmTunerOnGpu, ASmallGraphIsNotTimed) {
  const Adjacency small = graph_with_lengths({3, 4}, 20000).to(cuda_device());
  SddmmTuningCache cache("");
  EXPECT_EQ(choose(small, cache), sddmm_rule(small, {.k = 64}));
  EXPECT_EQ(runs_, 0);
}

}  // namespace
}  // namespace rodeo::test
