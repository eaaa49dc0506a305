#include "core/profile.h"

#include <chrono>
#include <utility>
#include <vector>

#include "core/cuda/runtime.h"
#include "core/error.h"

namespace rodeo {
namespace {
using Clock = std::chrono::steady_clock;
constexpr int kParts = 2;
}  // namespace

struct Profile::Timer {
  Device device;
  std::array<double, kParts> total{};
  std::array<std::vector<std::pair<CUevent_st*, CUevent_st*>>, kParts> events;
  Clock::time_point begin;
  CUevent_st* begin_event = nullptr;
  int depth = 0;  // a scope within a scope belongs to the outer one

  void open() {
    if (depth++ > 0) return;
    if (device.is_cuda())
      begin_event = cuda::record_event(device);
    else
      begin = Clock::now();
  }
  void close(int part) {
    if (--depth > 0) return;
    if (device.is_cuda())
      events[part].emplace_back(begin_event, cuda::record_event(device));
    else
      total[part] += std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }
  double read(int part) {
    for (const auto& [from, to] : events[part]) total[part] += cuda::elapsed_milliseconds(from, to);
    events[part].clear();
    return total[part];
  }
  static inline thread_local Timer* active = nullptr;
};

Profile::Profile(Device device) : timer_(std::make_unique<Timer>()) {
  check(!Timer::active, "[profile] a Profile is active on this thread already");
  timer_->device = device;
  Timer::active = timer_.get();
}

Profile::~Profile() {
  Timer::active = nullptr;
  try {
    for (int part = 0; part < kParts; ++part) timer_->read(part);  // frees the events
  } catch (const Error&) {  // the device has failed, which the next op will say
  }
}

double Profile::milliseconds(Part part) const {
  return timer_->read(static_cast<int>(part));
}

ProfileScope::ProfileScope(Part part) : part_(part) {
  if (Profile::Timer::active) Profile::Timer::active->open();
}

ProfileScope::~ProfileScope() {
  if (Profile::Timer::active) Profile::Timer::active->close(static_cast<int>(part_));
}

}  // namespace rodeo
