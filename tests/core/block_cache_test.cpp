#include "core/host/block_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "core/device.h"
#include "core/tensor.h"
#include "tests/support/process.h"

namespace rodeo::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class CoreBlockCache : public testing::Test {
 protected:
  void SetUp() override {
    if (sanitized() && !thread_sanitized()) GTEST_SKIP() << "AddressSanitizer watches freed blocks instead";
    host::release_waiting();
  }
};

TEST(CoreFreedBlocks, WaitUnlessAddressSanitizerWatchesThem) {
  host::release_waiting();
  host::release(host::allocate(4 * kMiB), 4 * kMiB);
  EXPECT_EQ(host::waiting_bytes(), sanitized() && !thread_sanitized() ? 0 : 4 * kMiB);
}

TEST_F(CoreBlockCache, ABlockWaitsForTheNextOfItsSize) {
  void* const block = host::allocate(4 * kMiB);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % host::kAlignment, 0U);
  host::release(block, 4 * kMiB);
  EXPECT_EQ(host::waiting_bytes(), 4 * kMiB);
  EXPECT_EQ(host::allocate(4 * kMiB), block);
  EXPECT_EQ(host::waiting_bytes(), 0U);
  host::release(block, 4 * kMiB);
  host::release_waiting();
  EXPECT_EQ(host::waiting_bytes(), 0U);
}

TEST_F(CoreBlockCache, SmallBlocksDoNotWait) {
  host::release(host::allocate(host::kLeastKept - host::kAlignment), host::kLeastKept - host::kAlignment);
  EXPECT_EQ(host::waiting_bytes(), 0U);
  host::release(host::allocate(host::kLeastKept), host::kLeastKept);
  EXPECT_EQ(host::waiting_bytes(), host::kLeastKept);
}

// The process never has more than it had in use at a time.
TEST_F(CoreBlockCache, WaitingBlocksMakeRoomForOtherSizes) {
  void* const a = host::allocate(4 * kMiB);
  void* const b = host::allocate(2 * kMiB);
  host::release(a, 4 * kMiB), host::release(b, 2 * kMiB);
  EXPECT_EQ(host::waiting_bytes(), 6 * kMiB);
  void* const c = host::allocate(3 * kMiB);  // 6 MiB have been in use: 3 may wait, and the largest goes first
  EXPECT_EQ(host::waiting_bytes(), 2 * kMiB);
  void* const d = host::allocate(5 * kMiB);
  EXPECT_EQ(host::waiting_bytes(), 0U);
  host::release(c, 3 * kMiB), host::release(d, 5 * kMiB);
  EXPECT_EQ(host::waiting_bytes(), 8 * kMiB);
}

TEST_F(CoreBlockCache, TensorsUseIt) {
  const void* address = nullptr;
  {
    const Tensor first = Tensor::empty({1024, 1024});
    address = first.data<float>();
  }
  EXPECT_EQ(host::waiting_bytes(), 4 * kMiB);
  EXPECT_EQ(Tensor::empty({1 << 20}).data<float>(), address);
  const std::int64_t free = memory_room(kCpu).free;
  empty_cache();
  EXPECT_EQ(host::waiting_bytes(), 0U);
  EXPECT_NEAR(static_cast<double>(memory_room(kCpu).free), static_cast<double>(free), 1 << 30);
}

TEST_F(CoreBlockCache, AForkedProcessCanAllocate) {
  if (thread_sanitized()) GTEST_SKIP() << "ThreadSanitizer does not follow forks of several threads";
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) host::release(host::allocate(2 * kMiB), 2 * kMiB);
  });
  for (int k = 0; k < 20; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a lock that nobody holds would wait for ever
      host::release(host::allocate(2 * kMiB), 2 * kMiB);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  other.join();
}

}  // namespace
}  // namespace rodeo::test
