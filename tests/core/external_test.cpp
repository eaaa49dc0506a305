#include "core/external.h"

#include <vector>

#include "core/context.h"
#include "core/device.h"
#include "ops/convert.h"
#include "ops/spmm.h"
#include "tests/support/devices.h"

namespace rodeo::test {
namespace {

class CoreExternal : public OnDevice {};

/// Counts, and takes its memory from Rodeo's own.
class Counting : public ExternalAllocator {
 public:
  Block allocate(std::size_t bytes, Device device) override {
    const UseAllocator own(device, nullptr);
    auto held =
        std::make_shared<Tensor>(Tensor::zeros({static_cast<std::int64_t>(bytes)}, DType::kU8, device));
    ++count;
    return {held->raw(), held};
  }
  int count = 0;
};

TEST_P(CoreExternal, ABorrowedTensorReadsMemoryInPlaceAndKeepsItsOwner) {
  auto owner = std::make_shared<Tensor>(Tensor::from<float>({1, 2, 3, 4}, GetParam()));
  const std::weak_ptr<Tensor> alive = owner;
  {
    void* const data = owner->raw();
    const Tensor x = borrow(data, {2, 2}, DType::kF32, GetParam(), std::move(owner));
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_EQ(borrow(nullptr, {0, 5}, DType::kF32, GetParam(), nullptr).numel(), 0);
  EXPECT_EQ(error_of([] { borrow(nullptr, {3}, DType::kF32, kCpu, nullptr); }),
            "[borrow] a null pointer for a tensor of [3]");
}

TEST_P(CoreExternal, OperatorsInAScopeAllocateFromItsAllocatorAndHaveTheSameBits) {
  const Device device = GetParam();
  const Tensor row = Tensor::from<std::int32_t>({0, 0, 2, 2, 2}, device);
  const Tensor col = Tensor::from<std::int32_t>({1, 2, 0, 1, 1}, device);
  const Adjacency adj = coo_to_csr(row, col, 3, 3).adj;
  const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}, device);
  const std::vector<float> expected = spmm(adj, x).to_vector<float>();
  Counting allocator;
  Tensor y;
  {
    const ExternalScope scope(device, nullptr, &allocator);
    y = spmm(adj, x);
    EXPECT_GE(allocator.count, 1);
    EXPECT_EQ(external_allocator(device), &allocator);
    {
      const ExternalScope inner(device, nullptr, nullptr);
      EXPECT_EQ(external_allocator(device), nullptr);
    }
    EXPECT_EQ(external_allocator(device), &allocator);
    EXPECT_EQ(y.to_vector<float>(), expected);
  }
  EXPECT_EQ(external_allocator(device), nullptr);
  const int before = allocator.count;
  EXPECT_EQ(spmm(adj, x).to_vector<float>(), expected);
  EXPECT_EQ(allocator.count, before);
  EXPECT_EQ(y.to_vector<float>(), expected);
}

TEST_P(CoreExternal, AScopeReplacesStreamWorkspaceAndCounters) {
  const Device device = GetParam();
  if (!device.is_cuda()) return;
  Context& context = Context::of(device);
  CUstream_st* const stream = context.stream();
  void* const workspace = context.workspace();
  int* const counters = context.zeroed_counters(10);
  Counting allocator;
  {
    const ExternalScope scope(device, nullptr, &allocator);
    EXPECT_TRUE(context.is_external());
    EXPECT_EQ(context.stream(), nullptr);
    EXPECT_NE(context.workspace(), workspace);
    EXPECT_EQ(context.workspace(), context.workspace());
    EXPECT_NE(context.zeroed_counters(10), counters);
    EXPECT_EQ(allocator.count, 2);
  }
  {
    const ExternalScope own_memory(device, nullptr, nullptr);
    EXPECT_NE(context.workspace(), workspace);
    EXPECT_NE(context.zeroed_counters(10), counters);
  }
  EXPECT_FALSE(context.is_external());
  EXPECT_EQ(context.stream(), stream);
  EXPECT_EQ(context.workspace(), workspace);
  EXPECT_EQ(context.zeroed_counters(10), counters);
}

RODEO_ON_ALL_DEVICES(CoreExternal);

}  // namespace
}  // namespace rodeo::test
