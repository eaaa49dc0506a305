#include "ops/row_cache.h"

#include "core/page_locked.h"
#include "ops/features.h"
#include "ops/gather_rows.h"
#include "tests/support/devices.h"
#include "tests/support/sums.h"

namespace rodeo::test {
namespace {

class OpsRowCache : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsRowCache);

Tensor on_host(const Tensor& x, Device device) {
  Tensor out = page_locked(x.shape(), x.dtype(), device);
  out.copy_from(x);
  return out;
}

TEST_P(OpsRowCache, HasTheRowsThatAreReadMost) {
  const Tensor x = on_host(random_tensor({6, 3}, DType::kF32, device(), 1), device());
  const RowCache cache = cache_rows(x, {1, 5, 0, 5, 1, 9}, 4);  // of rows 0 and 4 the first
  EXPECT_EQ(cache.slot.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, -1, 2, -1, 3}));
  EXPECT_TRUE(
      same_bits(cache.rows, gather_rows(x, Tensor::from<std::int64_t>({0, 1, 3, 5}, {4}).to(device()))));
  EXPECT_EQ(cache_rows(x, {0, 0, 0, 0, 0, 0}, 0).rows.dim(0), 0);
}

// Rows of 16-, 8-, 4- and 2-byte words; from the host, from the cache, from both.
TEST_P(OpsRowCache, GathersTheSameBits) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
    for (const std::int64_t n : {1, 2, 3, 8, 129})
      for (const std::int64_t count : {0, 7, 20}) {
        SCOPED_TRACE(str(dtype, " ", n, " columns, ", count, " rows cached"));
        const Tensor x = random_tensor({20, n}, dtype, device(), 1);
        std::vector<std::int64_t> row;
        std::vector<std::int32_t> reads;
        for (int i = 0; i < 57; ++i) row.push_back(i * 7 % 20);
        for (int i = 0; i < 20; ++i) reads.push_back(i * 13 % 20);
        const Tensor index = Tensor::from(row, device()), held = on_host(x, device());
        const RowCache cache = cache_rows(held, reads, count);
        const Tensor want = gather_rows(x, index);
        EXPECT_TRUE(same_bits(gather_rows(held, cache, index), want));
        EXPECT_TRUE(same_bits(gather_rows(held, {}, index), want));
        EXPECT_TRUE(same_bits(Features(PendingRows{held, index, cache}).dense().value(), want));
      }
}

TEST_P(OpsRowCache, Errors) {
  const Tensor x = Tensor::zeros({4, 2}, DType::kF32, device());
  EXPECT_ERROR(cache_rows(x, {1, 2, 3}, 1),
               "[cache_rows] x has 4 rows: reads must have as many numbers, and count must be at most that, "
               "got 3 and 1");
  EXPECT_ERROR(cache_rows(x, {1, 2, 3, 4}, 5),
               "[cache_rows] x has 4 rows: reads must have as many numbers, and count must be at most that, "
               "got 4 and 5");
  const RowCache cache = cache_rows(x, {1, 2, 3, 4}, 2);
  EXPECT_ERROR(gather_rows(Tensor::zeros({5, 2}, DType::kF32, device()), cache,
                           Tensor::zeros({1}, DType::kI64, device())),
               "[gather_rows] slot must be [5], got [4]");
  EXPECT_EQ(page_locked({0, 3}, DType::kF32, device()).shape(), (Shape{0, 3}));
}

}  // namespace
}  // namespace rodeo::test
