#include "core/rank_memory.h"

#include "core/device.h"
#include "tests/ranks/ranks.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo {
namespace {

using test::ranks;

TEST(CoreRankMemory, TheTestsRunOnOneHost) {
  const HostRanks host = ranks_of_host(ranks());
  EXPECT_EQ(host.rank, ranks().rank());
  EXPECT_EQ(host.size, ranks().size());
  EXPECT_EQ(host.hosts, 1);
  EXPECT_EQ(ranks_of_host(Communicator()).size, 1);
}

TEST(CoreRankMemory, WhatOneWritesAllRead) {
  const std::int64_t size = ranks().size();
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI64})
    for (const std::int64_t columns : {1, 1000}) {
      const Tensor shared = page_locked_of_host({3 * size, columns}, dtype, test::device(), ranks());
      EXPECT_EQ(shared.device(), test::device());
      shared.slice(3 * ranks().rank(), 3 * ranks().rank() + 3).fill(ranks().rank() + 1);
      synchronize(test::device());
      ranks().barrier();
      for (std::int64_t r = 0; r < size; ++r)
        EXPECT_TRUE(
            test::same_bits(shared.slice(3 * r, 3 * r + 3).clone(),
                            Tensor::full({3, columns}, static_cast<double>(r) + 1, dtype, test::device())))
            << "of rank " << r;
      ranks().barrier();  // nobody writes the next one meanwhile
    }
}

TEST(CoreRankMemory, LastsAsLongAsOneRankHasIt) {
  Tensor shared = page_locked_of_host({5}, DType::kF32, test::device(), ranks());
  shared.fill(7);
  synchronize(test::device());
  ranks().barrier();
  const bool is_last = ranks().rank() == ranks().size() - 1;
  if (!is_last) shared = {};
  ranks().barrier();
  if (is_last) {
    EXPECT_EQ(shared.to_vector<float>(), std::vector<float>(5, 7));
  }
}

TEST(CoreRankMemory, EmptyAndTooLarge) {
  EXPECT_EQ(page_locked_of_host({0, 3}, DType::kF32, test::device(), ranks()).shape(), (Shape{0, 3}));
  RODEO_NEEDS_TWO_RANKS();
  const auto too_large = [] {
    return page_locked_of_host({std::int64_t{1} << 50}, DType::kU8, test::device(), ranks());
  };
  EXPECT_THROW(too_large(), OutOfMemory);
  EXPECT_EQ(test::error_of(too_large),
            "[memory] rank 0 cannot share 1024.00 TiB of host memory: Cannot allocate memory");
}

}  // namespace
}  // namespace rodeo
