#include "core/staging.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "core/cuda/runtime.h"

namespace rodeo {

StagingMemory::~StagingMemory() {
  for (Buffer& buffer : buffers_) release(buffer);
}

void StagingMemory::release(Buffer& buffer) {
  const Buffer freed = std::exchange(buffer, {});
  if (freed.page_locked)
    cuda::release_pinned(freed.data);
  else
    ::operator delete(freed.data);
}

void* StagingMemory::get(int i, std::size_t bytes, bool page_locked, Device device) {
  Buffer& buffer = buffers_[i];
  if (bytes > buffer.bytes || (page_locked && !buffer.page_locked)) {
    release(buffer);
    const std::size_t rounded = std::bit_ceil(bytes);  // a little more is often wanted next
    buffer = {page_locked ? cuda::allocate_pinned(rounded, device) : ::operator new(rounded), rounded,
              page_locked};
  }
  return buffer.data;
}

Staging::Staging(const Tensor& out, std::int64_t block) : Staging(out, block, own_) {}

Staging::Staging(const Tensor& out, std::int64_t block, StagingMemory& memory)
    : out_(out), block_(std::min(std::max<std::int64_t>(block, 0), out.numel())), memory_(memory) {}

Staging::~Staging() {
  try {
    wait();
  } catch (const Error&) {  // the device has failed; the next operation on it reports that
    for (CUevent_st* sent : sent_) cuda::discard_event(sent);
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
  if (sent_[current_]) cuda::wait_event(std::exchange(sent_[current_], nullptr));
  const std::size_t width = size_of(out_.dtype());
  const bool is_large = static_cast<std::size_t>(out_.numel()) * width > StagingMemory::kPlainBytes;
  return memory_.get(current_, static_cast<std::size_t>(block_) * width, is_large, out_.device());
}

void Staging::send() {
  if (count_ == 0 || !out_.device().is_cuda()) return;
  const auto width = static_cast<std::int64_t>(size_of(out_.dtype()));
  cuda::upload(static_cast<char*>(out_.raw()) + begin_ * width, memory_.buffers_[current_].data,
               static_cast<std::size_t>(count_ * width), out_.device());
  sent_[current_] = cuda::record_event(out_.device());
  count_ = 0;
}

void Staging::wait() {
  for (CUevent_st*& sent : sent_)
    if (sent) cuda::wait_event(std::exchange(sent, nullptr));
}

void Staging::finish() {
  send();
  wait();
}

}  // namespace rodeo
