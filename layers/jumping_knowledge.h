#pragma once

#include <vector>

#include "layers/module.h"

namespace rodeo {

enum class JumpingMode {
  kCat,  // [nodes, sum of the widths]
  kMax,  // element by element; one width
};

/// Jumping knowledge (Xu et al., "Representation learning on graphs with jumping knowledge networks", ICML
/// 2018): joins the outputs of all layers. Of PyG's modes "lstm" is not here. No parameters.
class JumpingKnowledge : public Module {
 public:
  explicit JumpingKnowledge(JumpingMode mode) : mode_(mode) {}
  /// Gradient of kMax: to the first of equal layers. Throws Error without any layer.
  Variable forward(const std::vector<Variable>& layers) const;

 private:
  JumpingMode mode_;
};

}  // namespace rodeo
