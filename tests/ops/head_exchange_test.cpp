// Which heads a rank has; the exchange itself is tested over ranks (tests/ranks/aggregation_test.cpp).
#include "ops/sparse/head_exchange.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rodeo {
namespace {

TEST(OpsHeadExchange, RanksShareTheHeadsInOrder) {
  for (std::int64_t heads = 0; heads < 20; ++heads)
    for (int ranks = 1; ranks < 12; ++ranks) {
      std::int64_t next = 0, most = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const HeadRange own = heads_of_rank(heads, ranks, rank);
        EXPECT_EQ(own.begin, next) << heads << " heads, rank " << rank << " of " << ranks;
        EXPECT_GE(own.count(), 0);
        next = own.end, most = std::max(most, own.count());
      }
      EXPECT_EQ(next, heads);
      EXPECT_EQ(most, (heads + ranks - 1) / ranks);
    }
}

}  // namespace
}  // namespace rodeo
