/// Weights of any origin for a model.
#pragma once

#include <string>

#include "layers/module.h"

namespace rodeo {

/// The tensors of `found`, floats converted to f32, if they have the names and shapes of `expected`.
/// Otherwise throws one Error in one line: "WHERE: does not fit MODEL: expected conv1.bias [16], found none;
/// ...HINT", with all tensors that are missing, of another shape or dtype, or too many. PyTorch's
/// num_batches_tracked is left out.
StateDict fit_weights(const StateDict& expected, const StateDict& found, const std::string& where,
                      const std::string& model, const std::string& hint);

}  // namespace rodeo
