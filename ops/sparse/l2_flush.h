/// Empties the L2 between runs that are timed.
#pragma once

#include "core/context.h"
#include "core/cuda/device_memory.h"
#include "core/error.h"

namespace rodeo {

/// In an epoch other work evicts the operands of a product; in a loop of one product they would stay in the
/// L2. Holds a block of two L2 sizes, which memory_stats does not count. Does nothing where the device has no
/// room for the block.
class L2Flush {
 public:
  explicit L2Flush(Device device) : device_(device) {
    try {
      block_ = cuda::allocate(2 * Context::of(device).properties().l2_bytes, device);
    } catch (const OutOfMemory&) {
    }
  }
  ~L2Flush() {
    if (block_.data) cuda::release(block_, device_);
  }
  L2Flush(const L2Flush&) = delete;
  L2Flush& operator=(const L2Flush&) = delete;

  /// Overwrites the block, in stream order.
  void operator()() const {
    if (block_.data) cuda::poison(block_);
  }

 private:
  Device device_;
  cuda::DeviceBlock block_;
};

}  // namespace rodeo
