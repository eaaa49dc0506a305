#include "core/staging.h"

#include <algorithm>

#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class CoreStaging : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreStaging);

TEST_P(CoreStaging, BlocksArriveInPlace) {
  constexpr std::int64_t kCount = 1'000'003, kBlock = 70'001;
  const Tensor want = random_tensor({kCount}, DType::kF32, kCpu),
               out = Tensor::zeros({kCount}, DType::kF32, device());
  Staging staging(out, kBlock);
  for (std::int64_t begin = 0; begin < kCount; begin += kBlock) {
    const std::int64_t n = std::min(kBlock, kCount - begin);
    std::copy_n(want.data<float>() + begin, n, static_cast<float*>(staging.next(begin, n)));
  }
  staging.finish();
  EXPECT_TRUE(same_bits(out.to(kCpu), want));
}

TEST_P(CoreStaging, BuffersServeSeveralTensors) {
  StagingMemory memory;
  // Larger and smaller blocks, of tensors that take page-locked memory and of those that do not.
  constexpr std::int64_t kLarge = StagingMemory::kPlainBytes / 8 + 1;
  for (const std::int64_t count : {std::int64_t{1000}, std::int64_t{10}, std::int64_t{0}, kLarge,
                                   std::int64_t{70'000}, kLarge, std::int64_t{5}}) {
    const Tensor want = random_tensor({count}, DType::kF64, kCpu),
                 out = Tensor::zeros({count}, DType::kF64, device());
    Staging staging(out, count / 3 + 1, memory);
    for (std::int64_t begin = 0; begin < count; begin += count / 3 + 1) {
      const std::int64_t n = std::min(count / 3 + 1, count - begin);
      std::copy_n(want.data<double>() + begin, n, static_cast<double*>(staging.next(begin, n)));
    }
    staging.finish();
    EXPECT_TRUE(same_bits(out.to(kCpu), want));
  }
}

TEST_P(CoreStaging, EmptyTensorsAndUnfinishedWork) {
  Staging nothing(Tensor::empty({0}, DType::kI64, device()), 5);
  nothing.finish();
  const Tensor out = Tensor::zeros({10}, DType::kI32, device());
  Staging staging(out, 4);
  std::fill_n(static_cast<std::int32_t*>(staging.next(0, 4)), 4, 1);
  std::fill_n(static_cast<std::int32_t*>(staging.next(4, 2)), 2, 2);
  EXPECT_ERROR(staging.next(0, 5), "[staging] block [0, 0 + 5) does not fit [10] in blocks of 4");
  EXPECT_ERROR(staging.next(8, 3), "[staging] block [8, 8 + 3) does not fit [10] in blocks of 4");
}  // without finish()

}  // namespace
}  // namespace rodeo::test
