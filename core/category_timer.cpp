#include "core/category_timer.h"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "core/cuda/runtime.h"

namespace rodeo {
namespace {
using Clock = std::chrono::steady_clock;
constexpr std::size_t kTimedParts = 3;

bool is_timed(KernelCategory category) {
  return category != KernelCategory::kOther;
}
}  // namespace

struct CategoryTimer::Times {
  struct Interval {
    CUevent_st *begin, *end;
  };
  Device device;
  std::array<double, kTimedParts> total{};                // of the intervals that have been read
  std::array<std::vector<Interval>, kTimedParts> unread;  // CUDA only
  CUevent_st* begin_event = nullptr;
  Clock::time_point begin;
};

CategoryTimer::CategoryTimer(Device device) : times_(std::make_unique<Times>()) {
  times_->device = device;
}

CategoryTimer::~CategoryTimer() {
  cuda::discard_event(times_->begin_event);
  for (const auto& intervals : times_->unread)
    for (const auto& [begin, end] : intervals) {
      cuda::discard_event(begin);
      cuda::discard_event(end);
    }
}

void CategoryTimer::before(const KernelCallInfo& call) {
  if (!is_timed(call.category)) return;
  if (times_->device.is_cuda()) {
    cuda::discard_event(std::exchange(times_->begin_event, nullptr));  // left by a kernel that threw
    times_->begin_event = cuda::record_event(times_->device);
  } else {
    times_->begin = Clock::now();
  }
}

void CategoryTimer::after(const KernelCallInfo& call) {
  if (!is_timed(call.category)) return;
  const auto category = static_cast<std::size_t>(call.category);
  if (times_->device.is_cuda()) {
    CUevent_st* const end = cuda::record_event(times_->device);
    times_->unread[category].push_back({std::exchange(times_->begin_event, nullptr), end});
  } else {
    times_->total[category] +=
        std::chrono::duration<double, std::milli>(Clock::now() - times_->begin).count();
  }
}

double CategoryTimer::milliseconds(KernelCategory category) {
  if (!is_timed(category)) return 0;
  const auto i = static_cast<std::size_t>(category);
  for (const auto& [begin, end] : std::exchange(times_->unread[i], {}))
    times_->total[i] += cuda::elapsed_milliseconds(begin, end);
  return times_->total[i];
}

}  // namespace rodeo
