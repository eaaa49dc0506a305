#include "train/adam.h"

#include "ops/optim.h"

namespace rodeo {
namespace {

std::vector<ParameterGroup> checked(const std::string& name, std::vector<ParameterGroup> groups) {
  for (const ParameterGroup& group : groups) {
    const GroupOptions& o = group.options;
    check(o.eps >= 0 && o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1, "[", name,
          "] eps must not be negative, beta1 and beta2 must be in [0, 1), got ", o.eps, ", ", o.beta1,
          " and ", o.beta2);
  }
  return groups;
}

}  // namespace

Adam::Adam(std::string name, std::vector<ParameterGroup> groups, bool decoupled)
    : Optimizer(name, {"m", "v"}, checked(name, std::move(groups))), decoupled_(decoupled) {}

void Adam::update(const std::vector<Update>& updates, const Tensor& steps, const Tensor& lr) {
  std::vector<AdamUpdate> all;
  all.reserve(updates.size());
  for (const Update& u : updates) {
    const GroupOptions& o = u.options;
    const AdamOptions options{.beta1 = o.beta1,
                              .beta2 = o.beta2,
                              .eps = o.eps,
                              .weight_decay = o.weight_decay,
                              .decoupled = decoupled_,
                              .lazy = o.lazy};
    all.push_back({u.p, u.g, u.state[0], u.state[1], options, u.slot, u.rows});
  }
  adam_step(all, steps, lr);
}

}  // namespace rodeo
