#include "core/context.h"

#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

TEST(CoreContext, OnePerThreadAndDeviceWithWorkingHandles) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  Context& context = Context::of(cuda_device());
  EXPECT_EQ(&context, &Context::of(cuda_device()));
  EXPECT_NE(context.stream(), nullptr);
  EXPECT_NE(context.cublaslt(), nullptr);
  EXPECT_NE(context.gemm_workspace(), nullptr);
  EXPECT_GT(context.num_multiprocessors(), 0);
  EXPECT_GT(context.l2_bytes(), 0u);
  try {
    EXPECT_NE(context.cudnn(), nullptr);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[cudnn] this build has no cuDNN: install it and configure again");
  }
}

TEST(CoreContext, RefusesADeviceThatIsNotThere) {
  EXPECT_NE(error_of([] { Context::of(cuda_device(1000)); }).find("[context] "), std::string::npos);
}

}  // namespace
}  // namespace rodeo::test
