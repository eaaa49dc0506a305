/// A second CUDA stream of a thread, for work beside that of its own stream.
#pragma once

#include <utility>

#include "core/device.h"
#include "core/external.h"

struct CUstream_st;

namespace rodeo {

/// The thread's stream and the side stream run side by side; the two functions named after waits put them in
/// order. Memory that is allocated on the side stream is reused in its order: before such memory is released,
/// the side stream has to wait for the work of the thread's stream that reads it. On the CPU everything runs
/// at once, in the order of the calls.
class SideStream {
 public:
  explicit SideStream(Device device);

  /// What run() enqueues from now on begins after what the thread's stream holds.
  void waits_for_main() const;
  /// What the thread's stream is given from now on begins after what the side stream holds.
  void main_waits() const;

  /// Calls work() with all its kernels and allocations on the side stream. Returns what it returns. Not
  /// during a CUDA graph capture.
  template <class Work>
  auto run(Work&& work) const {
    const ExternalScope scope(device_, stream_, nullptr);
    return std::forward<Work>(work)();
  }

 private:
  Device device_;
  CUstream_st* stream_ = nullptr;  // one for each object; never destroyed, because tensors may be freed later
};

}  // namespace rodeo
