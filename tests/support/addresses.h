/// Allocators that put tensors at chosen addresses (core/external_allocator.h).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "core/external.h"

namespace rodeo::test {

/// Places tensors one after the other in a larger allocation, each `shift` bytes after the end of the one
/// before.
class Packed : public ExternalAllocator {
 public:
  explicit Packed(std::size_t shift) : shift_(shift) {}
  Block allocate(std::size_t bytes, Device) override { return {take(bytes, 8), memory_}; }
  /// A copy of x, at any multiple of its element size.
  Tensor place(const Tensor& x) {
    const Tensor out = borrow(take(static_cast<std::size_t>(x.nbytes()), size_of(x.dtype())), x.shape(),
                              x.dtype(), kCpu, memory_);
    out.copy_from(x);
    return out;
  }

 private:
  static constexpr std::size_t kBytes = 1 << 17;
  void* take(std::size_t bytes, std::size_t alignment) {
    used_ = (used_ + shift_ + alignment - 1) / alignment * alignment;
    check(used_ + bytes <= kBytes, "[test] ", kBytes, " bytes are too few");
    void* const block = static_cast<char*>(memory_.get()) + used_;
    used_ += bytes;
    return block;
  }
  std::shared_ptr<void> memory_{std::aligned_alloc(64, kBytes), std::free};
  std::size_t shift_, used_ = 0;
};

/// Allocates by malloc without alignment: neighbours of the buffers that a kernel allocates for itself.
class Neighbours : public ExternalAllocator {
 public:
  /// The next blocks of this size are consecutive ones, in an order that depends on `round`.
  Neighbours(std::size_t bytes, std::size_t round) : used_(kUsed) {
    constexpr std::size_t kFree = 7;  // blocks that glibc keeps for a thread
    void* next[kFree];
    for (void*& block : used_) block = std::malloc(bytes);
    for (void*& block : next) block = std::malloc(bytes);
    for (std::size_t i = 0; i < kFree; ++i)
      std::swap(next[i], next[(i * (round + 1) + round / kFree) % kFree]);
    for (void* const block : next) std::free(block);
  }
  ~Neighbours() override {
    for (void* const block : used_) std::free(block);
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  Block allocate(std::size_t bytes, Device) override {
    void* const block = std::malloc(std::max<std::size_t>(bytes, 1));
    return {block, std::shared_ptr<void>(block, std::free)};
  }

 private:
  static constexpr std::size_t kUsed = 1000;  // more than there are free blocks in between
  std::vector<void*> used_;
};

}  // namespace rodeo::test
