#include "core/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/random.h"

namespace rodeo::test {
namespace {

constexpr std::int64_t kUnit = MemoryPlan::kUnit;

TEST(CoreMemoryPlan, ABlockTakesThePlaceOfSeveralThatAreGone) {
  // First come, first placed would need 9 units: 4 do not fit before the block that lives on.
  const MemoryPlan plan =
      plan_memory({{3 * kUnit, 0, 2}, {kUnit, 1, 5}, {4 * kUnit, 3, 4}, {1, 6, BlockLife::kStays}});
  EXPECT_EQ(plan.bytes, 5 * kUnit);
  EXPECT_EQ(plan.sizes, (std::vector<std::int64_t>{3 * kUnit, kUnit, 4 * kUnit, kUnit}));
  EXPECT_EQ(plan.offsets[2], 0);
  EXPECT_EQ(plan.offsets[1], 4 * kUnit);
}

// Blocks have addresses of their own, also empty ones.
TEST(CoreMemoryPlan, SizesAreWholeUnitsAndAtLeastOne) {
  const MemoryPlan plan = plan_memory({{0, 0, 2}, {1, 0, 2}, {kUnit, 0, 2}, {kUnit + 1, 0, 2}});
  EXPECT_EQ(plan.sizes, (std::vector<std::int64_t>{kUnit, kUnit, kUnit, 2 * kUnit}));
  EXPECT_EQ(plan.offsets, (std::vector<std::int64_t>{2 * kUnit, 3 * kUnit, 4 * kUnit, 0}));
  EXPECT_EQ(plan.bytes, 5 * kUnit);
  EXPECT_EQ(plan_memory({}).bytes, 0);
}

// Behind the block of 4 units, one of 3 is gone when the last comes.
TEST(CoreMemoryPlan, AGapTakesABlockThatFitsExactly) {
  const auto with = [](std::int64_t bytes) {
    return plan_memory({{4 * kUnit, 0, 9}, {3 * kUnit, 0, 4}, {3 * kUnit, 0, 9}, {bytes, 5, 9}});
  };
  EXPECT_EQ(with(3 * kUnit).bytes, 10 * kUnit);
  EXPECT_EQ(with(3 * kUnit).offsets[3], 4 * kUnit);
  EXPECT_EQ(with(3 * kUnit + 1).bytes, 11 * kUnit);
}

// A life is half open: the end of one block may be the begin of the next.
TEST(CoreMemoryPlan, ABlockFollowsAnotherAtItsEnd) {
  EXPECT_EQ(plan_memory({{kUnit, 0, 1}, {kUnit, 1, 2}}).bytes, kUnit);
  EXPECT_EQ(plan_memory({{kUnit, 1, 2}, {kUnit, 0, 1}}).bytes, kUnit);
  EXPECT_EQ(plan_memory({{kUnit, 0, 2}, {kUnit, 1, 2}}).bytes, 2 * kUnit);
}

TEST(CoreMemoryPlan, BlocksThatLiveTogetherAreApart) {
  Philox4 random{};
  std::vector<BlockLife> blocks;
  for (std::uint64_t i = 0; i < 300; ++i) {
    random = philox(7, 0, i);
    const std::int64_t begin = random.word[0] % 1000, length = 1 + random.word[1] % 100;
    blocks.push_back({1 + random.word[2] % (20 * kUnit), begin,
                      random.word[3] % 10 == 0 ? BlockLife::kStays : begin + length});
  }
  const MemoryPlan plan = plan_memory(blocks);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    std::int64_t live = 0;
    for (std::size_t j = 0; j < blocks.size(); ++j) {
      if (blocks[j].begin <= blocks[i].begin && blocks[i].begin < blocks[j].end) live += plan.sizes[j];
      const bool together = blocks[j].begin < blocks[i].end && blocks[i].begin < blocks[j].end;
      if (i == j || !together) continue;
      EXPECT_TRUE(plan.offsets[i] + plan.sizes[i] <= plan.offsets[j] ||
                  plan.offsets[j] + plan.sizes[j] <= plan.offsets[i])
          << i << " and " << j;
    }
    most = std::max(most, live);
    EXPECT_LE(plan.offsets[i] + plan.sizes[i], plan.bytes);
  }
  EXPECT_GE(plan.bytes, most);
  EXPECT_LE(plan.bytes, most + most / 10);
}

TEST(CoreMemoryPlan, ATraceKnowsTheBlocksOfItsDevice) {
  const Device gpu = cuda_device(0), other = cuda_device(1);
  const int data[4] = {};
  MemoryTrace trace(gpu);
  ASSERT_EQ(MemoryTrace::active(), &trace);
  trace.freed(data + 3);  // from before the trace
  trace.allocated(data, 10, gpu);
  trace.allocated(data + 1, 20, other);
  trace.allocated(data + 2, 30, gpu);
  trace.freed(data);
  trace.allocated(data, 40, gpu);  // at the same address
  trace.freed(data + 1);
  EXPECT_EQ(trace.blocks(), (std::vector<BlockLife>{{10, 0, 2}, {30, 1}, {40, 3}}));
}

TEST(CoreMemoryPlan, TheInnermostTraceRecords) {
  const Device gpu = cuda_device(0);
  const int data = 0;
  MemoryTrace outer(gpu);
  {
    MemoryTrace inner(gpu);
    MemoryTrace::active()->allocated(&data, 10, gpu);
    EXPECT_EQ(inner.blocks().size(), 1U);
  }
  EXPECT_EQ(MemoryTrace::active(), &outer);
  EXPECT_TRUE(outer.blocks().empty());
}

}  // namespace
}  // namespace rodeo::test
