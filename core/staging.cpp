#include "core/staging.h"

#include <algorithm>
#include <utility>

#include "core/cuda/runtime.h"

namespace rodeo {

Staging::Staging(const Tensor& out, std::int64_t block)
    : out_(out), block_(std::min(std::max<std::int64_t>(block, 0), out.numel())) {
  if (!out.device().is_cuda() || block_ == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(block_) * size_of(out.dtype());
  for (Buffer& buffer : buffers_) buffer.data = cuda::allocate_pinned(bytes, out.device());
}

Staging::~Staging() {
  for (Buffer& buffer : buffers_) {
    cuda::discard_event(buffer.sent);
    cuda::release_pinned(buffer.data);  // waits for the device
  }
}

void* Staging::next(std::int64_t begin, std::int64_t count) {
  check(begin >= 0 && count >= 0 && count <= block_ && begin <= out_.numel() - count, "[staging] block [",
        begin, ", ", begin, " + ", count, ") does not fit ", out_.shape(), " in blocks of ", block_);
  send();
  begin_ = begin, count_ = count;
  if (!out_.device().is_cuda())
    return static_cast<char*>(out_.raw()) + begin * static_cast<std::int64_t>(size_of(out_.dtype()));
  current_ = 1 - current_;
  Buffer& buffer = buffers_[current_];
  if (buffer.sent) cuda::wait_event(std::exchange(buffer.sent, nullptr));
  return buffer.data;
}

void Staging::send() {
  if (count_ == 0 || !out_.device().is_cuda()) return;
  Buffer& buffer = buffers_[current_];
  const auto width = static_cast<std::int64_t>(size_of(out_.dtype()));
  cuda::upload(static_cast<char*>(out_.raw()) + begin_ * width, buffer.data,
               static_cast<std::size_t>(count_ * width), out_.device());
  buffer.sent = cuda::record_event(out_.device());
  count_ = 0;
}

void Staging::finish() {
  send();
  for (Buffer& buffer : buffers_)
    if (buffer.sent) cuda::wait_event(std::exchange(buffer.sent, nullptr));
}

}  // namespace rodeo
