/// Values on their way from a device to the host.
#pragma once

#include <memory>

#include "core/tensor.h"

namespace rodeo {

namespace cuda {
struct PinnedCopy;
}

/// Copies a tensor to the host without anybody waiting until the values are asked for. The memory on the host
/// is kept for the next start().
class AsyncHostCopy {
 public:
  AsyncHostCopy();
  ~AsyncHostCopy();
  AsyncHostCopy(const AsyncHostCopy&) = delete;
  AsyncHostCopy& operator=(const AsyncHostCopy&) = delete;

  /// The values that x has once the work asked for so far is done. Returns at once.
  void start(const Tensor& x);
  /// Waits for what the last start() asked for: a tensor on the CPU.
  Tensor values() const;

 private:
  std::unique_ptr<cuda::PinnedCopy> pinned_;  // of CUDA tensors
  Tensor values_;                             // of CPU tensors
  Shape shape_;
  DType dtype_ = DType::kF32;
};

}  // namespace rodeo
