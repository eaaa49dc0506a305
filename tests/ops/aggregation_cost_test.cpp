#include "ops/plan/aggregation_cost.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

AggregationSizes reddit(int ranks, std::int64_t columns) {
  return {.ranks = ranks, .nodes = 232'965, .edges = 114'615'892, .columns = columns};
}

TEST(OpsAggregationCost, OneRankExchangesNothing) {
  for (const Aggregation form : {Aggregation::kRows, Aggregation::kHalo, Aggregation::kColumns}) {
    const AggregationTime time = predict_aggregation(form, reddit(1, 128));
    EXPECT_EQ(time.exchange_ms, 0) << form;
    EXPECT_EQ(time.bytes_received, 0) << form;
  }
}

// docs/benchmarks: kernels.md and collectives.md, on H200.
TEST(OpsAggregationCost, IsNearWhatWasMeasured) {
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, reddit(1, 128)).sum_ms, 3.99, 0.4);
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, reddit(1, 16)).sum_ms, 0.71, 0.1);
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, reddit(2, 128)).exchange_ms, 0.259, 0.03);
  const AggregationSizes products{.nodes = 2'449'029, .edges = 123'718'280, .columns = 32};
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, products).sum_ms, 2.19, 0.2);
}

TEST(OpsAggregationCost, BytesAreThoseOfTheForm) {
  AggregationSizes sizes{.ranks = 4, .nodes = 400, .edges = 4000, .columns = 64, .halo_share = 0.1};
  EXPECT_EQ(predict_aggregation(Aggregation::kRows, sizes).bytes_received, 300 * 64 * 4);
  EXPECT_EQ(predict_aggregation(Aggregation::kHalo, sizes).bytes_received, 30 * 64 * 4);
  EXPECT_EQ(predict_aggregation(Aggregation::kColumns, sizes).bytes_received, 2 * 300 * 16 * 4);
  sizes.columns = 41;  // slices of whole 16-byte loads: 12 columns
  EXPECT_EQ(predict_aggregation(Aggregation::kColumns, sizes).bytes_received, 2 * 300 * 12 * 4);
}

TEST(OpsAggregationCost, ASmallHaloIsChosen) {
  AggregationSizes sizes{.ranks = 4, .nodes = 2'449'029, .edges = 123'718'280, .columns = 128};
  sizes.halo_share = 0.02;
  EXPECT_EQ(predict_form(sizes, false), Aggregation::kHalo);
  sizes.halo_share = 1;
  EXPECT_EQ(predict_form(sizes, false), Aggregation::kRows);
}

TEST(OpsAggregationCost, SimulatedStepsShrinkWithTheRanks) {
  const std::vector<AggregationSizes> products(4, reddit(1, 128));
  const StepTimes one{.sparse_ms = 16, .gemm_ms = 2, .other_ms = 1};
  const SimulatedStep alone = simulate_step(one, products, 100'000, 1);
  EXPECT_EQ(alone.ms(), 19);
  double before = alone.ms();
  for (const int ranks : {2, 4, 8}) {
    const SimulatedStep step = simulate_step(one, products, 100'000, ranks);
    EXPECT_LT(step.ms(), before) << ranks;
    EXPECT_EQ(step.parts.gemm_ms, 2.0 / ranks);
    EXPECT_GT(step.bytes_received, 0);
    before = step.ms();
  }
}

TEST(OpsAggregationTypes, Names) {
  EXPECT_EQ(aggregation_names(), "auto, rows, overlap, columns, halo");
  EXPECT_EQ(parse_aggregation("halo"), Aggregation::kHalo);
  EXPECT_THROW(parse_aggregation("all"), Error);
}

}  // namespace
}  // namespace rodeo::test
