/// Runs one piece of training work again and again, from a CUDA graph once it is captured.
#pragma once

#include <functional>
#include <vector>

#include "core/cuda_graph.h"
#include "core/variable.h"

namespace rodeo {

/// Repeated work with one result, such as a training step:
///   run()      executes it op by op;
///   capture()  records it as a CUDA graph;
///   replay()   launches that graph, with the same bits as run().
/// Values that change from run to run must be in device memory, for a replay repeats the same kernels on the
/// same addresses.
class StepRunner {
 public:
  /// `reads` are the variables whose values the work reads. Replacing one (Variable::set_value) makes the
  /// captured graph stale.
  StepRunner(Device device, std::function<Tensor()> work, std::vector<Variable> reads);

  /// Executes the work and measures the memory that a capture will need.
  Tensor run();
  /// Whether replay() may be called: there is a captured graph, and no variable of `reads` was replaced.
  bool is_current() const;
  /// Captures the work. Call run() before. `memory_of`: another runner, whose memory the graph reuses
  /// (core/cuda_graph.h). Throws Error if the work cannot be captured.
  void capture(const StepRunner* memory_of = nullptr);
  /// Launches the captured graph. The next replay overwrites the result.
  Tensor replay() const;

  int num_kernels() const { return graph_.num_kernels(); }

 private:
  Device device_;
  std::function<Tensor()> work_;
  std::vector<Variable> reads_;
  std::int64_t bytes_ = 0;         // peak memory of the last run
  std::vector<BlockLife> blocks_;  // that it allocated
  bool is_steady_ = false;         // as the run before it
  CudaGraph graph_;
  std::vector<Tensor> captured_;  // the values of reads_ at capture, kept alive for the graph
  Tensor result_;
};

}  // namespace rodeo
