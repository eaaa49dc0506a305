// Costs of products over ranks, against measurements.
#include "ops/plan/aggregation_cost.h"

#include <gtest/gtest.h>

#include "ops/sparse/aggregation_forms.h"
#include "ops/sparse/exchange_rates.h"
#include "ops/sparse/simulated_step.h"

namespace rodeo::test {
namespace {

AggregationSizes reddit(int ranks, std::int64_t columns) {
  return {.ranks = ranks, .nodes = 232'965, .edges = 114'615'892, .columns = columns};
}

// docs/benchmarks: kernels.md and collectives.md, on H200.
TEST(OpsAggregationCost, IsNearWhatWasMeasured) {
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, reddit(1, 128)).product_ms, 3.99, 0.4);
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, reddit(1, 16)).product_ms, 0.71, 0.1);
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, reddit(2, 128)).exchange_ms, 0.259, 0.03);
  const AggregationSizes products{.nodes = 2'449'029, .edges = 123'718'280, .columns = 32};
  EXPECT_NEAR(predict_aggregation(Aggregation::kRows, products).product_ms, 2.19, 0.2);
}

TEST(OpsAggregationCost, BytesAreThoseOfTheForm) {
  AggregationSizes sizes{.ranks = 4, .nodes = 400, .edges = 4000, .columns = 64, .halo_fraction = 0.1};
  EXPECT_EQ(predict_aggregation(Aggregation::kRows, sizes).bytes_received, 300 * 64 * 4);
  EXPECT_EQ(predict_aggregation(Aggregation::kHalo, sizes).bytes_received, 30 * 64 * 4);
  EXPECT_EQ(predict_aggregation(Aggregation::kColumns, sizes).bytes_received, 2 * 300 * 16 * 4);
  sizes.columns = 41;  // slices of whole 16-byte loads: 12 columns
  EXPECT_EQ(predict_aggregation(Aggregation::kColumns, sizes).bytes_received, 2 * 300 * 12 * 4);
}

// Two exchanges, each of half of the bytes, a third collective, and four arrangements of the rank's rows.
TEST(OpsAggregationCost, ColumnsTravelTwice) {
  const AggregationSizes sizes{.ranks = 2, .nodes = 400, .edges = 4000, .columns = 64};
  EXPECT_NEAR(predict_aggregation(Aggregation::kColumns, sizes).exchange_ms,
              3 * AggregationRates().exchange_ms + 51'200 / 275e6 + 4 * 200 * 256 / 2.5e9, 1e-12);
}

// Two collectives. Sent rows are packed, received and own ones copied: each is read and written.
TEST(OpsAggregationCost, AHaloIsPackedAndPlaced) {
  AggregationSizes sizes{.ranks = 2, .nodes = 400, .edges = 4000, .columns = 64, .halo_fraction = 0.5};
  EXPECT_NEAR(predict_aggregation(Aggregation::kHalo, sizes).exchange_ms,
              2 * AggregationRates().exchange_ms + 100 * 256 / 275e6 + 2 * (100 + 100 + 200) * 256 / 2.5e9,
              1e-12);
  sizes.ranks = 1;
  for (const Aggregation form : {Aggregation::kRows, Aggregation::kHalo, Aggregation::kColumns})
    EXPECT_EQ(predict_aggregation(form, sizes).exchange_ms, 0) << form;
}

TEST(OpsAggregationCost, OtherHostsAreReachedByTheNetwork) {
  AggregationRates rates;
  rates.exchange_ms = 1, rates.exchange_bytes = 100, rates.network_bytes = 10, rates.host_gpus = 8;
  EXPECT_EQ(receive_ms(1500, 1, rates), 0);
  EXPECT_NEAR(receive_ms(1500, 8, rates), 1 + 15, 1e-9);
  EXPECT_NEAR(receive_ms(1500, 16, rates), 1 + 700 / 100 + 800 / 10, 1e-9);  // 7 of the 15 others are near
}

// One rank reads each row of X once, and of several the slowest counts.
TEST(OpsAggregationCost, GatheredRowsAreReadByTheRanksEdges) {
  const AggregationRates rates;
  AggregationSizes sizes{.nodes = 1000, .edges = 5000, .columns = 64};
  EXPECT_EQ(gathered_cost(sizes, 0, rates).product_ms, product_ms(sizes, 5000, 1000, 256, rates));
  sizes.ranks = 2, sizes.imbalance = 3;
  EXPECT_NEAR(gathered_cost(sizes, 500, rates).product_ms, 3 * product_ms(sizes, 2500, 625, 256, rates),
              1e-12);
}

// Every rank reads all weights by columns, and those of its edges by rows.
TEST(OpsAggregationCost, EdgeWeightsAreRead) {
  const AggregationSizes sizes = reddit(4, 128);
  AggregationSizes weighted = sizes;
  weighted.weight_bytes = 4;
  const auto more = [&](Aggregation form) {
    return predict_aggregation(form, weighted).ms() - predict_aggregation(form, sizes).ms();
  };
  const double all = 4 * 114'615'892 / AggregationRates().copy_bytes;
  EXPECT_NEAR(more(Aggregation::kColumns), all, 1e-6);
  EXPECT_NEAR(more(Aggregation::kRows), all / 4, 1e-6);
}

TEST(OpsAggregationCost, ASmallHaloIsChosen) {
  AggregationSizes sizes{.ranks = 4, .nodes = 2'449'029, .edges = 123'718'280, .columns = 128};
  sizes.halo_fraction = 0.02;
  EXPECT_EQ(predict_form(sizes), Aggregation::kHalo);
  sizes.halo_fraction = 1;
  EXPECT_GT(predict_aggregation(Aggregation::kHalo, sizes).ms(),
            predict_aggregation(Aggregation::kRows, sizes).ms());
}

AggregationSizes products_gat(int ranks) {
  return {.ranks = ranks, .nodes = 2'449'029, .edges = 123'718'280, .columns = 64, .heads = 8};
}

// docs/benchmarks/collectives.md: the sparse part of an epoch has forward and backward of 64 columns and
// of 47.
TEST(OpsAggregationCost, AttentionIsNearWhatWasMeasured) {
  AggregationSizes last = products_gat(1);
  last.columns = 47, last.heads = 1;
  const double epoch = 2 * (predict_aggregation(Aggregation::kRows, products_gat(1)).product_ms +
                            predict_aggregation(Aggregation::kRows, last).product_ms);
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
  EXPECT_EQ(predict_aggregation(Aggregation::kColumns, products_gat(16)).product_ms,
            predict_aggregation(Aggregation::kColumns, products_gat(8)).product_ms);
}

TEST(OpsAggregationCost, OneHeadIsComputedByRows) {
  AggregationSizes whole = products_gat(2);
  whole.heads = 1;
  EXPECT_EQ(predict_form(whole), Aggregation::kRows);
}

TEST(OpsAggregationCost, RatesAreALineThroughTwoTimes) {
  const AggregationRates rates = rates_of(1e6, 0.05, 101e6, 0.45);
  EXPECT_NEAR(rates.exchange_bytes, 250e6, 1);
  EXPECT_NEAR(rates.exchange_ms, 0.05 - 0.004, 1e-12);
  const AggregationRates disturbed = rates_of(1e6, 0.5, 101e6, 0.45);
  EXPECT_GT(disturbed.exchange_bytes, 0);
  EXPECT_GT(disturbed.exchange_ms, 0);
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

// A sum of gradients is a reduce-scatter and an all-gather: each brings the parts of the others.
TEST(OpsAggregationCost, GradientsAreSummedInParts) {
  const StepTimes one{.sparse_ms = 16, .gemm_ms = 2, .other_ms = 1};
  for (const int ranks : {2, 4}) {
    const SimulatedStep step = simulate_step(one, {}, 1000, ranks);
    const double bytes = 2 * 4000. * (ranks - 1) / ranks;
    EXPECT_EQ(step.bytes_received, bytes);
    EXPECT_NEAR(step.exchange_ms, receive_ms(bytes, ranks, {}), 1e-12);
    EXPECT_EQ(step.parts.sparse_ms, 16. / ranks) << "without sums, by the ranks";
    EXPECT_EQ(step.parts.other_ms, 1. / ranks);
  }
  EXPECT_EQ(simulate_step(one, {}, 1000, 1).bytes_received, 0);
}

// The product is that of gathered rows; each rank drops out the rows of others, too.
TEST(OpsAggregationCost, AnInputOnAllRanksIsNotExchanged) {
  const AggregationRates rates;
  AggregationSizes sizes = reddit(2, 128);
  const double exchanged = gathered_cost(sizes, 116'482, rates).product_ms;
  sizes.x_on_all_ranks = true;
  const AggregationTime time = predict_aggregation(Aggregation::kRows, sizes);
  EXPECT_NEAR(time.product_ms, exchanged, 1e-4 * exchanged);
  EXPECT_EQ(time.exchange_ms, 0);
  EXPECT_EQ(time.bytes_received, 0);
  const StepTimes one{.sparse_ms = 4, .gemm_ms = 2, .other_ms = 1};
  EXPECT_EQ(simulate_step(one, {sizes}, 0, 1).ms(), 7);
  const SimulatedStep two = simulate_step(one, {sizes}, 0, 2);
  EXPECT_NEAR(two.parts.other_ms, 0.5 + 232'965 / 2. * 128 * 4 / rates.copy_bytes, 1e-9);
  EXPECT_NEAR(two.exchange_ms, rates.exchange_ms, 1e-9);  // gradients
}

}  // namespace
}  // namespace rodeo::test
