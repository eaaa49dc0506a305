#include "core/readback.h"

#include "core/cuda/runtime.h"

namespace rodeo {

Readback::Readback() = default;
Readback::~Readback() {
  if (pinned_) cuda::free_copy(*pinned_);
}

void Readback::start(const Tensor& x) {
  check(x.defined(), "[readback] start() with an undefined tensor");
  shape_ = x.shape();
  dtype_ = x.dtype();
  values_ = {};
  if (!x.device().is_cuda()) {
    values_ = x.clone();
    return;
  }
  if (!pinned_) pinned_ = std::make_unique<cuda::PinnedCopy>();
  cuda::start_copy(x, *pinned_);
}

Tensor Readback::values() const {
  if (values_.defined()) return values_;
  check(pinned_ != nullptr, "[readback] values() before start()");
  cuda::wait_for_copy(*pinned_);
  return Tensor::from_host(pinned_->host, shape_, dtype_);
}

}  // namespace rodeo
