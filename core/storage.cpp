#include "core/storage.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/cuda/device_memory.h"
#include "core/external_allocator.h"
#include "core/host/block_cache.h"

namespace rodeo {
namespace {

using host::kAlignment;
std::atomic<bool> poison_memory{false};

cuda::DeviceBlock device_block(const Storage& storage) {
  return {storage.data, storage.bytes, storage.stream, storage.graph_pool};
}

}  // namespace

Storage::~Storage() {
  if (!data || owner) return;
  if (device.is_cuda())
    cuda::release(device_block(*this), device);
  else
    host::release(data, bytes);
  if (!graph_pool) count_memory(device, -static_cast<std::int64_t>(bytes));
}

std::shared_ptr<Storage> allocate(std::size_t bytes, Device device) {
  auto storage = std::make_shared<Storage>();
  storage->device = device;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  if (ExternalAllocator* const external = external_allocator(device)) {
    const ExternalAllocator::Block block = external->allocate(bytes, device);
    storage->data = block.data;
    storage->owner = block.owner;
    storage->bytes = bytes;
    return storage;
  }
  if (device.is_cuda()) {
    cuda::DeviceBlock block = cuda::allocate(rounded, device);
    storage->data = block.data;
    storage->stream = block.stream;
    storage->graph_pool = std::move(block.graph_pool);
  } else {
    storage->data = host::allocate(rounded);
    if (!storage->data) fail_out_of_memory(bytes, kCpu);
  }
  storage->bytes = rounded;
  if (poison_memory) {
    if (device.is_cuda())
      cuda::poison(device_block(*storage));
    else
      std::memset(storage->data, 0xff, rounded);
  }
  // CudaGraphPool counts the memory of a captured CUDA graph as a whole.
  if (!storage->graph_pool) count_memory(device, static_cast<std::int64_t>(rounded));
  return storage;
}

void set_poison_memory(bool on) {
  poison_memory = on;
}

}  // namespace rodeo
