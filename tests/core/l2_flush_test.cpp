#include "core/l2_flush.h"

#include "core/memory_stats.h"
#include "core/tensor.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class CoreL2Flush : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreL2Flush);

TEST_P(CoreL2Flush, KeepsTensorsAndIsNotCountedAsTheirs) {
  const Tensor x = Tensor::full({1000}, 3, DType::kF32, device());
  reset_peak_memory(device());
  const MemoryStats before = memory_stats(device());
  const L2Flush flush(device());
  for (int i = 0; i < 3; ++i) flush();
  EXPECT_EQ(memory_stats(device()).peak, before.peak);
  for (const float value : x.to_vector<float>()) ASSERT_EQ(value, 3);
}

}  // namespace
}  // namespace rodeo::test
