#include "train/replay.h"

#include <algorithm>
#include <utility>

namespace rodeo {

Replay::Replay(Device device, std::function<Tensor()> work, std::vector<Variable> reads)
    : device_(device), work_(std::move(work)), reads_(std::move(reads)) {}

Tensor Replay::run() {
  return work_();
}

bool Replay::is_current() const {
  return graph_.defined() && std::equal(reads_.begin(), reads_.end(), captured_.begin(),
                                        [](const Variable& now, const Tensor& then) {
                                          return now.value().shares_memory_with(then);
                                        });
}

void Replay::capture() {
  result_ = {};
  graph_ = {};
  captured_.clear();
  for (const Variable& variable : reads_) captured_.push_back(variable.value());
  graph_ = CapturedGraph::capture(device_, [&] { result_ = work_(); });
}

Tensor Replay::replay() const {
  graph_.launch();
  return result_;
}

}  // namespace rodeo
