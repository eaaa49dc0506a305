#include "core/upload_buffer.h"

#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "core/cuda/runtime.h"

namespace rodeo {
namespace {

void release(void* data, Device device) {
  if (device.is_cuda())
    cuda::release_pinned(data);
  else
    ::operator delete(data);
}

}  // namespace

UploadBuffer::~UploadBuffer() {
  try {
    wait();
  } catch (const Error&) {  // the device has failed; the next operation on it reports that
    cuda::discard_event(sent_);
  }
  release(data_, device_);
}

void UploadBuffer::wait() {
  if (sent_) cuda::wait_event(std::exchange(sent_, nullptr));
}

void* UploadBuffer::get(std::size_t bytes) {
  wait();
  if (bytes > bytes_) {
    release(std::exchange(data_, nullptr), device_);
    bytes_ = 0;
    const std::size_t rounded = std::bit_ceil(bytes);  // a little more is often wanted next
    data_ = device_.is_cuda() ? cuda::allocate_pinned(rounded, device_) : ::operator new(rounded);
    bytes_ = rounded;
  }
  return data_;
}

void UploadBuffer::upload(const Tensor& to) {
  const auto bytes = static_cast<std::size_t>(to.nbytes());
  check(to.device() == device_ && bytes <= bytes_, "[upload_buffer] ", to.shape(), " on ", to.device(),
        " is not a tensor of ", device_, " of at most ", bytes_, " bytes");
  if (bytes == 0) return;
  if (!device_.is_cuda()) {
    std::memcpy(to.raw(), data_, bytes);
    return;
  }
  wait();
  cuda::upload(to.raw(), data_, bytes, device_);
  sent_ = cuda::record_event(device_);
}

}  // namespace rodeo
