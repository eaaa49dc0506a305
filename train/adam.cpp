#include "train/adam.h"

#include <utility>

#include "core/cuda_graph.h"
#include "core/storage.h"
#include "ops/grad_clip.h"

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
      const Device first = slots_.empty() ? parameter.device() : slots_[0].parameter.device();
      check(parameter.device() == first, "[adam] parameter ", slots_.size(), " must be on ", first,
            " as the first is, got ", parameter.device());
      slots_.push_back({std::move(parameter), group.options, {}, {}});
    }
  }
  const Device device = slots_.empty() ? kCpu : slots_[0].parameter.device();
  lr_ = Tensor::from(first_rates(), device);
  steps_ = Tensor::zeros({lr_.dim(0) + 1}, DType::kI64, device);
}

void Adam::step(double clip) {
  std::vector<AdamUpdate> updates;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const Tensor& p = slot.parameter.value();
    const Tensor& g = slot.parameter.grad();
    if (!g.defined()) continue;
    if (!slot.m.defined()) {
      check(!is_capturing(p.device()), "[adam] parameter ", i,
            " has its first gradient in a graph capture: take one step before");
      slot.m = Tensor::zeros(p.shape(), p.dtype(), p.device());
      slot.v = Tensor::zeros(p.shape(), p.dtype(), p.device());
      for (const Tensor& moment : {slot.m, slot.v}) moment.storage()->info.set_name("Adam's moments");
    }
    updates.push_back({p, g, slot.m, slot.v, slot.options, static_cast<std::int64_t>(i)});
  }
  if (clip > 0 && !updates.empty()) {
    std::vector<Tensor> gradients;
    gradients.reserve(updates.size());
    for (const AdamUpdate& update : updates) gradients.push_back(update.g);
    gradients = clip_norm(gradients, clip);
    for (std::size_t i = 0; i < updates.size(); ++i) updates[i].g = gradients[i];
  }
  adam_step(updates, steps_, lr_);
}

std::vector<double> Adam::first_rates() const {
  std::vector<double> rates;
  rates.reserve(slots_.size());
  for (const Slot& slot : slots_) rates.push_back(slot.options.lr);
  return rates;
}

void Adam::set_rates(const std::vector<double>& rates) {
  check(rates.size() == slots_.size(), "[adam] ", slots_.size(), " rates are needed, got ", rates.size());
  lr_.copy_from(Tensor::from(rates));
}

std::int64_t Adam::step_count() const {
  return steps_.to_vector<std::int64_t>().back();
}

const std::int64_t* Adam::step_counter() const {
  return steps_.data<std::int64_t>() + steps_.numel() - 1;
}

std::vector<Variable> Adam::parameters() const {
  std::vector<Variable> all;
  for (const Slot& slot : slots_) all.push_back(slot.parameter);
  return all;
}

AdamState Adam::state() const {
  AdamState state;
  // to() hands out the tensor itself where it is on the host already.
  const auto copy = [](const Tensor& x) { return x.defined() ? x.to(kCpu).clone() : x; };
  for (const Slot& slot : slots_) {
    state.m.push_back(copy(slot.m));
    state.v.push_back(copy(slot.v));
  }
  state.steps = copy(steps_);
  return state;
}

void Adam::restore(const AdamState& state) {
  check(state.m.size() == slots_.size() && state.v.size() == slots_.size() && state.steps.defined() &&
            state.steps.shape() == steps_.shape() && state.steps.dtype() == steps_.dtype(),
        "[adam] the state must be of ", slots_.size(), " parameters, got ", state.m.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Tensor& p = slots_[i].parameter.value();
    const auto fits = [&](const Tensor& x) {
      return !x.defined() || (x.shape() == p.shape() && x.dtype() == p.dtype());
    };
    check(fits(state.m[i]) && fits(state.v[i]) && state.m[i].defined() == state.v[i].defined(),
          "[adam] the moments of parameter ", i, " must be ", p.dtype(), " ", p.shape());
  }
  // In place where there is something: a captured graph goes on using that memory.
  const auto put = [](Tensor& own, const Tensor& value, Device device) {
    if (!own.defined())
      own = value.defined() ? value.clone().to(device) : Tensor();
    else if (value.defined())
      own.copy_from(value);
    else
      own.fill(0);
  };
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    put(slots_[i].m, state.m[i], slots_[i].parameter.device());
    put(slots_[i].v, state.v[i], slots_[i].parameter.device());
  }
  steps_.copy_from(state.steps);
}

void Adam::zero_grad() {
  for (Slot& slot : slots_) slot.parameter.zero_grad();
}

}  // namespace rodeo
