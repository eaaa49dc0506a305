#include "core/kernel_timer.h"

#include <chrono>
#include <utility>

#include "core/cuda/runtime.h"
#include "core/error.h"

namespace rodeo {
namespace {
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}
}  // namespace

struct KernelTimer::Marks {
  Clock::time_point constructed = Clock::now(), begin_time;
  // CUDA only: the construction of the timer, and the latest spans, which have not been read yet.
  CUevent_st* origin = nullptr;
  struct Pair {
    CUevent_st *begin, *end;
  };
  std::vector<Pair> unread;
  CUevent_st* begin = nullptr;
};

KernelTimer::KernelTimer(Device device, int max_steps)
    : device_(device), max_steps_(max_steps), marks_(std::make_unique<Marks>()) {
  if (device.is_cuda()) marks_->origin = cuda::record_event(device);
}

KernelTimer::~KernelTimer() {
  cuda::discard_event(marks_->begin);
  cuda::discard_event(marks_->origin);
  for (const auto& [begin, end] : marks_->unread) {
    cuda::discard_event(begin);
    cuda::discard_event(end);
  }
}

bool KernelTimer::begin_step(int step) {
  if (steps_ >= max_steps_) return false;
  ++steps_;
  step_ = step;
  return true;
}

void KernelTimer::before(const KernelCallInfo& call) {
  cuda::push_range(call.op);
  if (device_.is_cuda()) {
    cuda::discard_event(marks_->begin);  // left by a kernel that threw
    marks_->begin = nullptr;
    marks_->begin = cuda::record_event(device_);
  } else {
    marks_->begin_time = Clock::now();
  }
}

void KernelTimer::after(const KernelCallInfo& call) {
  const Clock::time_point now = Clock::now();
  KernelSpan span{.op = call.op, .gradient_of = call.gradient_of, .step = step_};
  if (device_.is_cuda()) {
    CUevent_st* const end = cuda::record_event(device_);
    marks_->unread.push_back({std::exchange(marks_->begin, nullptr), end});
  } else {
    span.begin_ms = milliseconds(marks_->constructed, marks_->begin_time);
    span.ms = milliseconds(marks_->begin_time, now);
  }
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    bool counted = false;
    for (std::size_t j = 0; j < i; ++j) counted |= call.operands[i].shares_memory_with(call.operands[j]);
    if (!counted) span.bytes += call.operands[i].nbytes();
  }
  span.memory = memory_stats(device_).current;
  spans_.push_back(span);
  cuda::pop_range();
}

const std::vector<KernelSpan>& KernelTimer::spans() {
  const std::size_t first = spans_.size() - marks_->unread.size();
  for (std::size_t i = 0; i < marks_->unread.size(); ++i) {
    const auto [begin, end] = marks_->unread[i];
    spans_[first + i].begin_ms = cuda::milliseconds_between(marks_->origin, begin);
    spans_[first + i].ms = cuda::milliseconds_between(begin, end);
    cuda::discard_event(begin);
    cuda::discard_event(end);
  }
  marks_->unread.clear();
  return spans_;
}

}  // namespace rodeo
