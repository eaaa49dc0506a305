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

// Every rank reads all weights by columns, and its share by rows.
TEST(OpsAggregationCost, EdgeWeightsAreRead) {
  AggregationSizes sizes = reddit(4, 128), weighted = sizes;
  weighted.weight_bytes = 4;
  const auto more = [&](Aggregation form) {
    return predict_aggregation(form, weighted).ms() - predict_aggregation(form, sizes).ms();
  };
  const double all = 4 * 114'615'892 / AggregationRates().copy_bytes;
  EXPECT_NEAR(more(Aggregation::kColumns), all, 1e-6);
  EXPECT_NEAR(more(Aggregation::kRows), all / 4, 1e-6);
  sizes.parts = weighted.parts = 4;  // each part reads them again
  const double sums = predict_aggregation(Aggregation::kOverlap, weighted).sum_ms -
                      predict_aggregation(Aggregation::kOverlap, sizes).sum_ms;
  EXPECT_NEAR(sums, all, 1e-6);
}

TEST(OpsAggregationCost, ASmallHaloIsChosen) {
  AggregationSizes sizes{.ranks = 4, .nodes = 2'449'029, .edges = 123'718'280, .columns = 128};
  sizes.halo_share = 0.02;
  EXPECT_EQ(predict_form(sizes, false), Aggregation::kHalo);
  sizes.halo_share = 1;
  EXPECT_EQ(predict_form(sizes, false), Aggregation::kRows);
}

AggregationSizes products_gat(int ranks) {
  return {.ranks = ranks, .nodes = 2'449'029, .edges = 123'718'280, .columns = 64, .heads = 8, .parts = 2};
}

// docs/benchmarks/collectives.md: the sparse part of an epoch has forward and backward of 64 columns and
// of 47.
TEST(OpsAggregationCost, AttentionIsNearWhatWasMeasured) {
  AggregationSizes last = products_gat(1);
  last.columns = 47, last.heads = last.parts = 1;
  const double epoch = 2 * (predict_aggregation(Aggregation::kRows, products_gat(1)).sum_ms +
                            predict_aggregation(Aggregation::kRows, last).sum_ms);
  EXPECT_NEAR(epoch, 45.4, 5);
}

TEST(OpsAggregationCost, AttentionTravelsByHeads) {
  const auto received = [](Aggregation form, int ranks) {
    AggregationSizes sizes = products_gat(ranks);
    sizes.nodes = 400;
    return predict_aggregation(form, sizes).bytes_received;
  };
  EXPECT_EQ(received(Aggregation::kRows, 2), 200 * (64 + 8) * 4);
  EXPECT_EQ(received(Aggregation::kColumns, 2), 2 * 200 * 32 * 4);
  EXPECT_EQ(received(Aggregation::kColumns, 4), 2 * 300 * 16 * 4);
  // Heads are not cut: with 16 ranks, 8 have one each.
  EXPECT_EQ(predict_aggregation(Aggregation::kColumns, products_gat(16)).sum_ms,
            predict_aggregation(Aggregation::kColumns, products_gat(8)).sum_ms);
}

TEST(OpsAggregationCost, AttentionOverlapsWithoutItsFirstPart) {
  const auto shown = [](Aggregation form) { return predict_aggregation(form, products_gat(2)).exchange_ms; };
  EXPECT_GT(shown(Aggregation::kOverlap), shown(Aggregation::kRows) / 2);
  EXPECT_LT(shown(Aggregation::kOverlap), shown(Aggregation::kRows));
  AggregationSizes whole = products_gat(2);
  whole.heads = whole.parts = 1;
  EXPECT_EQ(predict_form(whole, true), Aggregation::kRows);
}

TEST(OpsAggregationCost, PartsOfSumsAreOfWholeLines) {
  EXPECT_EQ(sum_parts(128, 4), 4);
  EXPECT_EQ(columns_of_part(128, 4), 32);
  EXPECT_EQ(columns_of_part(256, 4), 64);
  EXPECT_EQ(columns_of_part(130, 4), 64);
  EXPECT_EQ(sum_parts(130, 4), 3);
  EXPECT_EQ(sum_parts(41, 4), 2);
  EXPECT_EQ(sum_parts(32, 4), 1);
  EXPECT_EQ(sum_parts(64, 2), 1);
  EXPECT_EQ(sum_parts(0, 4), 1);
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
