/// A piece of training that is run again and again.
#pragma once

#include <functional>
#include <vector>

#include "core/cuda_graph.h"
#include "core/variable.h"

namespace rodeo {

/// Work with one result, run op by op or as a captured graph: with the same bits. What changes from run to
/// run is on the device.
class StepRunner {
 public:
  /// `reads` are variables whose values the work reads: where one was replaced (Variable::set_value), what
  /// was captured is no longer current.
  StepRunner(Device device, std::function<Tensor()> work, std::vector<Variable> reads);

  Tensor run();
  /// False before capture(), and where it must be repeated.
  bool is_current() const;
  /// Captures the work, which has been run before; `beside` another one, in the same memory
  /// (core/cuda_graph.h). Throws Error where it cannot be captured.
  void capture(const StepRunner* beside = nullptr);
  /// Launches what was captured. The next replay overwrites the result.
  Tensor replay() const;

  int num_kernels() const { return graph_.num_kernels(); }

 private:
  Device device_;
  std::function<Tensor()> work_;
  std::vector<Variable> reads_;
  std::int64_t bytes_ = 0;  // that the last run held at most
  CudaGraph graph_;
  std::vector<Tensor> captured_;  // the values of reads_, held as long as the graph reads them
  Tensor result_;
};

}  // namespace rodeo
