#pragma once

#include <vector>

#include "layers/module.h"

namespace rodeo {

enum class JumpingMode {
  kCat,  // [nodes, sum of the widths]
  kMax,  // elementwise maximum of layers of equal width
};

/// Jumping knowledge (Xu et al., "Representation learning on graphs with jumping knowledge networks", ICML
/// 2018): joins the outputs of all layers. PyG's mode "lstm" is not implemented. No parameters.
class JumpingKnowledge : public Module {
 public:
  explicit JumpingKnowledge(JumpingMode mode) : mode_(mode) {}
  /// The gradient of kMax goes to the first layer that has the maximum. Throws Error if `layers` is empty.
  Variable forward(const std::vector<Variable>& layers) const;

 private:
  JumpingMode mode_;
};

}  // namespace rodeo
