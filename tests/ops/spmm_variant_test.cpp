#include "ops/spmm_variant.h"

#include "ops/dense.h"
#include "ops/plan/residual_bins.h"
#include "ops/plan/rode_variant.h"
#include "ops/sparse/spmm_products.h"
#include "ops/spmm.h"
#include "ops/spmm_tuner.h"
#include "tests/ops/gpus.h"
#include "tests/support/cases.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

TEST(OpsSpmmVariant, NamesWhatIsLaunched) {
  // Counts of a plan: pieces, residual rows, warps of teams for these. Karate, Cora, Reddit.
  const auto chosen = [](std::int64_t rows, std::int64_t edges, const RodeSizes& plan) {
    const SpmmSizes sizes{.rows = rows, .cols = rows, .edges = edges, .k = 64};
    return rode_variant(choose_rode_config(sizes, plan, kH200));
  };
  EXPECT_EQ(chosen(34, 156, {0, 34, 9}), "rode-tiny");
  EXPECT_EQ(chosen(2708, 10556, {2, 2706, 697}), "rode-small");
  EXPECT_EQ(chosen(232965, 114615892, {300000, 20000, 6000}), "rode");
}

TEST(OpsSpmmVariant, AMixtureIsRode) {
  SpmmConfig config;
  config.num_launches = 2;
  config.launch_array[0].kernel = SpmmKernel::kTeams;
  config.launch_array[1].kernel = SpmmKernel::kWarps;
  EXPECT_EQ(rode_variant(config), "rode");
  config.launch_array[1].kernel = SpmmKernel::kTeams;
  EXPECT_EQ(rode_variant(config), "rode-small");
}

TEST(OpsResidualBins, CoverEveryRowOnce) {
  RodePlan plan;
  plan.residual_row = Tensor::zeros({100}, DType::kI32);
  plan.residual_over_16 = 13, plan.residual_over_8 = 40;
  for (const int max_lanes : {32, 16, 8}) {
    const ResidualBins bins(plan, max_lanes);
    std::vector<int> taken(100);
    for (std::uint32_t warp = 0; warp < bins.warps; ++warp) {
      const ResidualBins::Teams teams = bins.of_warp(warp);
      const auto rows = static_cast<std::uint32_t>(32 / teams.lanes);
      EXPECT_LT(teams.first, teams.end) << "a warp without a row";
      for (std::uint32_t row = teams.first; row < std::min(teams.first + rows, teams.end); ++row) {
        ++taken.at(row);
        EXPECT_EQ(teams.lanes, row < 13 ? max_lanes : row < 40 ? max_lanes / 2 : max_lanes / 4);
      }
    }
    EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), 100) << max_lanes;
  }
}

TEST(OpsSpmmVariant, OtherAlgorithmsHaveOneName) {
  const Adjacency adj = graph_with_lengths({5, 0, 3}, 4);
  EXPECT_EQ(str(spmm_variant(adj, {.n = 3}, SpmmAlgorithm::kCsr)), "csr");
  EXPECT_EQ(str(spmm_variant(adj, {.n = 3})), "rode") << "the CPU has one kernel";
  EXPECT_ERROR(spmm_variant(adj, {.n = 3}, SpmmAlgorithm::kAuto),
               "[spmm_variant] algorithm must not be auto: choose one by name");
}

TEST(OpsSpmmVariant, WhatRanIsOneLineForEachKindOfProduct) {
  const Adjacency adj = graph_with_lengths({5, 0, 3}, 4);
  EXPECT_EQ(explain_rode(adj), "");
  for (const bool again : {false, true}) {
    SCOPED_TRACE(again);
    note_rode_product(adj, SpmmAlgorithm::kRode, {.n = 16}, {});
    note_rode_product(adj, SpmmAlgorithm::kRodeTc, {.n = 3, .weighted = true}, {64, 16});
  }
  EXPECT_EQ(explain_rode(adj),
            "  n=16 f32 unweighted: rode\n  n=3 f32 weighted, split 64, block 16: rode-tc\n");
}

class OpsSpmmVariantOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  }
};

TEST_F(OpsSpmmVariantOnGpu, EachSizeHasItsKernel) {
  const auto graph = [](std::int64_t rows, std::int64_t cols) {
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < rows; ++i) lengths.push_back(i % 8);
    return graph_with_lengths(lengths, cols).to(cuda_device());
  };
  const Adjacency tiny = graph(30, 40), small = graph(3000, 3000), large = graph(300'000, 9000);
  EXPECT_EQ(spmm_variant(tiny, {.n = 16}).name, "rode-tiny");
  EXPECT_EQ(spmm_variant(small, {.n = 16}).name, "rode-small");
  EXPECT_EQ(spmm_variant(large, {.n = 64}).name, "rode");
  EXPECT_EQ(spmm_variant(tiny, {.n = 16, .dtype = DType::kF64}).name, "rode")
      << "f64 has the kernel of warps alone";

  // What kAuto and a named kRode ran is told.
  const Tensor x = Tensor::zeros({3000, 16}, DType::kF32, cuda_device());
  spmm(small, x);
  EXPECT_EQ(explain_spmm(small),
            str("n=16 f32 unweighted: rode, by rule: too small for a difference\n  runs ",
                spmm_variant(small, {.n = 16}), "\n"));
  EXPECT_EQ(explain_rode(small), "");
  spmm(small, x, {SpmmAlgorithm::kRode});
  spmm(small, x, {.algorithm = SpmmAlgorithm::kRode, .rode = {64, 16}});
  EXPECT_EQ(explain_rode(small),
            str("  n=16 f32 unweighted: ", spmm_variant(small, {.n = 16}),
                "\n  n=16 f32 unweighted, split 64, block 16: ", spmm_variant(small, {.n = 16}), "\n"));
}

}  // namespace
}  // namespace rodeo::test
