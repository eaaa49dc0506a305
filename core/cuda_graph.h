/// CUDA graphs: work on a CUDA device that is captured once and then launched as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/device.h"
#include "core/memory_plan.h"

namespace rodeo {

/// Whether this thread is capturing work on `device`; false for the CPU.
bool is_capturing(Device device);

/// The memory of a CUDA graph: what it needs beyond `bytes` or `plan` is allocated where it is taken.
struct CaptureOptions {
  std::int64_t bytes = 0;                      // expected peak memory of the work
  const MemoryPlan* plan = nullptr;            // of the blocks that the work allocates, instead of bytes
  const class CudaGraph* memory_of = nullptr;  // a graph whose memory pool is shared; see capture()
};

/// A captured CUDA graph. A launch is one call on the host for any number of kernels, and leaves no gaps
/// between them on the device.
class CudaGraph {
 public:
  CudaGraph() = default;  // empty
  /// Captures the work that `work` submits to `device` on this thread, without running it.
  /// - `work` must have run before with the same shapes, so that plans are built, kernels are chosen and
  ///   libraries are loaded. It must not wait for the device or read a tensor's values on the host.
  /// - Tensors that `work` creates use memory of the CUDA graph. Those that still exist after the capture
  /// hold the
  ///   values of the latest launch.
  /// - Memory that `work` reads must outlive the CUDA graph. If `work` drops the last handle to a tensor from
  ///   before the capture, the CUDA graph keeps its memory.
  /// - With options.memory_of, both CUDA graphs share one memory pool. They must be launched on the same
  /// stream, and
  ///   the tensors of one are valid until the other is launched.
  /// Throws Error if `work` throws or cannot be captured, and for the CPU; the thread's state is unchanged
  /// then.
  static CudaGraph capture(Device device, const std::function<void()>& work,
                           const CaptureOptions& options = {});

  bool defined() const { return state_ != nullptr; }
  /// Launches the work on this thread's stream and returns at once. The work uses the workspace of the thread
  /// that captured it (context.h): another thread may launch it only while that thread's stream is idle.
  void launch() const;
  /// Number of kernels in the CUDA graph.
  int num_kernels() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace rodeo
