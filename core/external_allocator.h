/// Allocators of other frameworks, which tensors use within an ExternalScope (core/external.h).
#pragma once

#include <cstddef>
#include <memory>

#include "core/device_type.h"

namespace rodeo {

/// Allocates for the operators that a thread runs within an ExternalScope. A block is freed when its owner is
/// destroyed, which may happen after the scope and on another thread.
class ExternalAllocator {
 public:
  struct Block {
    void* data = nullptr;
    std::shared_ptr<void> owner;  // not null
  };
  virtual ~ExternalAllocator() = default;
  /// At least `bytes` bytes, 16-byte aligned, in the order of the scope's stream. Throws OutOfMemory.
  virtual Block allocate(std::size_t bytes, Device device) = 0;
};

/// The allocator of this thread's innermost scope on `device`; null: memory is allocated as usual.
ExternalAllocator* external_allocator(Device device);

/// RAII guard that makes external_allocator(device) return `allocator` on this thread, which may be null.
class UseAllocator {
 public:
  UseAllocator(Device device, ExternalAllocator* allocator);
  ~UseAllocator();
  UseAllocator(const UseAllocator&) = delete;
  UseAllocator& operator=(const UseAllocator&) = delete;

 private:
  friend ExternalAllocator* external_allocator(Device device);
  Device device_;
  ExternalAllocator* allocator_;
  UseAllocator* outer_;
};

}  // namespace rodeo
