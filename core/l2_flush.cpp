#include "core/l2_flush.h"

#include "core/context.h"
#include "core/cuda/device_memory.h"
#include "core/error.h"

namespace rodeo {

struct L2Flush::Block {
  Device device;
  cuda::DeviceBlock memory;

  explicit Block(Device on)
      : device(on), memory(cuda::allocate(2 * Context::of(on).properties().l2_bytes, on)) {}
  ~Block() { cuda::release(memory, device); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
};

L2Flush::L2Flush(Device device) {
  if (!device.is_cuda()) return;
  try {
    block_ = std::make_unique<Block>(device);
  } catch (const OutOfMemory&) {  // an empty L2 is not worth an error
  }
}

L2Flush::~L2Flush() = default;

void L2Flush::operator()() const {
  if (block_) cuda::poison(block_->memory);
}

}  // namespace rodeo
