#include "layers/jumping_knowledge.h"

#include "ops/combine.h"

namespace rodeo {

Variable JumpingKnowledge::forward(const std::vector<Variable>& layers) const {
  check(!layers.empty(), "[jumping_knowledge] needs the output of at least one layer");
  if (mode_ == JumpingMode::kCat) return concat_columns(layers);
  Variable y = layers.front();
  for (std::size_t i = 1; i < layers.size(); ++i) y = maximum(y, layers[i]);
  return y;
}

}  // namespace rodeo
