/// Memory that one kernel needs while it runs.
#pragma once

#include <cstdint>

#include "core/context.h"
#include "core/tensor.h"

namespace rodeo::kernels::cuda {

/// The context's workspace where that is large enough: memory of the pool costs small kernels a tenth of
/// their time. So whoever launches two kernels must not expect the second to find what the first one left.
class Scratch {
 public:
  Scratch(std::int64_t bytes, Device device) {
    Context& context = Context::of(device);
    if (static_cast<std::uint64_t>(bytes) <= Context::kWorkspaceBytes) {
      data_ = context.workspace();
    } else {
      own_ = Tensor::empty({bytes}, DType::kU8, device);
      data_ = own_.raw();
    }
  }
  void* data() const { return data_; }

 private:
  Tensor own_;
  void* data_;
};

}  // namespace rodeo::kernels::cuda
