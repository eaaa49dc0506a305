// The kernels that arrange rows for the exchange between ranks.
#include "ops/kernels/exchange.h"

#include "tests/support/cases.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class OpsExchange : public OnDevice {};
RODEO_ON_ALL_DEVICES(OpsExchange);

constexpr DType kTypes[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kF16};

TEST_P(OpsExchange, ScatteredRowsLeaveTheOthers) {
  const std::vector<std::int64_t> ids = {6, 0, 3, 1};
  for (const DType dtype : kTypes)
    for (const std::int64_t n : {1, 2, 3, 8, 33, 64}) {
      SCOPED_TRACE(str(dtype, " ", n, " columns"));
      const Tensor x = random_tensor({4, n}, dtype, device(), 1),
                   y = random_tensor({7, n}, dtype, device(), 2);
      const std::vector<double> from = doubles(x);
      std::vector<double> want = doubles(y);
      for (std::size_t i = 0; i < ids.size(); ++i)
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i) * n, n, want.begin() + ids[i] * n);
      kernels::scatter_rows.on(device())(x, Tensor::from(ids, device()), y);
      EXPECT_EQ(doubles(y), want);
    }
}

TEST_P(OpsExchange, ColumnsAreSplitAndJoined) {
  for (const DType dtype : kTypes)
    for (const std::int64_t m : {1, 5, 300})
      for (const std::int64_t n : {1, 7, 16, 41, 128})
        for (const std::int64_t parts : {1, 2, 3}) {
          const std::int64_t w = ((n + parts - 1) / parts + 7) / 8 * 8;
          SCOPED_TRACE(str(dtype, " ", m, " x ", n, " in ", parts, " parts"));
          const Tensor x = random_tensor({m, n}, dtype, device(), 3);
          const Tensor split = Tensor::empty({parts, m, w}, dtype, device());
          split.fill(9);
          kernels::split_columns.on(device())(x, split);
          const std::vector<double> from = doubles(x);
          std::vector<double> want;
          for (std::int64_t p = 0; p < parts; ++p)
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t c = p * w; c < (p + 1) * w; ++c)
                want.push_back(c < n ? from[static_cast<std::size_t>(i * n + c)] : 0);
          EXPECT_EQ(doubles(split), want);
          const Tensor joined = Tensor::empty({m, n}, dtype, device());
          joined.fill(9);
          kernels::join_columns.on(device())(split, joined);
          EXPECT_TRUE(same_bits(joined, x));
        }
}

}  // namespace
}  // namespace rodeo::test
