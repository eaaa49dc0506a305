#include "core/outputs.h"

#include <memory>
#include <utility>

namespace rodeo {

std::vector<Variable> record_outputs(std::string_view op, const std::vector<Tensor>& y,
                                     const std::vector<Variable>& inputs, OutputsRule rule,
                                     const std::vector<SavedTensor>& saved) {
  check(!y.empty(), "[", op, "] an op must have a result");
  // The results are inputs of the root, and all of them come from one node without elements. Their gradients
  // take the way past it.
  const auto arrived = std::make_shared<std::vector<Tensor>>(y.size());
  const Variable all =
      record(op, Tensor::empty({0}, y.front().dtype(), y.front().device()), inputs,
             [arrived, rule = std::move(rule)](const Tensor&) { return rule(std::exchange(*arrived, {})); });
  std::vector<Variable> results;
  for (std::size_t i = 0; i < y.size(); ++i)
    results.push_back(record(
        op, y[i], {all},
        [arrived, i, none = all.value()](const Tensor& dy) {
          (*arrived)[i] = dy;
          return std::vector{none};
        },
        saved.empty() ? SavedTensor() : saved[i]));
  return results;
}

}  // namespace rodeo
