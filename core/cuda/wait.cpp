#include "core/cuda/wait.h"

#include <cuda_runtime.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "core/cuda/check.h"

namespace rodeo::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsOfYielding = 2e-2, kSecondsBetweenCalls = 1e-2;

std::atomic<WaitObserver> installed{nullptr};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Tells the observer that a wait which it knows of has ended.
struct Announced {
  WaitObserver observer;
  bool called = false;
  void end() {
    if (std::exchange(called, false)) observer(-1);
  }
};

template <class Query>
cudaError_t poll(WaitObserver observer, const Query& query) {
  const Clock::time_point start = Clock::now();
  Announced announced{observer};
  double next_call = kSecondsBetweenCalls;
  for (;;) {
    const cudaError_t status = query();
    if (status != cudaErrorNotReady) {
      announced.end();
      return status;
    }
    const double waited = seconds_since(start);
    if (waited < kSecondsOfYielding) {
      sched_yield();
      continue;
    }
    if (waited > next_call) {
      announced.called = true;
      observer(waited);
      next_call = waited + kSecondsBetweenCalls;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace

void set_wait_observer(WaitObserver observer) noexcept {
  installed = observer;
}

void wait_for(CUstream_st* stream, const char* what) {
  const WaitObserver observer = installed;
  check_cuda(
      observer ? poll(observer, [&] { return cudaStreamQuery(stream); }) : cudaStreamSynchronize(stream),
      what);
}

void wait_for(CUevent_st* event, const char* what) {
  const WaitObserver observer = installed;
  check_cuda(observer ? poll(observer, [&] { return cudaEventQuery(event); }) : cudaEventSynchronize(event),
             what);
}

}  // namespace rodeo::cuda
