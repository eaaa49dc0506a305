// The sums of collectives on CUDA have the bits of those on the CPU.
#include "core/cuda/reduce_ranks.h"

#include <limits>

#include "core/comm/reduce_in_order.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class CoreReduceRanks : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(, CoreReduceRanks, testing::Values(cuda_device()),
                         [](const testing::TestParamInfo<Device>&) { return std::string("cuda"); });

/// Values of all magnitudes, so that each order of a sum has other bits; integers that wrap around.
Tensor contribution(std::int64_t n, DType dtype, int rank) {
  const auto seed = static_cast<std::uint64_t>(rank + 1);
  if (is_float(dtype)) {
    const Tensor x = random_tensor({n}, DType::kF64, kCpu, seed);
    for (std::int64_t i = 0; i < n; ++i) x.data<double>()[i] *= std::exp2((i * 7 + rank * 5) % 23 - 11);
    return x.to(dtype);
  }
  const Tensor x = Tensor::empty({n}, dtype);
  auto* const bytes = static_cast<std::uint8_t*>(x.raw());
  std::uint64_t state = seed;
  for (std::int64_t i = 0; i < x.nbytes(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<std::uint8_t>(state >> 56);
  }
  return x;
}

TEST_P(CoreReduceRanks, HasTheBitsOfTheCpu) {
  constexpr int kRanks = 5;
  for (const std::int64_t n : {1, 255, 70001})
    for (const DType dtype :
         {DType::kF64, DType::kF32, DType::kBF16, DType::kF16, DType::kI64, DType::kI32, DType::kU8})
      for (const Reduction reduction : {Reduction::kSum, Reduction::kMax})
        for (const int rank : {0, 2, kRanks - 1}) {
          std::vector<Tensor> parts;
          std::vector<const std::byte*> pointers;
          const Tensor others = Tensor::empty({kRanks - 1, n}, dtype, device());
          for (int r = 0; r < kRanks; ++r) {
            parts.push_back(contribution(n, dtype, r));
            pointers.push_back(static_cast<const std::byte*>(parts.back().raw()));
            if (r == rank) continue;
            const int row = r < rank ? r : r - 1;
            others.slice(row, row + 1).copy_from(parts.back().reshape({1, n}).to(device()));
          }
          const Tensor want = Tensor::empty({n}, dtype);
          comm::reduce_in_order(pointers, static_cast<std::byte*>(want.raw()), n, dtype, reduction);
          const Tensor own = parts[static_cast<std::size_t>(rank)].to(device()).clone();
          cuda::reduce_ranks({own.raw(), others.raw(), rank, kRanks, n}, own.raw(), n, dtype, reduction,
                             device());
          EXPECT_TRUE(same_bits(own.to(kCpu), want)) << dtype << " " << n << " on rank " << rank;
        }
}

TEST_P(CoreReduceRanks, MaxOfNanIsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor own = Tensor::from<float>({1, nan, 3}, device());
  const Tensor other = Tensor::from<float>({nan, 2, 2}, device());
  cuda::reduce_ranks({own.raw(), other.raw(), 0, 2, 3}, own.raw(), 3, DType::kF32, Reduction::kMax, device());
  const std::vector<float> got = own.to_vector<float>();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], 3);
}

}  // namespace
}  // namespace rodeo::test
