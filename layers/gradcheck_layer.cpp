#include "layers/gradcheck_layer.h"

namespace rodeo {

GradcheckResult gradcheck_layer(const Module& layer, const std::function<Variable()>& forward,
                                const std::vector<std::pair<std::string, Variable>>& inputs,
                                GradcheckOptions options) {
  std::vector<Variable> checked;
  options.names.clear();
  const auto append = [&](const std::vector<std::pair<std::string, Variable>>& named) {
    for (const auto& [name, variable] : named) {
      options.names.push_back(name);
      checked.push_back(variable);
    }
  };
  append(inputs);
  append(layer.named_parameters());
  return gradcheck([&](const std::vector<Variable>&) { return forward(); }, checked, options);
}

}  // namespace rodeo
