#include "train/adam.h"

#include <utility>

namespace rodeo {

Adam::Adam(std::vector<ParameterGroup> groups) {
  for (ParameterGroup& group : groups) {
    const AdamOptions& o = group.options;
    check(o.lr >= 0 && o.eps >= 0 && o.weight_decay >= 0 && o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 &&
              o.beta2 < 1,
          "[adam] lr, eps and weight_decay must not be negative, beta1 and beta2 must be in [0, 1)");
    for (Variable& parameter : group.parameters) {
      check(parameter.defined(), "[adam] parameter ", slots_.size(), " is undefined");
      for (std::size_t i = 0; i < slots_.size(); ++i)
        check(!parameter.value().shares_memory_with(slots_[i].parameter.value()), "[adam] parameter ",
              slots_.size(), " is parameter ", i, " again");
      slots_.push_back({std::move(parameter), group.options, {}, {}});
    }
  }
}

void Adam::step() {
  ++step_count_;
  for (Slot& slot : slots_) {
    const Tensor& p = slot.parameter.value();
    const Tensor& g = slot.parameter.grad();
    if (!g.defined()) continue;
    if (!slot.m.defined()) {
      slot.m = Tensor::zeros(p.shape(), p.dtype(), p.device());
      slot.v = Tensor::zeros(p.shape(), p.dtype(), p.device());
    }
    adam_step(p, g, slot.m, slot.v, ++slot.steps, slot.options);
  }
}

void Adam::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.zero_grad();
}

}  // namespace rodeo
