/// Fills a tensor from the host block by block, without a full copy on the host.
#pragma once

#include <cstdint>

#include "core/tensor.h"

struct CUevent_st;

namespace rodeo {

/// Buffers for several Staging objects, one after the other. They are page-locked for tensors of more than
/// kPlainBytes: locking takes longer than filling a buffer from a file, and longer than copying a small
/// tensor from plain memory. A buffer is allocated when it is first needed. The destructor frees the memory.
class StagingMemory {
 public:
  static constexpr std::size_t kPlainBytes = std::size_t{16} << 20;

  StagingMemory() = default;
  ~StagingMemory();
  StagingMemory(const StagingMemory&) = delete;
  StagingMemory& operator=(const StagingMemory&) = delete;

 private:
  friend class Staging;
  struct Buffer {
    void* data = nullptr;
    std::size_t bytes = 0;
    bool page_locked = false;
  };
  static void release(Buffer& buffer);
  void* get(int i, std::size_t bytes, bool page_locked, Device device);

  Buffer buffers_[2];
};

/// On the CPU the caller writes directly into the tensor. On CUDA it writes into one of two buffers while the
/// other one is copied to the device.
///   Staging to(out, block);
///   for (...) std::copy_n(values, count, static_cast<float*>(to.next(begin, count)));
///   to.finish();
class Staging {
 public:
  /// `out` may be on any device; `block` is the maximum number of elements of a block.
  Staging(const Tensor& out, std::int64_t block);
  /// Uses the buffers of `memory`, which outlives this object and serves no other one meanwhile.
  Staging(const Tensor& out, std::int64_t block, StagingMemory& memory);
  /// Waits for copies in progress. A block that was not sent is lost.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Host memory for elements [begin, begin + count) of out, valid until the next call, which sends them.
  /// Throws Error if the block is too large or out of range.
  void* next(std::int64_t begin, std::int64_t count);
  /// Sends the last block and waits for all copies.
  void finish();

 private:
  void send();
  void wait();

  Tensor out_;
  std::int64_t block_;
  StagingMemory own_;
  StagingMemory& memory_;
  CUevent_st* sent_[2] = {};  // of the copies from the buffers
  int current_ = 0;
  std::int64_t begin_ = 0, count_ = 0;  // of the current block
};

}  // namespace rodeo
