#include "train/read_ahead.h"

#include <gtest/gtest.h>

namespace rodeo::test {
namespace {

/// Batch `at` reads node `at`, and has it as its feature. Logs what happens.
class TrainReadAhead : public testing::Test {
 protected:
  ReadAhead batches(std::size_t count) {
    return {count,
            [this](std::size_t at) {
              log_ += str("s", at, " ");
              const Tensor node = Tensor::from(std::vector{static_cast<std::int64_t>(at)});
              return SampledBatch{{Block{{}, {}, node}}, node};
            },
            [this](const Tensor& index) {
              log_ += str("b", index.item(), " ");
              return [this, index] {
                log_ += str("f", index.item(), " ");
                return index.to(DType::kF32);
              };
            }};
  }
  void expect(ReadAhead& batches, std::size_t at) {
    EXPECT_EQ(batches(at).features.item(), static_cast<double>(at));
  }
  std::string log_;
};

TEST_F(TrainReadAhead, TheNextBatchIsBegunBeforeThisOneIsFinished) {
  ReadAhead three = batches(3);
  for (const std::size_t at : {0, 1, 2}) expect(three, at);
  EXPECT_EQ(log_, "s0 b0 s1 b1 f0 s2 b2 f1 f2 ");
}

TEST_F(TrainReadAhead, BatchesMayComeInAnyOrder) {
  ReadAhead four = batches(4);
  for (const std::size_t at : {2, 3, 0, 3}) expect(four, at);
}

TEST_F(TrainReadAhead, WithoutFeaturesNothingIsAhead) {
  int sampled = 0;
  ReadAhead plain(3, [&](std::size_t) { return ++sampled, SampledBatch{}; }, {});
  EXPECT_FALSE(plain(0).features.defined());
  EXPECT_EQ(sampled, 1);
}

}  // namespace
}  // namespace rodeo::test
