#include "core/cuda_graph.h"

#include "core/async_host_copy.h"
#include "core/elementwise.h"
#include "core/random.h"
#include "core/random_streams.h"
#include "core/storage.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class CoreGraph : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device: " << cuda_absence_reason();
  }
  Tensor ones(std::int64_t n) const { return Tensor::full({n}, 1, DType::kF32, cuda_device()); }
};

TEST_F(CoreGraph, RepeatsWhatWasCaptured) {
  const Tensor sum = ones(1000), one = ones(1000);
  add_tensors(sum, one);  // loads the kernel
  Tensor left;
  const CudaGraph cuda_graph = CudaGraph::capture(cuda_device(), [&] {
    const Tensor next = add_tensors(sum, one);
    sum.copy_from(next);
    left = add_tensors(next, next);
  });
  EXPECT_EQ(sum.slice(0, 1).item(), 1);  // nothing has run
  EXPECT_EQ(cuda_graph.num_kernels(), 2);
  for (int i = 2; i <= 4; ++i) {
    cuda_graph.launch();
    EXPECT_EQ(doubles(sum), std::vector<double>(1000, i));
    EXPECT_EQ(doubles(left), std::vector<double>(1000, 2 * i));
  }
}

TEST_F(CoreGraph, MemoryIsReusedWithinAndCounted) {
  const std::int64_t n = 3 << 20;
  const Tensor one = ones(n);
  add_tensors(one, one);
  const std::int64_t before = memory_stats(cuda_device()).current;
  {
    Tensor result;
    const CudaGraph cuda_graph = CudaGraph::capture(cuda_device(), [&] {
      result = add_tensors(one, one);
      for (int i = 0; i < 10; ++i) result = add_tensors(result, one);  // two blocks by turns
    });
    cuda_graph.launch();
    EXPECT_EQ(doubles(result.slice(n - 1, n))[0], 12);
    EXPECT_EQ(memory_stats(cuda_device()).current - before, 2 * n * 4);
  }
  EXPECT_EQ(memory_stats(cuda_device()).current, before);
}

TEST_F(CoreGraph, CacheIsNotEmptiedDuringACapture) {
  EXPECT_ERROR(
      CudaGraph::capture(cuda_device(), [] { empty_cache(); }),
      "[cuda_graph] the work cannot be captured: [empty_cache] this thread captures a CUDA graph: call "
      "it after the capture");
  empty_cache();
}

TEST_F(CoreGraph, TensorsOutliveTheirGraphAndGraphsWhatWasDropped) {
  Tensor left, dropped = ones(100);
  add_tensors(dropped, dropped);
  {
    const CudaGraph cuda_graph = CudaGraph::capture(cuda_device(), [&] {
      left = add_tensors(dropped, dropped);
      dropped = {};
    });
    std::vector<Tensor> others;
    for (int i = 0; i < 50; ++i) others.push_back(Tensor::zeros({100}, DType::kF32, cuda_device()));
    cuda_graph.launch();
  }
  EXPECT_EQ(doubles(left), std::vector<double>(100, 2));
}

TEST_F(CoreGraph, AGraphMayDieWhileTheNextIsCaptured) {
  const Tensor one = ones(100);
  add_tensors(one, one);
  const std::int64_t before = memory_stats(cuda_device()).current;
  {
    Tensor first, second;
    CudaGraph cuda_graph = CudaGraph::capture(cuda_device(), [&] { first = add_tensors(one, one); });
    cuda_graph.launch();
    const CudaGraph next = CudaGraph::capture(cuda_device(), [&] {
      second = add_tensors(first, one);
      first = {};
      cuda_graph = {};
    });
    const Tensor other = Tensor::zeros({100}, DType::kF32, cuda_device());  // takes what was freed
    next.launch();
    EXPECT_EQ(doubles(second), std::vector<double>(100, 3));
  }
  EXPECT_EQ(memory_stats(cuda_device()).current, before);
}

TEST_F(CoreGraph, AFailedCaptureLeavesAllAsItWas) {
  const Tensor one = ones(10);
  add_tensors(one, one);
  const std::int64_t before = memory_stats(cuda_device()).current;
  for (int i = 0; i < 2; ++i) {
    const std::string error = error_of(
        [&] { CudaGraph::capture(cuda_device(), [&] { add_tensors(one, one).to_vector<float>(); }); });
    EXPECT_TRUE(error.starts_with("[cuda_graph] the work cannot be captured: ")) << error;
    EXPECT_ERROR(CudaGraph::capture(cuda_device(), [] { fail("no"); }),
                 "[cuda_graph] the work cannot be captured: no");
    EXPECT_EQ(memory_stats(cuda_device()).current, before);
    EXPECT_EQ(doubles(add_tensors(one, one)), std::vector<double>(10, 2));
  }
  Tensor two;
  CudaGraph::capture(cuda_device(), [&] { two = add_tensors(one, one); }).launch();
  EXPECT_EQ(doubles(two), std::vector<double>(10, 2));
}

TEST(CoreGraphErrors, OnlyCudaDevices) {
  EXPECT_ERROR(CudaGraph::capture(kCpu, [] {}),
               "[cuda_graph] only work on a CUDA device can be captured, got cpu");
  EXPECT_ERROR(CudaGraph().launch(), "[cuda_graph] launch() of an empty CUDA graph");
  EXPECT_FALSE(is_capturing(kCpu));
}

class CoreAsyncHostCopy : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreAsyncHostCopy);

TEST_P(CoreAsyncHostCopy, HasTheValuesAtTheTimeOfStart) {
  AsyncHostCopy copy;
  EXPECT_ERROR(copy.values(), "[async_host_copy] values() before start()");
  const Tensor x = Tensor::full({3, 5}, 7, DType::kF32, device());
  copy.start(x);
  x.fill(8);
  EXPECT_EQ(copy.values().shape(), (Shape{3, 5}));
  EXPECT_EQ(doubles(copy.values()), std::vector<double>(15, 7));
  const Tensor larger = Tensor::full({1000}, 3, DType::kI64, device());
  copy.start(larger);
  EXPECT_EQ(copy.values().device(), kCpu);
  EXPECT_EQ(doubles(copy.values()), std::vector<double>(1000, 3));
}

TEST(CoreRandomStep, KeysAreAFunctionOfStepAndPosition) {
  Random random(5), other(5);
  other.next();  // what was drawn outside of steps does not matter within
  std::int64_t done = 0;
  std::vector<std::uint64_t> streams;
  for (; done < 3; ++done) {
    const RandomStep step(&done);
    for (int i = 0; i < 2; ++i) {
      const RandomKey key = random.next();
      EXPECT_EQ(key.stream_now(), other.next().stream_now());
      streams.push_back(key.stream_now());
    }
  }
  const std::uint64_t unit = std::uint64_t{1} << 32;
  EXPECT_EQ(streams,
            (std::vector<std::uint64_t>{unit, unit + 1, 2 * unit, 2 * unit + 1, 3 * unit, 3 * unit + 1}));
  EXPECT_EQ(random.next().stream_now(), 0u);
  EXPECT_EQ(other.next().stream_now(), 1u);
}

// A guard within a step has its value while it lives, and the step its own afterwards.
TEST(CoreRandomStep, KeysHaveTheRowsAndStreamsOfTheInnermostGuard) {
  Random random(5);
  const std::int64_t done = 0;
  EXPECT_EQ(random.next().first_row, 0);
  const RandomStep step(&done, 8);
  EXPECT_EQ(random.next().first_row, 8);
  {
    const ScopedFirstRow rows(12);
    EXPECT_EQ(random.next().first_row, 12);
  }
  EXPECT_EQ(random.next().first_row, 8);
  {
    const ScopedStreams streams(100);
    EXPECT_EQ(random.next().stream, 103u);
  }
  EXPECT_EQ(random.next().stream, 4u);
  {
    const RandomStep inner(&done, 4);
    EXPECT_EQ(random.next().first_row, 4);
  }
  EXPECT_EQ(random.next().first_row, 8);
}

}  // namespace
}  // namespace rodeo::test
