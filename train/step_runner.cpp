#include "train/step_runner.h"

#include <algorithm>
#include <utility>

#include "core/storage.h"

namespace rodeo {

StepRunner::StepRunner(Device device, std::function<Tensor()> work, std::vector<Variable> reads)
    : device_(device), work_(std::move(work)), reads_(std::move(reads)) {}

Tensor StepRunner::run() {
  const MemoryGauge gauge(device_);
  const MemoryTrace trace(device_);
  const std::int64_t before = memory_stats(device_).current;
  const Tensor result = work_();
  // What stays, such as transposes and the optimizer's state, is there already when the step is captured.
  bytes_ = gauge.bytes() - std::max(std::int64_t{0}, memory_stats(device_).current - before);
  is_steady_ = !blocks_.empty() && blocks_ == trace.blocks();
  blocks_ = trace.blocks();
  return result;
}

bool StepRunner::is_current() const {
  return graph_.defined() && std::equal(reads_.begin(), reads_.end(), captured_.begin(),
                                        [](const Variable& now, const Tensor& then) {
                                          return now.value().shares_memory_with(then);
                                        });
}

void StepRunner::capture(const StepRunner* memory_of) {
  result_ = {};
  graph_ = {};
  captured_.clear();
  for (const Variable& variable : reads_) captured_.push_back(variable.value());
  const MemoryPlan plan = is_steady_ ? plan_memory(blocks_) : MemoryPlan{};
  graph_ = CudaGraph::capture(device_, [&] { result_ = work_(); },
                              {.bytes = bytes_,
                               .plan = is_steady_ ? &plan : nullptr,
                               .memory_of = memory_of ? &memory_of->graph_ : nullptr});
}

Tensor StepRunner::replay() const {
  graph_.launch();
  return result_;
}

}  // namespace rodeo
