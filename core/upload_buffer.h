/// Host memory that is filled again and again, and copied to a device without waiting.
#pragma once

#include <cstddef>

#include "core/tensor.h"

struct CUevent_st;

namespace rodeo {

/// Memory of the host: page-locked for a CUDA device. Not counted by memory_stats().
class UploadBuffer {
 public:
  explicit UploadBuffer(Device device) : device_(device) {}
  /// Waits for the copy in progress.
  ~UploadBuffer();
  UploadBuffer(const UploadBuffer&) = delete;
  UploadBuffer& operator=(const UploadBuffer&) = delete;

  /// At least `bytes` bytes to write to, until upload(). Waits until the last upload() has read its bytes.
  /// Throws Error where the host has not so much memory to lock.
  void* get(std::size_t bytes);
  /// Copies the first to.nbytes() bytes to `to`, a tensor of the device, in stream order. Returns at once on
  /// CUDA. Throws Error for a larger tensor than get() gave memory for, and for one of another device.
  void upload(const Tensor& to);

 private:
  void wait();

  Device device_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  CUevent_st* sent_ = nullptr;
};

}  // namespace rodeo
