#include "train/optimizer.h"

#include <algorithm>

#include "core/cuda_graph.h"
#include "core/storage.h"
#include "ops/grad_clip.h"

namespace rodeo {
namespace {

/// The tensors of `name`, one for each of `count` parameters.
std::vector<Tensor> tensors_of(const OptimizerState& state, const std::string& name, std::size_t count) {
  for (const OptimizerState::Slot& slot : state.slots)
    if (slot.name == name) return slot.tensors;
  return std::vector<Tensor>(count);
}

}  // namespace

Optimizer::Optimizer(std::string name, std::vector<std::string> state_names,
                     std::vector<ParameterGroup> groups)
    : name_(std::move(name)), state_names_(std::move(state_names)) {
  for (ParameterGroup& group : groups) {
    check(group.options.lr >= 0 && group.options.weight_decay >= 0, "[", name_,
          "] lr and weight_decay must not be negative, got ", group.options.lr, " and ",
          group.options.weight_decay);
    check(group.reads.empty() || (group.options.lazy && group.reads.size() == group.parameters.size()), "[",
          name_, "] reads are of a lazy group, one for each of its ", group.parameters.size(),
          " parameters, got ", group.reads.size());
    std::size_t of_group = 0;
    for (Variable& parameter : group.parameters) {
      const std::shared_ptr<RowReads> reads = group.reads.empty() ? nullptr : group.reads[of_group++];
      check(parameter.defined(), "[", name_, "] parameter ", entries_.size(), " is undefined");
      for (std::size_t i = 0; i < entries_.size(); ++i)
        check(!parameter.value().shares_memory_with(entries_[i].parameter.value()), "[", name_,
              "] parameter ", entries_.size(), " is parameter ", i, " again");
      const Device first = entries_.empty() ? parameter.device() : entries_[0].parameter.device();
      check(parameter.device() == first, "[", name_, "] parameter ", entries_.size(), " must be on ", first,
            " as the first is, got ", parameter.device());
      check(!reads || reads->table().value().shares_memory_with(parameter.value()), "[", name_,
            "] the reads of parameter ", entries_.size(), " are of another one");
      entries_.push_back({std::move(parameter), group.options, reads, {}});
    }
  }
  const Device device = entries_.empty() ? kCpu : entries_[0].parameter.device();
  lr_ = Tensor::from(first_rates(), device);
  steps_ = Tensor::zeros({lr_.dim(0) + 1}, DType::kI64, device);
}

void Optimizer::step(double clip) {
  std::vector<Update> updates;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const Tensor& p = entry.parameter.value();
    RowGradient of{{}, entry.parameter.grad()};
    if (RowGradient read = entry.reads ? entry.reads->gradient() : RowGradient(); read.g.defined()) {
      check(takes_rows(), "[", name_, "] takes no gradients of rows, and parameter ", i, " has one");
      check(!of.g.defined(), "[", name_, "] parameter ", i, " was read by row and as a whole in one step");
      of = std::move(read);
    }
    if (!of.g.defined()) continue;
    if (entry.state.size() < state_names_.size()) {
      check(!is_capturing(p.device()), "[", name_, "] parameter ", i,
            " has its first gradient in a graph capture: take one step before");
      for (std::size_t k = 0; k < state_names_.size(); ++k) {
        entry.state.push_back(Tensor::zeros(p.shape(), p.dtype(), p.device()));
        entry.state.back().storage()->info.set_name("the optimizer's state");
      }
    }
    updates.push_back({p, of.g, entry.state, entry.options, static_cast<std::int64_t>(i), of.rows});
  }
  if (clip > 0 && !updates.empty()) {
    std::vector<Tensor> gradients;
    gradients.reserve(updates.size());
    for (const Update& update : updates) gradients.push_back(update.g);
    gradients = clip_norm(gradients, clip);
    for (std::size_t i = 0; i < updates.size(); ++i) updates[i].g = gradients[i];
  }
  update(updates, steps_, lr_);
}

void Optimizer::zero_grad() {
  for (Entry& entry : entries_) {
    entry.parameter.zero_grad();
    if (entry.reads) entry.reads->clear();
  }
}

std::vector<double> Optimizer::first_rates() const {
  std::vector<double> rates;
  rates.reserve(entries_.size());
  for (const Entry& entry : entries_) rates.push_back(entry.options.lr);
  return rates;
}

void Optimizer::set_rates(const std::vector<double>& rates) {
  check(rates.size() == entries_.size(), "[", name_, "] ", entries_.size(), " rates are needed, got ",
        rates.size());
  lr_.copy_from(Tensor::from(rates));
}

std::int64_t Optimizer::step_count() const {
  return steps_.to_vector<std::int64_t>().back();
}

const std::int64_t* Optimizer::step_counter() const {
  return steps_.data<std::int64_t>() + steps_.numel() - 1;
}

std::vector<Variable> Optimizer::parameters() const {
  std::vector<Variable> all;
  all.reserve(entries_.size());
  for (const Entry& entry : entries_) all.push_back(entry.parameter);
  return all;
}

std::vector<std::shared_ptr<RowReads>> Optimizer::reads() const {
  std::vector<std::shared_ptr<RowReads>> all;
  for (const Entry& entry : entries_)
    if (entry.reads) all.push_back(entry.reads);
  return all;
}

OptimizerState Optimizer::state() const {
  OptimizerState state{name_, {}, steps_.to(kCpu).clone()};  // to() returns the tensor itself on the host
  for (std::size_t k = 0; k < state_names_.size(); ++k) {
    OptimizerState::Slot& slot = state.slots.emplace_back();
    slot.name = state_names_[k];
    for (const Entry& entry : entries_)
      slot.tensors.push_back(entry.state.empty() ? Tensor() : entry.state[k].to(kCpu).clone());
  }
  return state;
}

void Optimizer::check_fits(const OptimizerState& state) const {
  check(state.optimizer == name_, "[", name_, "] the state must be of ", name_, ", got that of '",
        state.optimizer, "'");
  check(
      state.steps.defined() && state.steps.shape() == steps_.shape() && state.steps.dtype() == steps_.dtype(),
      "[", name_, "] the state's steps must be i64 ", steps_.shape(), " for ", entries_.size(),
      " parameters");
  for (const auto& [slot, tensors] : state.slots) {
    check(std::find(state_names_.begin(), state_names_.end(), slot) != state_names_.end(), "[", name_,
          "] the state has '", slot, "', which ", name_, " does not keep here");
    check(tensors.size() == entries_.size(), "[", name_, "] the state's ", slot, " must be of ",
          entries_.size(), " parameters, got ", tensors.size());
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Tensor& p = entries_[i].parameter.value();
    std::size_t defined = 0;
    for (const std::string& slot : state_names_) {
      const Tensor x = tensors_of(state, slot, entries_.size())[i];
      defined += x.defined() ? 1 : 0;
      check(!x.defined() || (x.shape() == p.shape() && x.dtype() == p.dtype()), "[", name_, "] the state's ",
            slot, " of parameter ", i, " must be ", p.dtype(), " ", p.shape());
    }
    check(defined == 0 || defined == state_names_.size(), "[", name_, "] the state has ", defined, " of ",
          state_names_.size(), " tensors of parameter ", i);
  }
}

void Optimizer::restore(const OptimizerState& state) {
  check_fits(state);
  for (std::size_t k = 0; k < state_names_.size(); ++k) {
    const std::vector<Tensor> tensors = tensors_of(state, state_names_[k], entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::vector<Tensor>& own = entries_[i].state;
      if (k < own.size()) {  // in place: a captured graph goes on using that memory
        if (tensors[i].defined())
          own[k].copy_from(tensors[i]);
        else
          own[k].fill(0);
      } else if (tensors[i].defined()) {
        own.push_back(tensors[i].clone().to(entries_[i].parameter.device()));
      }
    }
  }
  steps_.copy_from(state.steps);
}

}  // namespace rodeo
