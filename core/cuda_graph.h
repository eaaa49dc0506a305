/// Work of a CUDA device that is recorded once and then launched as a whole.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/device.h"

namespace rodeo {

/// True while this thread records work of `device`; never for the CPU.
bool is_capturing(Device device);

struct CaptureOptions {
  std::int64_t bytes =
      0;  // that work is known to hold at most: one piece of memory is cut up better than many
  const class CudaGraph* beside = nullptr;  // use the memory that this graph does not keep; see capture()
};

/// A CUDA graph. Launching costs the host one call, however many kernels there are, and the device no gaps.
class CudaGraph {
 public:
  CudaGraph() = default;  // empty
  /// Records what `work` asks of `device` on this thread; nothing is run. `work` must have been run before
  /// with the same shapes, so that plans are built, kernels are chosen and libraries are loaded; it must wait
  /// for nothing and read no value of a tensor on the host. Tensors that it makes live in memory that belongs
  /// to the graph: those that are left of it hold, after every launch, that launch's values. Memory that it
  /// reads must outlive the graph; a tensor of before whose last handle it drops is kept by the graph.
  /// Where options.beside is a graph, both share their memory: launches must be on one stream, and what one
  /// graph leaves is valid until the other is launched.
  /// Throws Error, after which the thread goes on as if `work` had not been called, where work throws or does
  /// what cannot be recorded, and for devices other than CUDA.
  static CudaGraph capture(Device device, const std::function<void()>& work,
                           const CaptureOptions& options = {});

  bool defined() const { return graph_ != nullptr; }
  /// Runs the recorded work on this thread's stream, after what was asked for before. Returns at once. The
  /// work uses the scratch memory of the thread that recorded it (context.h): another thread may launch it
  /// only while that one has nothing under way.
  void launch() const;
  /// Kernels in the graph.
  int num_kernels() const;

 private:
  struct Graph;
  std::shared_ptr<const Graph> graph_;
};

}  // namespace rodeo
