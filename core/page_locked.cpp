#include "core/page_locked.h"

#include "core/cuda/runtime.h"
#include "core/external.h"

namespace rodeo {

Tensor page_locked(const Shape& shape, DType dtype, Device device) {
  if (!device.is_cuda() || shape.numel() == 0) return Tensor::empty(shape, dtype, device);
  void* data = cuda::allocate_pinned(static_cast<std::size_t>(shape.numel()) * size_of(dtype), device);
  const auto release = [device](void* memory) {
    synchronize(device);  // kernels may still read it
    cuda::release_pinned(memory);
  };
  return borrow(data, shape, dtype, device, std::shared_ptr<void>(data, release));
}

}  // namespace rodeo
