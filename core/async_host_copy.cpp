#include "core/async_host_copy.h"

#include "core/cuda/runtime.h"

namespace rodeo {

AsyncHostCopy::AsyncHostCopy() = default;
AsyncHostCopy::~AsyncHostCopy() {
  if (pinned_) cuda::free_copy(*pinned_);
}

void AsyncHostCopy::start(const Tensor& x) {
  check(x.defined(), "[async_host_copy] start() with an undefined tensor");
  shape_ = x.shape();
  dtype_ = x.dtype();
  values_ = {};
  if (!x.device().is_cuda()) {
    values_ = x.clone();
    return;
  }
  if (!pinned_) pinned_ = std::make_unique<cuda::PinnedCopy>();
  cuda::start_copy(x.raw(), static_cast<std::size_t>(x.nbytes()), x.device(), *pinned_);
}

Tensor AsyncHostCopy::values() const {
  if (values_.defined()) return values_;
  check(pinned_ != nullptr, "[async_host_copy] values() before start()");
  cuda::wait_for_copy(*pinned_);
  return Tensor::from_host(pinned_->host, shape_, dtype_);
}

}  // namespace rodeo
