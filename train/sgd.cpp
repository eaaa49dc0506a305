#include "train/sgd.h"

#include "ops/optim.h"

namespace rodeo {
namespace {

/// The names of the tensors that are kept for each parameter.
std::vector<std::string> state_names(const std::vector<ParameterGroup>& groups) {
  bool any = false;
  for (const ParameterGroup& group : groups) {
    const GroupOptions& o = group.options;
    check(o.momentum >= 0, "[sgd] momentum must not be negative, got ", o.momentum);
    check(o.momentum > 0 || !o.nesterov, "[sgd] nesterov needs a momentum above 0");
    any = any || o.momentum > 0;
  }
  if (any) return {"momentum"};
  return {};
}

}  // namespace

Sgd::Sgd(std::vector<ParameterGroup> groups) : Optimizer("sgd", state_names(groups), groups) {}

void Sgd::update(const std::vector<Update>& updates, const Tensor& steps, const Tensor& lr) {
  std::vector<SgdUpdate> all;
  all.reserve(updates.size());
  for (const Update& u : updates) {
    const GroupOptions& o = u.options;
    const Tensor m = u.state.empty() ? Tensor() : u.state[0];
    all.push_back({u.p, u.g, m, {o.momentum, o.nesterov, o.weight_decay}, u.slot});
  }
  sgd_step(all, steps, lr);
}

}  // namespace rodeo
