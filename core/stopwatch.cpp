#include "core/stopwatch.h"

#include <utility>

#include "core/cuda/runtime.h"
#include "core/error.h"

namespace rodeo {

Stopwatch::Stopwatch(Device device) : device_(device) {
  if (device_.is_cuda())
    begin_event_ = cuda::record_event(device_);
  else
    begin_ = std::chrono::steady_clock::now();
}

Stopwatch::~Stopwatch() {
  if (!begin_event_) return;
  try {
    milliseconds();         // frees the event
  } catch (const Error&) {  // the device has failed; the next op reports it
  }
}

void Stopwatch::stop() {
  if (stopped_) return;
  stopped_ = true;
  if (device_.is_cuda())
    end_event_ = cuda::record_event(device_);
  else
    end_ = std::chrono::steady_clock::now();
}

double Stopwatch::milliseconds() {
  stop();
  if (!device_.is_cuda()) return std::chrono::duration<double, std::milli>(end_ - begin_).count();
  return cuda::elapsed_milliseconds(std::exchange(begin_event_, nullptr), end_event_);
}

}  // namespace rodeo
