#include "core/tensor.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <span>
#include <vector>

#include "core/cuda/runtime.h"
#include "core/side_stream.h"
#include "core/storage.h"
#include "core/threads.h"
#include "tests/support/devices.h"
#include "tests/support/near.h"

namespace rodeo::test {
namespace {

class CoreTensor : public OnDevice {};
RODEO_ON_ALL_DEVICES(CoreTensor);

constexpr DType kAll[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kF16,
                          DType::kI64, DType::kI32, DType::kU8};

TEST_P(CoreTensor, FillAndConvertBetweenAllTypes) {
  for (const DType from : kAll)
    for (const DType to : kAll) {
      const Tensor x = Tensor::full({3, 5}, 7, from, device());
      EXPECT_EQ(doubles(x.to(to)), std::vector<double>(15, 7)) << from << " -> " << to;
    }
  const Tensor x = Tensor::from(std::vector<double>{2.75, 250.9, 0}, device());
  EXPECT_EQ(x.to(DType::kU8).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{2, 250, 0}));
}

TEST_P(CoreTensor, ViewsShareMemory) {
  const Tensor x = Tensor::from(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5}, {3, 2}, device());
  const Tensor row = x.slice(1, 2);
  EXPECT_EQ(row.shape(), (Shape{1, 2}));
  row.fill(9);
  EXPECT_EQ(x.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1, 9, 9, 4, 5}));
  EXPECT_TRUE(x.reshape({6}).shares_memory_with(x));
  const Tensor copy = x.clone();
  copy.fill(0);
  EXPECT_EQ(x.to_vector<std::int32_t>()[5], 5);
}

TEST_P(CoreTensor, MemoryIsCountedAndReturned) {
  const std::int64_t before = memory_stats(device()).current;
  reset_peak_memory(device());
  {
    const Tensor x = Tensor::empty({1000, 1000}, DType::kF32, device());
    const Tensor view = x.slice(0, 10);
    EXPECT_GE(memory_stats(device()).current - before, 4000000);
  }
  EXPECT_EQ(memory_stats(device()).current, before);
  EXPECT_GE(memory_stats(device()).peak - before, 4000000);
}

TEST_P(CoreTensor, EmptyCacheReturnsWhatNoTensorUses) {
  constexpr std::int64_t kBytes = 256 << 20;
  empty_cache();
  const Tensor kept = Tensor::full({1000}, 3, DType::kF32, device());
  const auto held = [] { return device().is_cuda() ? cuda::pool_bytes(device()) : 0; };
  const std::int64_t before = held();
  Tensor::zeros({kBytes / 4}, DType::kF32, device());
  EXPECT_GE(held() - before, device().is_cuda() ? kBytes : 0);
  empty_cache();
  EXPECT_LE(held(), before);
  // So is memory of a stream beside that of the thread, and it is to be had again.
  const SideStream side(device());
  side.run([] { return Tensor::zeros({kBytes / 4}, DType::kF32, device()); });
  EXPECT_GE(held() - before, device().is_cuda() ? kBytes : 0);
  empty_cache();
  EXPECT_LE(held(), before);
  EXPECT_EQ(kept.to_vector<float>(), std::vector<float>(1000, 3));
}

TEST_P(CoreTensor, TooMuchMemoryIsAnErrorAndNoMore) {
  const std::string text = error_of([&] { Tensor::empty({std::int64_t{1} << 50}, DType::kF32, device()); });
  EXPECT_NE(text.find("out of memory"), std::string::npos) << text;
  EXPECT_EQ(Tensor::full({4}, 1, DType::kF32, device()).to_vector<float>(), std::vector<float>(4, 1));
}

TEST_P(CoreTensor, EmptyTensorsWork) {
  const Tensor x = Tensor::zeros({0, 5}, DType::kF32, device());
  EXPECT_TRUE(x.defined());
  EXPECT_EQ(x.to(DType::kF64).to(kCpu).numel(), 0);
  EXPECT_TRUE(x.to_vector<float>().empty());
}

TEST_P(CoreTensor, PoisonShowsWhatWasNotWritten) {
  set_poison_memory(true);
  const Tensor x = Tensor::empty({4}, DType::kF32, device());
  set_poison_memory(false);
  for (const float v : x.to_vector<float>()) EXPECT_TRUE(std::isnan(v));
}

TEST_P(CoreTensor, Errors) {
  const Tensor x = Tensor::zeros({2, 3}, DType::kF32, device());
  EXPECT_ERROR(x.data<double>(), "[tensor] data<f64>() of a tensor of f32");
  EXPECT_ERROR(x.reshape({7}), "[reshape] [2, 3] has 6 elements, [7] has 7");
  EXPECT_ERROR(x.slice(1, 3), "[slice] [1, 3) is not within the first dimension of [2, 3]");
  EXPECT_ERROR(x.copy_from(Tensor::zeros({3, 2})), "[copy_from] source must be f32 [2, 3], got f32 [3, 2]");
  EXPECT_ERROR(x.item(), "[item] needs a tensor of one element, got [2, 3]");
  EXPECT_ERROR(Tensor::from(std::vector<float>{1, 2}, {3}), "[tensor] 2 values do not fill [3]");
  EXPECT_ERROR(Tensor().fill(0), "[fill] of an undefined tensor");
}

TEST(CoreShape, Checks) {
  EXPECT_EQ(str(Shape{2, 0, 3}), "[2, 0, 3]");
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ((Shape{4, 5})[-1], 5);
  EXPECT_ERROR((Shape{2, -1}), "[shape] sizes must be >= 0, got -1");
  EXPECT_ERROR((Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}), "[shape] too many elements");
  EXPECT_ERROR((Shape{1, 2})[2], "[shape] dimension 2 of a shape of rank 2");
  EXPECT_ERROR(Shape(std::vector<std::int64_t>(5)), "[shape] at most 4 dimensions, got 5");
  EXPECT_ERROR(Shape{}.with_rows(2), "[shape] a scalar has no rows");
}

TEST(CoreShape, FromAndToSizes) {
  const std::vector<std::int64_t> sizes = {7, 5, 0, 3};
  for (std::size_t rank = 0; rank <= sizes.size(); ++rank) {
    const auto first = std::span(sizes).first(rank);
    EXPECT_TRUE(std::ranges::equal(Shape(first).sizes(), first)) << rank;
  }
  EXPECT_EQ(Shape(std::vector<std::int64_t>{7, 5, 3}), (Shape{7, 5, 3}));
  EXPECT_EQ((Shape{7, 5, 3}).with_rows(2), (Shape{2, 5, 3}));
}

// Every 16-bit pattern survives a round trip, and rounding is to nearest even.
template <class Half>
void check_round_trip() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    Half half;
    half.bits = static_cast<std::uint16_t>(bits);
    const float wide = static_cast<float>(half);
    const Half back(wide);
    if (wide != wide)
      EXPECT_TRUE(static_cast<float>(back) != static_cast<float>(back));
    else
      EXPECT_EQ(back.bits, half.bits);
  }
}

TEST(CoreHalf, RoundTrips) {
  check_round_trip<Float16>();
  check_round_trip<BFloat16>();
}

TEST(CoreHalf, RoundsToNearestEven) {
  EXPECT_EQ(static_cast<float>(Float16(2049.f)), 2048.f);
  EXPECT_EQ(static_cast<float>(Float16(2051.f)), 2052.f);
  EXPECT_EQ(static_cast<float>(Float16(65519.f)), 65504.f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16(65520.f))));
  EXPECT_EQ(static_cast<float>(Float16(0x1p-25f)), 0.f);
  EXPECT_EQ(static_cast<float>(Float16(0x1.8p-25f)), 0x1p-24f);
  EXPECT_EQ(static_cast<float>(BFloat16(257.f)), 256.f);
  EXPECT_EQ(static_cast<float>(BFloat16(259.f)), 260.f);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(CoreDevice, Parse) {
  EXPECT_EQ(parse_device("cpu"), kCpu);
  EXPECT_ERROR(parse_device("gpu"), "unknown device 'gpu': expected auto, cpu, cuda or cuda:i");
  EXPECT_ERROR(parse_device("cuda:x"), "unknown device 'cuda:x': expected auto, cpu, cuda or cuda:i");
  if (cuda_device_count() == 0) {
    EXPECT_EQ(parse_device("auto"), kCpu);
    EXPECT_ERROR(parse_device("cuda"), "device 'cuda' is not available: " + cuda_absence_reason());
  } else {
    EXPECT_EQ(parse_device("auto"), cuda_device(0));
    EXPECT_NE(error_of([] { parse_device("cuda:99"); }).find("'cuda:99' is not available"),
              std::string::npos);
  }
}

TEST(CoreDevice, TheHostIsNamedByItsProcessorAndThreads) {
  std::string processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; processor == "unknown processor" && std::getline(info, line);)
    if (line.starts_with("model name")) processor = line.substr(line.find(": ") + 2);
  EXPECT_EQ(describe(kCpu), str(processor, ", ", num_threads(), num_threads() == 1 ? " thread" : " threads"));
}

TEST(CoreAllocationInfo, EmptyAllocationsAreNotListed) {
  const Tensor empty = Tensor::empty({0, 4567}), full = Tensor::empty({1, 4567});
  const std::string text = describe_largest_allocations(kCpu, 1 << 20);
  EXPECT_NE(text.find("f32 [1, 4567] 17.84 KiB"), std::string::npos) << text;
  EXPECT_EQ(text.find("[0, 4567]"), std::string::npos) << text;
}

}  // namespace
}  // namespace rodeo::test
