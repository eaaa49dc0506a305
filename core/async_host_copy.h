/// Asynchronous copies from a device to the host.
#pragma once

#include <memory>

#include "core/tensor.h"

namespace rodeo {

namespace cuda {
struct PinnedCopy;
}

/// Copies a tensor to the host asynchronously: only values() waits. The page-locked host memory is reused by
/// the next start().
class AsyncHostCopy {
 public:
  AsyncHostCopy();
  ~AsyncHostCopy();
  AsyncHostCopy(const AsyncHostCopy&) = delete;
  AsyncHostCopy& operator=(const AsyncHostCopy&) = delete;

  /// Begins to copy x in stream order. Returns at once.
  void start(const Tensor& x);
  /// Waits for the copy of the last start(); returns a tensor on the CPU.
  Tensor values() const;

 private:
  std::unique_ptr<cuda::PinnedCopy> pinned_;  // for CUDA tensors
  Tensor values_;                             // for CPU tensors
  Shape shape_;
  DType dtype_ = DType::kF32;
};

}  // namespace rodeo
