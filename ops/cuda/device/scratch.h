/// Workspace of one kernel launch.
#pragma once

#include <cstdint>

#include "core/context.h"
#include "core/tensor.h"

namespace rodeo::kernels::cuda {

/// The context's workspace if it is large enough, else an allocation: allocating costs small kernels a tenth
/// of their time. All Scratch objects share the workspace, so data does not survive to the next kernel that
/// uses one.
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
