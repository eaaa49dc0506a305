#include "core/context.h"

#include "core/cache_folder.h"
#include "core/stopwatch.h"
#include "core/tensor.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

TEST(CoreContext, OnePerThreadAndDeviceWithWorkingHandles) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  Context& context = Context::of(cuda_device());
  EXPECT_EQ(&context, &Context::of(cuda_device()));
  EXPECT_NE(context.stream(), nullptr);
  EXPECT_NE(context.cublaslt(), nullptr);
  EXPECT_NE(context.cusparse(), nullptr);
  EXPECT_FALSE(context.is_capturing());
  EXPECT_NE(context.workspace(), nullptr);
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

TEST(CoreStopwatch, TimesTheWorkOfADevice) {
  for (const Device device : {kCpu, cuda_device()}) {
    if (device.is_cuda() && cuda_device_count() == 0) continue;
    Stopwatch stopwatch(device);
    const Tensor t = Tensor::zeros({1 << 20}, DType::kF32, device);
    const double ms = stopwatch.milliseconds();
    EXPECT_GT(ms, 0) << device;
    EXPECT_LT(ms, 60e3) << device;
    const Stopwatch unread(device);  // frees what it holds
  }
}

TEST(CoreCacheFolder, FollowsTheVariables) {
  EXPECT_EQ(cache_folder(nullptr, nullptr, "/home/me"), "/home/me/.cache/rodeo");
  EXPECT_EQ(cache_folder(nullptr, "/tmp/xdg", "/home/me"), "/tmp/xdg/rodeo");
  EXPECT_EQ(cache_folder(nullptr, "relative", "/home/me"), "/home/me/.cache/rodeo");
  EXPECT_EQ(cache_folder(nullptr, nullptr, nullptr), "");
  EXPECT_EQ(cache_folder("here", "/tmp/xdg", "/home/me"), "here");
  EXPECT_EQ(cache_folder("", "/tmp/xdg", "/home/me"), "");
  EXPECT_EQ(cache_folder("off", "/tmp/xdg", "/home/me"), "");
}

}  // namespace
}  // namespace rodeo::test
