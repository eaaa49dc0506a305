#include "core/external.h"

#include <utility>

#include "core/cuda/external.h"
#include "core/storage.h"

namespace rodeo {

Tensor borrow(void* data, const Shape& shape, DType dtype, Device device, std::shared_ptr<void> owner) {
  static const auto nobody = std::make_shared<char>();
  static char nothing;  // the address of a tensor without elements
  check(data || shape.numel() == 0, "[borrow] a null pointer for a tensor of ", shape);
  auto storage = std::make_shared<Storage>();
  storage->data = data ? data : &nothing;
  storage->bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  storage->device = device;
  storage->owner = owner ? std::move(owner) : nobody;
  return Tensor::from_storage(std::move(storage), shape, dtype);
}

struct ExternalScope::Saved {
  Saved(Device device, CUstream_st* stream, ExternalAllocator* allocator)
      : stream(device.is_cuda() ? cuda::enter_stream(device, stream) : nullptr),
        allocator(device, allocator) {}
  std::unique_ptr<cuda::ExternalStream> stream;
  UseAllocator allocator;
};

ExternalScope::ExternalScope(Device device, CUstream_st* stream, ExternalAllocator* allocator)
    : saved_(std::make_unique<Saved>(device, stream, allocator)) {}

ExternalScope::~ExternalScope() = default;

PreserveDevice::PreserveDevice() : before_(cuda::exchange_device(-1)) {}
PreserveDevice::~PreserveDevice() {
  cuda::exchange_device(before_);
}

}  // namespace rodeo
