#include "train/batch_sampler.h"

#include <gtest/gtest.h>

namespace rodeo {
namespace {

// Every target once; two targets at least, unless the batch has but one; ranks without a fraction repeat the
// first.
TEST(TrainBatchSampler, FractionsAreTheBatch) {
  for (const std::int64_t targets : {1, 2, 3, 4, 5, 22, 1024, 1027})
    for (const int ranks : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(str(targets, " targets over ", ranks));
      std::int64_t next = 0, least = targets, most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const BatchFraction own = cut_batch(targets, rank, ranks);
        const std::int64_t size = own.end - own.begin;
        EXPECT_GE(size, std::min<std::int64_t>(targets, 2));
        if (!own.counts) {
          EXPECT_EQ(own.begin, 0);
          EXPECT_EQ(own.end, cut_batch(targets, 0, ranks).end);
          continue;
        }
        EXPECT_EQ(own.begin, next);
        next = own.end;
        least = std::min(least, size), most = std::max(most, size);
      }
      EXPECT_EQ(next, targets);
      EXPECT_LE(most - least, 1);
    }
}

}  // namespace
}  // namespace rodeo
